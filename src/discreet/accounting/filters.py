"""Privacy filters: budgets that hold although each question, and its cost, may depend on earlier answers.

A filter is asked before each release and admits it or refuses; everything that it admits satisfies the
budget. Composition theorems for a schedule fixed in advance do not give this, because the analyst chooses
when to stop and what to pay. Sums of pure losses do (Rogers, Roth, Ullman, Vadhan 2016, "Privacy Odometers
and Filters", arXiv 1605.08294), and so do sums of Rényi divergences of one order (Feldman & Zrnic 2021,
arXiv 2008.11193) and of approximate zCDP (Whitehouse, Ramdas, Rogers, Wu 2023, "Fully-Adaptive Composition
in Differential Privacy", arXiv 2203.05481).

"Compose the privacy loss distributions and stop when ε at δ crosses the budget" is not a filter. After a
first output o with probability P(o), the δ of going on with mechanism i is Σ P(o)·δᵢ(o), and every i may
keep that within the budget; an analyst who picks i by o reaches Σ P(o)·maxᵢ δᵢ(o), which is more than each
(the tests have such a pair; arXiv 2602.06756 shows the same of f-DP). Sums of ε, or of ρ and δ, have no such
gap: whatever the answers were, the sum itself is within the budget.

A filter adds up losses under one neighbour relation. A budget under add/remove cannot pay for a loss under
replace-one, nor the other way round. The filter does not check this; whoever keeps the budget must.

Filters are values: spending returns a new one. The ledger keeps the state.
"""

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from discreet.errors import BudgetExceeded, InvalidInput, NotComposable
from discreet.model.conversion import largest_rho
from discreet.model.exact import (
    Number,
    decimal_context,
    positive_delta,
    positive_epsilon,
    positive_rho,
    within,
)
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss

_NO_PURE_LOSS = PureLoss(epsilon=Fraction(0))
_NO_CONCENTRATED_LOSS = ConcentratedLoss(rho=Fraction(0), delta=Fraction(0))
_NOTHING_LEFT = "The budget is used up; only its owner can declare a new one."


@dataclass(frozen=True, slots=True, kw_only=True)
class PureFilter:
    """Admits pure losses while the sum of their ε is at most epsilon; all together are ε-DP."""

    epsilon: Fraction
    spent: PureLoss = _NO_PURE_LOSS

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))
        if not isinstance(self.spent, PureLoss) or self.spent.epsilon > self.epsilon:
            raise _overspent()

    @property
    def left(self) -> PureLoss:
        return PureLoss(epsilon=self.epsilon - self.spent.epsilon)

    def fits(self, loss: Loss) -> bool:
        """Whether `spend` would admit this loss."""
        _check(loss)
        return isinstance(loss, PureLoss) and loss.epsilon <= self.left.epsilon

    def spend(self, loss: Loss) -> "PureFilter":
        """The filter after this loss, or BudgetExceeded and nothing spent."""
        _check(loss)
        if not isinstance(loss, PureLoss):
            raise NotComposable(
                "A budget of pure ε cannot pay a loss that has a delta or is concentrated.",
                remedy="Give the dataset a delta, or ask with Laplace noise and public keys.",
            )
        if not self.fits(loss):
            left = self.left.epsilon
            raise BudgetExceeded(
                f"This costs ε = {_up(loss.epsilon)}, and {_down(left)} of {_down(self.epsilon)} is left.",
                remedy=_less(f"epsilon={_down(left)}") if left else _NOTHING_LEFT,
            )
        return replace(self, spent=PureLoss(epsilon=self.spent.epsilon + loss.epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedFilter:
    """Admits losses while the sum of their ρ is at most rho and that of their δ at most delta.

    All together are delta-approximately rho-zCDP. Pure and approximate losses are converted: an ε costs
    ρ = ε²/2.
    """

    rho: Fraction
    delta: Fraction
    spent: ConcentratedLoss = _NO_CONCENTRATED_LOSS

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive_rho(self.rho))
        object.__setattr__(self, "delta", within(self.delta, "delta", Fraction(0), Fraction(1)))
        spent = self.spent
        if not isinstance(spent, ConcentratedLoss) or spent.rho > self.rho or spent.delta > self.delta:
            raise _overspent()

    @classmethod
    def for_budget(cls, epsilon: Number, delta: Number, *, threshold_share: Number) -> "ConcentratedFilter":
        """The filter under which everything admitted is (ε, δ)-DP together.

        The share `threshold_share` of δ is kept for releases that cost δ (thresholds on private keys); 0
        admits none. The rest turns ε into the largest ρ, by the tight conversion
        (`model.conversion.largest_rho`).
        """
        epsilon, delta = positive_epsilon(epsilon), positive_delta(delta)
        reserve = delta * within(threshold_share, "threshold_share", Fraction(0), Fraction(99, 100))
        return cls(rho=largest_rho(epsilon, delta - reserve), delta=reserve)

    @property
    def left(self) -> ConcentratedLoss:
        return ConcentratedLoss(rho=self.rho - self.spent.rho, delta=self.delta - self.spent.delta)

    def fits(self, loss: Loss) -> bool:
        """Whether `spend` would admit this loss."""
        cost, left = _concentrated(loss), self.left
        return cost.rho <= left.rho and cost.delta <= left.delta

    def spend(self, loss: Loss) -> "ConcentratedFilter":
        """The filter after this loss, or BudgetExceeded and nothing spent."""
        cost, left = _concentrated(loss), self.left
        if cost.rho > left.rho:
            raise BudgetExceeded(
                f"This costs ρ = {_up(cost.rho)}, and {_down(left.rho)} of {_down(self.rho)} is left.",
                remedy=_less(f"rho={_down(left.rho)}") if left.rho else _NOTHING_LEFT,
            )
        if cost.delta > left.delta:
            raise BudgetExceeded(
                f"This costs δ = {_up(cost.delta)} for private keys or thresholds, and {_down(left.delta)} "
                f"of {_down(self.delta)} is left.",
                remedy="List the keys in the policy or in the question: public keys need no δ.",
            )
        total = ConcentratedLoss(rho=self.spent.rho + cost.rho, delta=self.spent.delta + cost.delta)
        return replace(self, spent=total)


def _overspent() -> InvalidInput:
    return InvalidInput(
        "What is spent must be a loss of the budget's own kind, and no more than the budget.",
        remedy="Start from a filter on which nothing is spent.",
    )


def _less(most: str) -> str:
    return f"Ask for less accuracy, at {most} or below, or fewer things at once."


def _concentrated(loss: Loss) -> ConcentratedLoss:
    _check(loss)
    return loss if isinstance(loss, ConcentratedLoss) else loss.concentrated()


def _check(loss: object) -> None:
    if not isinstance(loss, PureLoss | ApproximateLoss | ConcentratedLoss):
        raise InvalidInput(
            f"A loss is expected, not a {type(loss).__name__}.",
            remedy="Give PureLoss, ApproximateLoss or ConcentratedLoss.",
        )


def _up(x: Fraction) -> str:
    return _shown(x, ROUND_CEILING)


def _down(x: Fraction) -> str:
    """Rounded the other way than `_up`, so that what does not fit never looks as if it did."""
    return _shown(x, ROUND_FLOOR)


def _shown(x: Fraction, rounding: str) -> str:
    short = decimal_context(6, rounding).divide(Decimal(x.numerator), Decimal(x.denominator))
    return f"{float(short):.6g}"
