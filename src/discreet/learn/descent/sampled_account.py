"""The account of a fit whose steps see a sample of the people. It draws the samples and the noise.

Privacy
    In each step a coin decides for every person whether all of their rows are in, with probability `rate`.
    The coins are exact. They are drawn anew for each step, used for its sum, and then forgotten. The same
    object adds the noise, for the same rate.

    Laplace noise: losses are pure; that of a step is ln(1 + rate·(e^ε − 1)) (`accounting.amplification`).
    Gaussian noise: the number of steps, and what is released on everyone, are fixed before anything is
    released. `accounting.sampled_steps` computes the noise of each step so that everything together is
    (ε, δ), and has the theorems. No other step is made.

    Amplification is a theorem about adding or removing a person. Replacing one is removing one and
    adding one: (ε/2, δ/(1 + e^(ε/2))) under add/remove is (ε, δ) under replace-one
    (`ApproximateLoss.for_group`).
"""

from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.amplification import largest_pure, sampled_pure, sampling_rate
from discreet.accounting.sampled_steps import MOST_STEPS, SMOOTHING, largest_step_rho
from discreet.arrays import Integers
from discreet.errors import BudgetExceeded, InvalidInput
from discreet.learn.core.account import FitAccount, OwnBudget, SumOfRows
from discreet.learn.core.encoding import persons
from discreet.model.conversion import largest_rho
from discreet.model.exact import SMALLEST_DELTA, Number, exp_bounds, positive_delta, positive_epsilon, whole
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss, Spend, amount_of
from discreet.noise.additive import AdditiveNoise
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.sampling import bernoulli

_LARGEST_FOR_TWO = 200
"""Beyond this ε, no δ is left for each of two people."""


class SampledAccount(FitAccount):
    """The budget of one fit at (ε, δ), or at ε with Laplace noise, with steps on samples at this rate.

    `people` has a number for each row, the same for rows of one person. There are `steps` steps, each with an
    equal part of `share`; the rest of the budget is for releases on everyone.

    Amounts are in ρ or in ε. A release on everyone is as in `FitAccount`. A step on a sample may have more
    than its part, because sampling amplifies privacy.
    """

    def __init__(
        self,
        budget: OwnBudget,
        *,
        rate: Number,
        people: NDArray[np.intp],
        steps: int,
        share: Fraction,
        neighbours: Neighbours,
        entropy: Entropy = SYSTEM,
    ) -> None:
        asked = budget.spend()
        if not isinstance(neighbours, Neighbours):
            raise InvalidInput(
                "An account must know which neighbours it is for.",
                remedy="Give Neighbours.ADD_REMOVE or Neighbours.REPLACE_ONE.",
            )
        self._group = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        self._people, self._persons = people, int(people.max()) + 1 if len(people) else 0
        self.rate = sampling_rate(rate, "batch")
        self._share, times = share, whole(steps, "steps", 1, MOST_STEPS)
        total: Spend
        if isinstance(asked, PureLoss):
            total = PureLoss(epsilon=asked.epsilon / self._group)
        else:
            self._delta = positive_delta(budget.delta)
            own_epsilon, own_delta = of_one(
                positive_epsilon(budget.epsilon), self._delta, self._group, "batch=None"
            )
            total = ConcentratedLoss(rho=largest_rho(own_epsilon, own_delta), delta=Fraction(0))
            self._epsilon, self.planned = self._group * own_epsilon, times
            everyone = (1 - share) * total.rho
            self._step = largest_step_rho(own_epsilon, own_delta, self.rate, times, everyone)
        super().__init__(total, neighbours=Neighbours.ADD_REMOVE, entropy=entropy)
        self.sampled_losses: list[Spend] = []

    def release_step(self, sums: SumOfRows, *, reach: int, share: Fraction) -> Integers:
        """Draw a fresh sample, and noise for its sum, for this share of the total."""
        self._as_planned(share)
        amount = self._amplified(self._spend(share))
        exact = sums(self._draw_sample())
        mechanism, loss = self._bought(exact.size, reach, amount)
        self.sampled_losses.append(loss)
        return mechanism.release(exact, entropy=self._entropy)

    def take(self, size: int, *, reach: int, share: Fraction) -> AdditiveNoise:
        """Spend this share of the total on everyone. The share of the steps cannot be spent."""
        spent = _sum(self.losses) / amount_of(self.total)
        if self.planned is not None and spent + share > 1 - self._share:
            raise BudgetExceeded(_UNPLANNED, remedy="This is a fault: report it.")
        return super().take(size, reach=reach, share=share)

    def _as_planned(self, share: Fraction) -> None:
        """With Gaussian noise, refuse a step that the account was not opened for."""
        if self.planned is None:
            return
        if len(self.sampled_losses) >= self.planned or share != self._share / self.planned:
            raise BudgetExceeded(_UNPLANNED, remedy="This is a fault: report it.")

    def _draw_sample(self) -> NDArray[np.intp]:
        """Draw a coin for each person, and return the places of the rows of those who are in."""
        taken = bernoulli(self.rate, self._persons, self._entropy)
        return np.flatnonzero(taken[self._people])

    def _amplified(self, amount: Fraction) -> Fraction:
        """The ε of noise that costs at most this amount on a sample; with Gaussian noise, the planned ρ."""
        return largest_pure(amount, self.rate) if self.order == 1 else self._step

    def _bought(self, size: int, reach: int, amount: Fraction) -> tuple[AdditiveNoise, Spend]:
        """The noise, and its loss on everyone. Gaussian noise is a little larger than without samples."""
        if self.order == 1:
            return super()._bought(size, reach, amount)
        variance = reach**2 / (2 * amount) + SMOOTHING
        loss = ConcentratedLoss(rho=reach**2 / (2 * (variance - SMOOTHING)), delta=Fraction(0))
        return DiscreteGaussian(sigma_squared=variance), loss

    def deviation_of_steps(self, share: Fraction, reach: float, steps: int) -> float:
        """The standard deviation of the noise of `steps` steps, on the scale of the sum over everyone.

        That is a step's own, divided by the rate, and by √steps, as steps are averaged. With Laplace noise it
        is divided by `steps`, because `deviation` is for all of ε at once.
        """
        amount = float(self._amplified(amount_of(self.total) * share / steps))
        if self.order == 1:
            return sqrt(2) * reach / (amount * steps * float(self.rate))
        return reach / (sqrt(2 * amount * steps) * float(self.rate))

    def spent(self) -> Loss:
        """All releases together, under the neighbours that were asked for.

        With Gaussian noise that is all that was planned, whether it was done or not.
        """
        if self.planned is not None:
            return ApproximateLoss(epsilon=self._epsilon, delta=self._delta)
        steps = sum((sampled_pure(amount_of(loss), self.rate) for loss in self.sampled_losses), Fraction(0))
        return PureLoss(epsilon=self._group * (_sum(self.losses) + steps))


_UNPLANNED = "This fit would do what its account was not opened for."


def numbered(groups: NDArray[np.generic] | None, count: int, rows_per_person: int) -> NDArray[np.intp]:
    """A number for each row, the same for rows of one person.

    Without groups, rows are sampled one by one. A person with several rows would then be in a step more often
    than is accounted for, so this is refused.
    """
    if groups is not None:
        return persons(groups)
    if rows_per_person != 1:
        raise InvalidInput(
            "People with several rows are sampled with all of them, but nobody said whose the rows are.",
            remedy="Give groups=, one person's id for each row; or rows_per_person=1.",
        )
    return np.arange(count)


def _sum(losses: list[Spend]) -> Fraction:
    return sum(map(amount_of, losses), start=Fraction(0))


def of_one(epsilon: Fraction, delta: Fraction, group: int, instead: str) -> tuple[Fraction, Fraction]:
    """The (ε, δ) under add/remove that amounts to this (ε, δ) for a group of one or two.

    `instead` is what the error advises where there is none.
    """
    if group == 1:
        return epsilon, delta
    half = epsilon / 2
    own = delta / (1 + exp_bounds(half, 40)[1]) if epsilon <= _LARGEST_FOR_TWO else Fraction(0)
    if own < SMALLEST_DELTA:
        raise InvalidInput(
            "At this epsilon and delta, this way to learn has no account for replacing a person.",
            remedy=f'Give neighbours="add_remove", a larger delta, or {instead}.',
        )
    return half, own
