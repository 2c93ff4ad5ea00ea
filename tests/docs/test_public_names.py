"""The public names are these; a change of this list is a change for users."""

import discreet

NAMES = [
    "AboveThreshold",
    "Answer",
    "ApproximateLoss",
    "BudgetExceeded",
    "CollectorClosed",
    "ConcentratedFilter",
    "ConcentratedLoss",
    "DiscreetError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EngineFailed",
    "ExponentialMechanism",
    "Interval",
    "InvalidInput",
    "LedgerBusy",
    "LedgerClosed",
    "MissingExtra",
    "NeedsApproval",
    "Neighbours",
    "NoisyTree",
    "NotAllowed",
    "NotComposable",
    "NotSignedIn",
    "NotThere",
    "OwnAudit",
    "PermuteAndFlip",
    "PolicyError",
    "PureFilter",
    "PureLoss",
    "QuantileTree",
    "QueryRefused",
    "RandomizedResponse",
    "Report",
    "ScoreSensitivity",
    "SelfTestFailed",
    "Sensitivity",
    "ServiceUnreachable",
    "StabilityThreshold",
    "TookTooLong",
    "audit_mechanism",
    "connect",
    "open",
]


def test_the_public_names():
    assert discreet.__all__ == NAMES
    assert all(hasattr(discreet, name) for name in NAMES)


def test_there_is_no_seed_and_no_default_epsilon():
    import inspect

    for name in discreet.__all__:
        thing = getattr(discreet, name)
        for _, member in inspect.getmembers(thing, callable):
            try:
                parameters = inspect.signature(member).parameters
            except (TypeError, ValueError):
                continue
            assert "seed" not in parameters
            for privacy in ("epsilon", "rho", "scale", "sigma_squared", "sensitivity", "neighbours"):
                if privacy in parameters:
                    assert parameters[privacy].default is inspect.Parameter.empty, (name, member)
