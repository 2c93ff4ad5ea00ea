"""The account of a fit whose steps see only a sample of the people: it draws the coins and sets the noise.

Privacy
    For each step every person, with all of their rows, is taken in by a coin of their own, with probability
    `rate`; the coins are exact, drawn anew for each step, used for that step's sum and then forgotten. The
    same object adds the noise, for the same rate: `accounting.amplification` has the theorems.

    Laplace noise: losses are pure; that of a step is ln(1 + rate·(e^ε − 1)).
    Gaussian noise: losses are Rényi divergences of one whole order, chosen from public numbers before
    anything is released, so that they may be added up although later steps depend on earlier ones, their
    number included. Sums over everyone cost order·ρ. The total is stated as (ε, δ).

    Amplification is a theorem about adding or removing a person. To replace one is to remove one and to add
    one: what is (ε/2, δ/(1 + e^(ε/2))) for the former is (ε, δ) for the latter (`ApproximateLoss.for_group`).
"""

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.amplification import (
    best_order,
    largest_pure,
    largest_sampled_rho,
    renyi_budget,
    renyi_epsilon,
    sampled_pure,
    sampled_renyi,
    sampling_rate,
)
from discreet.errors import InvalidInput
from discreet.learn.account import Account, Sums, loss_of
from discreet.learn.encoding import persons
from discreet.model.exact import SMALLEST_DELTA, Number, exp_bounds, positive_delta, positive_epsilon, whole
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.sampling import bernoulli

MOST_STEPS = 10**6
_LARGEST_FOR_TWO = 200
"""Beyond this ε, the δ that is left for one of two people is nothing."""


class SampledAccount(Account):
    """The budget of one fit at (ε, δ), or at ε with Laplace noise, with steps on samples at this rate.

    `people` has a number for each row, the same for rows of one person. `steps` is about how many steps there
    will be, and `share` what they will take: the order suits them best, but holds for any.

    Amounts are in ρ, or in ε: a release on everyone is as in `Account`. An amount a of ρ is a divergence of
    order·a; what a step on a sample may have of it is more.
    """

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        noise: str,
        *,
        rate: Number,
        people: NDArray[np.intp],
        steps: int,
        share: Fraction = Fraction(1),
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        entropy: Entropy = SYSTEM,
    ) -> None:
        asked = loss_of(epsilon, delta, noise)
        if not isinstance(neighbours, Neighbours):
            raise InvalidInput(
                "An account must know which neighbours it is for.",
                remedy="Give Neighbours.ADD_REMOVE or Neighbours.REPLACE_ONE.",
            )
        self._group = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        self._people, self._persons = people, int(people.max()) + 1 if len(people) else 0
        self.rate = sampling_rate(rate, "batch")
        whole(steps, "steps", 1, MOST_STEPS)
        total: Loss
        if isinstance(asked, PureLoss):
            total = PureLoss(epsilon=asked.epsilon / self._group)
        else:
            self._delta = positive_delta(delta)
            self._own_epsilon, self._own_delta = of_one(
                positive_epsilon(epsilon), self._delta, self._group, "batch=None"
            )
            self.renyi_order = best_order(self._own_epsilon, self._own_delta, self.rate, steps, share)
            self._budget = renyi_budget(self._own_epsilon, self._own_delta, self.renyi_order)
            total = ConcentratedLoss(rho=self._budget / self.renyi_order, delta=Fraction(0))
        super().__init__(total, neighbours=Neighbours.ADD_REMOVE, entropy=entropy)
        self.sampled_losses: list[Loss] = []

    def step(self, sums: Sums, *, reach: int, share: Fraction) -> NDArray[Any]:
        """The sum over a fresh sample, with noise, for this share of the total."""
        amount = self._amplified(self._spend(share))
        exact = sums(self._sample())
        mechanism, loss = self._bought(exact.size, reach, amount)
        self.sampled_losses.append(loss)
        return mechanism.release(exact, entropy=self._entropy)

    def _sample(self) -> NDArray[np.intp]:
        """The places of the rows of those whom their coin takes in: one coin for each person."""
        taken = bernoulli(self.rate, self._persons, self._entropy)
        return np.flatnonzero(taken[self._people])

    def _amplified(self, amount: Fraction) -> Fraction:
        """The ε or ρ of noise which, on a sample, costs at most this amount."""
        if self.order == 1:
            return largest_pure(amount, self.rate)
        return largest_sampled_rho(amount * self.renyi_order, self.rate, self.renyi_order)

    def deviation_of_steps(self, share: Fraction, reach: float, steps: int) -> float:
        """As `deviation`, of the noise of so many steps together beside the sum over everyone.

        That is a step's own, over the rate and over √steps, by which averaging lessens it; with Laplace noise
        over steps, as `deviation` is of all of ε at once.
        """
        total = self.total.epsilon if isinstance(self.total, PureLoss) else self.total.rho
        amount = float(self._amplified(total * share / steps))
        if self.order == 1:
            return sqrt(2) * reach / (amount * steps * float(self.rate))
        return reach / (sqrt(2 * amount * steps) * float(self.rate))

    def spent(self) -> Loss:
        """All releases together, under the neighbours that were asked for."""
        everyone = super().spent()
        if isinstance(everyone, PureLoss):
            steps = sum(
                (sampled_pure(_amount(loss), self.rate) for loss in self.sampled_losses), start=Fraction(0)
            )
            return PureLoss(epsilon=self._group * (everyone.epsilon + steps))
        divergence = self.renyi_order * _amount(everyone)
        for loss in self.sampled_losses:
            divergence += sampled_renyi(_amount(loss), self.rate, self.renyi_order)
        epsilon = renyi_epsilon(divergence, self._own_delta, self.renyi_order)
        if divergence <= self._budget:  # then it is what was asked for, or less, rounding or not
            epsilon = min(epsilon, self._own_epsilon)
        return ApproximateLoss(epsilon=self._group * epsilon, delta=self._delta)


def numbered(groups: NDArray[Any] | None, count: int, rows_per_person: int) -> NDArray[np.intp]:
    """A number for each row, the same for rows of one person.

    Rows of which nobody says whose they are would be sampled one by one, and a person with several would be
    in a step more often than is accounted for.
    """
    if groups is not None:
        return persons(groups)
    if rows_per_person != 1:
        raise InvalidInput(
            "People with several rows are sampled with all of them, but nobody said whose the rows are.",
            remedy="Give groups=, one person's id for each row; or rows_per_person=1.",
        )
    return np.arange(count)


def _amount(loss: Loss) -> Fraction:
    return loss.rho if isinstance(loss, ConcentratedLoss) else loss.epsilon


def of_one(epsilon: Fraction, delta: Fraction, group: int, instead: str) -> tuple[Fraction, Fraction]:
    """The (ε, δ) under add/remove that is this (ε, δ) for a group of one or two.

    `instead` is what to write where there is none.
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
