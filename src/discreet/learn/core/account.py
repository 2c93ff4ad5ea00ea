"""What one fit may spend. All noise of a fit is drawn here.

Privacy
    A fit releases integer vectors one after the other. One person moves each by at most a stated norm.
    With Gaussian noise the losses are zCDP and add up, also when later sums depend on earlier
    releases (Bun & Steinke, arXiv 1605.02065v1, Lemma 2.3); with Laplace noise they are pure and add up
    (lecture 003 §29.4). The budget is turned into one amount at the start. Every release first takes its part
    of it. A release that would take more than is left is refused.
    Steps that see only a sample of the people are in `sampled_account`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import BudgetExceeded, InvalidInput
from discreet.model.conversion import largest_rho
from discreet.model.deadline import Deadline
from discreet.model.exact import Number, exact_fraction, positive_delta, positive_epsilon
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, Loss, PureLoss, Spend, amount_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import AdditiveNoise
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

NoiseName = Literal["gaussian", "laplace"]
SumOfRows: TypeAlias = Callable[[NDArray[np.intp] | None], NDArray[np.int64]]
"""The sum over the rows at these places, or over all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBudget:
    """What a model's own settings let one fit spend."""

    epsilon: Number
    delta: Number
    noise: str

    def spend(self) -> Spend:
        """As one loss, for a fit that sees everyone in each step."""
        return loss_of(self.epsilon, self.delta, self.noise)


FitBudget: TypeAlias = Spend | OwnBudget
"""What a fit may spend: a part of another budget, such as a curator's, or what the model's settings allow."""


class FitAccount:
    """The budget of one fit: ρ with Gaussian noise, ε with Laplace noise."""

    rate = Fraction(1)
    """The share of the people in a step, on average."""
    planned: int | None = None
    """How many steps there are, where that is fixed before the first release."""

    def __init__(
        self,
        total: Loss,
        *,
        neighbours: Neighbours,
        entropy: Entropy = SYSTEM,
        deadline: Deadline | None = None,
    ) -> None:
        """No step begins after `deadline`, if there is one."""
        if not isinstance(total, PureLoss | ConcentratedLoss) or total.delta:
            raise InvalidInput("A fit spends a pure or a concentrated loss.", remedy="Give one without a δ.")
        self.total = total
        self.neighbours = neighbours
        self._entropy = entropy
        self._deadline = deadline
        self._left = amount_of(total)
        self.losses: list[Spend] = []

    @property
    def noise(self) -> NoiseName:
        return "laplace" if isinstance(self.total, PureLoss) else "gaussian"

    @property
    def order(self) -> int:
        """The order of the norm that bounds one person's part of a sum: 1 for ℓ₁, 2 for ℓ₂."""
        return 1 if self.noise == "laplace" else 2

    def deviation(self, share: Fraction, reach: float) -> float:
        """The standard deviation of the noise of a release for this share of the total."""
        amount = float(amount_of(self.total) * share)
        if self.neighbours is Neighbours.REPLACE_ONE:
            reach *= 2
        return float(reach / (2 * amount) ** 0.5 if self.order == 2 else 2**0.5 * reach / amount)

    def release(self, exact: NDArray[np.int64], *, reach: int, share: Fraction) -> Integers:
        """Draw noise and add it to the integers, for this share of the total.

        `reach` bounds all that one person adds to them, in the norm of this account's order.
        """
        return self.take(exact.size, reach=reach, share=share).release(exact, entropy=self._entropy)

    def take(self, size: int, *, reach: int, share: Fraction) -> AdditiveNoise:
        """Spend this share of the total, and return the noise that it buys for `size` integers."""
        mechanism, loss = self._bought(size, reach, self._spend(share))
        self.losses.append(loss)
        return mechanism

    def release_step(self, sums: SumOfRows, *, reach: int, share: Fraction) -> Integers:
        """Draw noise and add it to the sum of one step of descent, for this share of the total."""
        if self._deadline is not None:
            self._deadline.check()
        return self.release(sums(None), reach=reach, share=share)

    def deviation_of_steps(self, share: Fraction, reach: float, steps: int) -> float:  # noqa: ARG002
        """The same for `steps` steps together, on the scale of the sum over everyone."""
        return self.deviation(share, reach)

    def _spend(self, share: Fraction) -> Fraction:
        """Take this share off what is left of the total."""
        amount = amount_of(self.total) * share
        if not 0 < amount <= self._left:
            raise BudgetExceeded(
                "This fit would spend more than it may.", remedy="This is a fault: report it."
            )
        self._left -= amount
        return amount

    def _bought(self, size: int, reach: int, amount: Fraction) -> tuple[AdditiveNoise, Spend]:
        """The noise for `size` integers at this ε or ρ, and its loss if everyone is in the sum."""
        sensitivity = _sensitivity(size, reach, self.order, self.neighbours)
        if self.order == 1:
            laplace = DiscreteLaplace.for_loss(amount, sensitivity)
            return laplace, laplace.loss(sensitivity)
        gaussian = DiscreteGaussian.for_loss(amount, sensitivity)
        return gaussian, gaussian.loss(sensitivity)

    def spent(self) -> Loss:
        """All releases together."""
        spent: Loss = (
            PureLoss(epsilon=Fraction(0))
            if self.order == 1
            else ConcentratedLoss(rho=Fraction(0), delta=Fraction(0))
        )
        for loss in self.losses:
            spent = spent.compose(loss)
        return spent


def loss_of(epsilon: Number, delta: Number, noise: str) -> Spend:
    """The loss that a fit at (ε, δ) may spend; δ = 0 is pure, and takes Laplace noise."""
    exact = exact_fraction(delta, "delta")
    if noise not in ("auto", "gaussian", "laplace"):
        raise InvalidInput("There is no such noise.", remedy='Give noise="auto", "gaussian" or "laplace".')
    if noise == "gaussian" and exact == 0:
        raise InvalidInput(
            "Gaussian noise needs a delta above 0.",
            remedy='Give one well below one over the number of people, such as 1e-9, or noise="laplace".',
        )
    if noise == "laplace" or exact == 0:
        return PureLoss(epsilon=positive_epsilon(epsilon))
    rho = largest_rho(positive_epsilon(epsilon), positive_delta(delta))
    return ConcentratedLoss(rho=rho, delta=Fraction(0))


def _sensitivity(size: int, reach: int, order: int, neighbours: Neighbours) -> Sensitivity:
    """For `size` integers to which one person adds a norm of `reach`; twice that if a person is replaced."""
    most = 2 * reach if neighbours is Neighbours.REPLACE_ONE else reach
    l1 = most if order == 1 else min(size * most, isqrt(size * most**2) + 1)
    return Sensitivity(neighbours=neighbours, l0=size, linf=most, l1=l1, l2_squared=most**2)
