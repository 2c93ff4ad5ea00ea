"""The identity of a question: see `model.identity`."""

from discreet.bounds.calibrate import Plan, QuestionMechanism
from discreet.bounds.facts import bounded_facts, parts_in_order
from discreet.model.identity import Facts, identity_of, loss_facts
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import QuantileTree
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip


def question_identity(plan: Plan) -> str:
    """The same for two questions exactly if the same would be run, at the same price.

    Version 2 has the estimate of what is left out, and version 4 vectors that are measured together. What has
    none of that is known as before. Version 3 is the key with a price (`paid_key`).
    """
    bounded, picks, order = plan.bounded, plan.bounded.query.picks, parts_in_order(plan.bounded)
    noise = [mechanism_facts(plan.mechanisms[i]) for i in order]
    return identity_of(
        "question",
        {
            **bounded_facts(bounded, order),
            "noise": noise,
            "price": loss_facts(plan.loss),
            "picks": None if picks is None else [picks.count, picks.aggregate.value],
            "named_by": None if bounded.selector is None else order.index(bounded.selector),
            "threshold": None if plan.threshold is None else plan.threshold.threshold,
        },
        version=4 if bounded.apart is not None else 2 if bounded.left_out_share else 1,
    )


def mechanism_facts(mechanism: QuestionMechanism) -> Facts:
    """The noise. Together with the other facts it decides the price."""
    match mechanism:
        case DiscreteLaplace():
            return {"laplace": str(mechanism.scale)}
        case DiscreteGaussian():
            return {"gaussian": str(mechanism.sigma_squared)}
        case QuantileTree():
            return {"tree": mechanism_facts(mechanism.noise), "branching": mechanism.branching}
        case PermuteAndFlip():
            return {"permute_and_flip": str(mechanism.temperature)}
        case ExponentialMechanism():
            return {"exponential": str(mechanism.temperature)}
