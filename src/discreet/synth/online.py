"""Counting questions one after the other, each within an error that is asked for, for the price of few.

A question is answered *from the cache* if what was paid for so far determines it well enough: the best
linear unbiased estimate from all tables, joined with earlier answers to the very question (`readings`). If
not, it is *paid* by itself, only for the precision that is missing; or the whole table of its attributes is
*bought*, once the questions on these attributes have cost as much since the last time as the table does
now: to rent until the rent is the price (Karlin, Manasse, Rudolph, Sleator 1988).

Privacy
    What is done depends on the domain, the questions and the noise of earlier readings alone: not on the
    data, nor on any noisy count. A reading costs what its mechanism costs (`DiscreteGaussian`,
    `DiscreteLaplace`), also when questions are chosen after seeing answers; estimates are post-processing,
    and free. There is no secret: everything can be rebuilt from the readings, which may all be published.

Budget
    A table is bought only when it costs no more than the questions since the last one and this one would
    have, paid one by one. So all together never cost more than twice that.

Accuracy
    The interval of an answer holds with its confidence for a question that was not chosen by looking at
    answers that came from the same tables: a question made to fit their noise can be off by more. To cover
    every question of a family, chosen in whatever way, ask with `values` = the size of the family. The
    answers to different questions share noise: where one is off, others are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level
from discreet.model.exact import within as in_range
from discreet.model.interval import Interval
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.tails import largest as largest_that
from discreet.synth.domain import Domain
from discreet.synth.question import Attributes, Mask, Question
from discreet.synth.readings import (
    EXACT,
    Known,
    Noise,
    Pricing,
    Reading,
    Spread,
    coefficients,
    miss_of,
    spread_of,
)
from discreet.synth.records import Floats

HEADROOM = 1.25
"""A table is bought with a variance this much lower than the question at hand needs, for those to come."""

_WIDE = 2.0**40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """How many people, and how far off that may be."""

    value: float
    spread: Spread

    def interval(self, confidence: Number, *, values: int = 1) -> Interval:
        reach = Fraction(self.spread.reach(miss_of(confidence, values)))
        around = Interval(low=-reach, high=reach, confidence=confidence_level(confidence))
        return around.around(Fraction(self.value))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FromCache:
    """Nothing has to be measured: the answer is free."""

    reach: float
    """The answer will be within ± this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurable:
    """What has to be measured, with which noise, at which price."""

    attributes: Attributes
    mask: Mask | None
    cells: int
    """How many counts."""
    noise: Noise
    loss: PureLoss | ConcentratedLoss
    """To be charged before exact counts are read."""
    reach: float
    """After that, the answer will be within ± this."""

    def measure(self, exact: NDArray[np.int64], *, entropy: Entropy = SYSTEM) -> Reading:
        """Exact counts, in 1/unit of a person, with their noise."""
        counts = np.asarray(exact).reshape(-1)
        if len(counts) != self.cells:
            raise InvalidInput(
                "There must be one exact count for every one that is paid for.",
                remedy=f"Give {self.cells:,}, in the order of the cells.",
            )
        noisy = self.noise.release(counts, entropy=entropy)
        return Reading(attributes=self.attributes, mask=self.mask, noise=self.noise, counts=noisy)


class Pay(Measurable):
    """The count of the question alone is measured."""

    __slots__ = ()


class Buy(Measurable):
    """Every count of the table of the question's attributes is measured."""

    __slots__ = ()


Step: TypeAlias = FromCache | Pay | Buy


class Online:
    """What is known after some readings. Made from them alone, in their order."""

    def __init__(self, domain: Domain, pricing: Pricing, readings: Iterable[Reading] = ()) -> None:
        self.domain = domain
        self.pricing = pricing
        self._tables: dict[Attributes, Known] = {}
        self._singles: dict[tuple[Attributes, bytes], Known] = {}
        self._rent: dict[Attributes, Fraction] = {}
        for reading in readings:
            self.learn(reading)

    def learn(self, reading: Reading) -> None:
        """Take in one more."""
        attributes, pricing = reading.attributes, self.pricing
        shape = self._shape(attributes) if reading.mask is None else ()
        new = Known(counts=reading.counts.reshape(shape) / pricing.unit, spread=pricing.spread(reading.noise))
        if reading.mask is None:
            old = self._tables.get(attributes)
            self._tables[attributes] = old.joined(new) if old else new
            self._rent[attributes] = Fraction(0)
            return
        key = Question(attributes=attributes, mask=reading.mask).key
        before = self._singles.get(key)
        self._singles[key] = before.joined(new) if before else new
        self._rent[attributes] = self._rented(attributes) + amount_of(
            pricing.loss(reading.noise, table=False)
        )

    def decide(
        self,
        question: Question,
        *,
        within: Number,
        confidence: Number,
        values: int = 1,
        most_for_table: Fraction | None = None,
    ) -> Step:
        """What it takes to answer within ± `within` people. Reads no data, and no noisy count.

        A table that costs more ε or ρ than `most_for_table` is not bought.
        """
        most, miss = self._most(within), miss_of(confidence, values)
        known = self._spread(question)
        if known and known.reach(miss) <= most:
            return FromCache(reach=known.reach(miss))
        pay = self._pay(question, known, most, miss)
        affordable = self._rented(question.attributes) + amount_of(pay.loss)
        buy = self._buy(question, most, miss, affordable)
        too_dear = buy and most_for_table is not None and amount_of(buy.loss) > most_for_table
        return pay if buy is None or too_dear else buy

    def answer(self, question: Question) -> Estimate:
        """The best estimate there is. Free."""
        if question.empty:
            return Estimate(value=0.0, spread=EXACT)
        found = self._from_tables(question)
        single = self._singles.get(question.key)
        if found is None and single is None:
            raise InvalidInput(
                "Nothing that was paid for so far determines this count.",
                remedy="Decide on the question, and learn what that says is to be measured.",
            )
        best = found.joined(single) if found and single else found or single
        assert best is not None  # noqa: S101
        return Estimate(value=float(best.counts), spread=best.spread)

    def _most(self, within: Number) -> float:
        least = Fraction(1, self.pricing.unit)
        return float(in_range(within, "within", least, Fraction(2**60)))

    def _rented(self, attributes: Attributes) -> Fraction:
        return self._rent.get(attributes, Fraction(0))

    def _shape(self, attributes: Attributes) -> tuple[int, ...]:
        return tuple(self.domain.sizes[each] for each in attributes)

    def _spreads(self) -> dict[Attributes, Spread]:
        return {attributes: known.spread for attributes, known in self._tables.items()}

    def _from_tables(self, question: Question) -> Known | None:
        spreads, sizes = self._spreads(), self.domain.sizes
        weights = coefficients(question, spreads, sizes)
        if weights is None:
            return None
        value = sum(self._weighted(question, each, weights[each]) for each in weights)
        return Known(counts=np.asarray(value), spread=spread_of(weights, spreads, sizes))

    def _weighted(self, question: Question, attributes: Attributes, weights: Floats) -> float:
        """Σ weight · count, for weights on the attributes that the table shares with the question."""
        others = tuple(i for i, each in enumerate(attributes) if each not in question.attributes)
        return float((self._tables[attributes].counts.sum(axis=others) * weights).sum())

    def _spread(self, question: Question) -> Spread | None:
        """Of the answer as it would be now."""
        if question.empty:
            return EXACT
        weights = coefficients(question, self._spreads(), self.domain.sizes)
        found = spread_of(weights, self._spreads(), self.domain.sizes) if weights else None
        single = self._singles.get(question.key)
        if found is None or single is None:
            return found or (single.spread if single else None)
        return found.joined(single.spread)

    def _pay(self, question: Question, known: Spread | None, most: float, miss: float) -> Pay:
        def after(variance: float) -> Spread:
            fresh = self.pricing.spread_at(variance)
            return known.joined(fresh) if known else fresh

        variance = _largest_variance(lambda v: after(v).reach(miss) <= most, most)
        noise = self.pricing.noise(variance)
        return Pay(
            attributes=question.attributes,
            mask=question.mask,
            cells=1,
            noise=noise,
            loss=self.pricing.loss(noise, table=False),
            reach=after(variance).reach(miss),
        )

    def _buy(self, question: Question, most: float, miss: float, affordable: Fraction) -> Buy | None:
        """The cheapest table that is enough, if it costs no more than is affordable."""
        mine, single = question.attributes, self._singles.get(question.key)
        spreads, parts = self._spreads(), question.parts()

        def after(variance: float) -> Spread:
            fresh = self.pricing.spread_at(variance)
            tables = {**spreads, mine: spreads[mine].joined(fresh) if mine in spreads else fresh}
            weights = coefficients(question, tables, self.domain.sizes, parts)
            return spread_of(weights or {}, tables, self.domain.sizes)

        def enough(variance: float) -> bool:
            spread = after(variance)
            roomy = replace(spread, variance=HEADROOM * spread.variance)
            joined = spread.joined(single.spread) if single else spread
            return max(roomy.reach(miss), joined.reach(miss)) <= most

        least = self.pricing.table_variance(affordable)
        if not mine or not enough(least):  # the table of no attributes is the question itself
            return None
        variance = largest_that(enough, least, max(least, most**2) * _WIDE)
        noise, spread = self.pricing.noise(variance), after(variance)
        return Buy(
            attributes=mine,
            mask=None,
            cells=question.mask.size,
            noise=noise,
            loss=self.pricing.loss(noise, table=True),
            reach=(spread.joined(single.spread) if single else spread).reach(miss),
        )


def _largest_variance(fits: Callable[[float], bool], most: float) -> float:
    """The most noise that fits, to ten digits."""
    return largest_that(fits, most**2 / _WIDE, most**2 * _WIDE)


def amount_of(loss: PureLoss | ConcentratedLoss) -> Fraction:
    """Its ε, or its ρ."""
    return loss.epsilon if isinstance(loss, PureLoss) else loss.rho
