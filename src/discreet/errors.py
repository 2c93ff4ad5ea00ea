"""Every error that discreet raises on purpose.

    DiscreetError                 catch this one to catch them all
    ├── InvalidInput              a value that cannot be what it is given as (also a ValueError)
    ├── BudgetExceeded            the loss does not fit into what is left; nothing was spent
    ├── NotComposable             two losses, or a loss and a group, that no theorem here covers
    ├── MissingExtra              an optional dependency is not installed
    └── SelfTestFailed            the noise did not pass its known-answer test; nothing is released

Each carries what happened and, as ``remedy``, what to do about it. None carries a value from the data.
"""


class DiscreetError(Exception):
    """What happened, and what to do about it."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy


class InvalidInput(DiscreetError, ValueError):
    """A value that cannot be what it is given as: a negative ε, a float where the grid wants integers."""


class BudgetExceeded(DiscreetError):
    """The loss does not fit into what is left of the budget. Nothing was spent."""


class NotComposable(DiscreetError):
    """No theorem that discreet relies on covers this composition."""


class MissingExtra(DiscreetError, ImportError):
    """An optional dependency is not installed."""


class SelfTestFailed(DiscreetError):
    """The noise did not pass its known-answer test on this machine. Nothing is released."""
