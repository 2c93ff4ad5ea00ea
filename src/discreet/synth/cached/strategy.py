"""Counting questions one after the other, each within an error that is asked for, for the price of few.

A question is answered *from the cache* if what was paid for so far determines it well enough: the best linear
unbiased estimate from all tables (`least_squares`), joined with earlier answers to the very question. If not,
it is *paid* by itself, only for the precision that is missing; or tables of its attributes, coarse and fine
(`split_price`), are *bought*, once the questions on these attributes have cost as much since the last time as
the tables do now: the ski-rental problem (Karlin, Manasse, Rudolph, Sleator 1988).

Privacy
    What is done depends on the domain, the questions and the noise of earlier readings alone: not on the
    data, nor on any noisy count. A reading costs what its mechanism costs (`DiscreteGaussian`,
    `DiscreteLaplace`), also when questions are chosen after seeing answers; estimates are post-processing,
    and free. There is no secret: everything is rebuilt from the readings, which may all be published.

Budget
    Tables are bought only when they cost no more than the questions since the last time and this one, paid
    one by one. So all together never costs more than twice what paying each does.

Accuracy
    The interval of an answer holds with its confidence for a question that was not chosen by looking at
    answers that came from the same tables: a question made to fit their noise can be off by more. To cover
    every question of a family, chosen in whatever way, ask with `values` = the size of the family. The
    answers to different questions share noise: where one is off, others are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level
from discreet.model.exact import within as in_range
from discreet.model.interval import Interval
from discreet.model.privacy import Spend, amount_of
from discreet.noise.additive import AdditiveNoise
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.tails import largest
from discreet.synth.cached.counting_question import Attributes, CountingQuestion, Mask
from discreet.synth.cached.least_squares import Tables, gains, variance
from discreet.synth.cached.readings import EXACT, AveragedReadings, Pricing, Reading, Spread, miss_of
from discreet.synth.cached.resolutions import Levels, all_levels, bins, coarser, energies
from discreet.synth.cached.split_price import divided
from discreet.synth.core.domain import Domain

MOST_COUNTS = 2**22
"""The most counts in tables that are bought at once. More might be too large to store: none is bought."""
HEADROOM = 1.5
"""Tables are bought with a variance this much lower than the question at hand needs, for those to come."""

_WIDE = 2.0**40
_MARGIN = 1e-9  # so that rounding never asks for a little more when the same question comes again


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountEstimate:
    """How many people, and how far off that may be."""

    value: float
    spread: Spread

    def interval(self, confidence: Number, *, values: int = 1) -> Interval:
        """Where the count lies; for `values` answers all at once, if more than one."""
        reach = Fraction(self.spread.reach(miss_of(confidence, values)))
        around = Interval(low=-reach, high=reach, confidence=confidence_level(confidence))
        return around.around(Fraction(self.value))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FromCache:
    """Nothing has to be measured: the answer is free."""

    reach: float
    """The answer will be within ± this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pay:
    """The count of the question alone is to be measured."""

    attributes: Attributes
    mask: Mask
    noise: AdditiveNoise
    loss: Spend
    """To be charged before the exact count is read."""
    reach: float
    """After that, the answer will be within ± this."""

    def measure(self, exact: int, *, entropy: Entropy = SYSTEM) -> tuple[Reading, ...]:
        """The exact count, in 1/unit of a person, with its noise."""
        counts = self.noise.release(np.array([exact]), entropy=entropy)
        return (
            Reading(attributes=self.attributes, levels=None, mask=self.mask, noise=self.noise, counts=counts),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Buy:
    """Tables of the question's attributes are to be measured."""

    attributes: Attributes
    shape: tuple[int, ...]
    """The shape of the exact table: all values of each attribute."""
    tables: tuple[tuple[Levels, AdditiveNoise], ...]
    loss: Spend
    """The loss of all tables, to be charged before the exact table is read."""
    reach: float
    """After that, the answer will be within ± this."""

    @property
    def counts(self) -> int:
        """How many counts there are in all tables."""
        return sum(prod(map(bins, self.shape, levels)) for levels, _ in self.tables)

    def measure(self, exact: NDArray[np.int64], *, entropy: Entropy = SYSTEM) -> tuple[Reading, ...]:
        """The exact table, in 1/unit of a person, at each resolution with its noise."""
        if exact.shape != self.shape or exact.dtype != np.int64:
            raise InvalidInput(
                "The exact table has one whole number for every cell.",
                remedy=f"Give 64-bit integers of shape {self.shape}.",
            )
        return tuple(
            Reading(
                attributes=self.attributes,
                levels=levels,
                mask=None,
                noise=noise,
                counts=noise.release(coarser(exact, levels).reshape(-1), entropy=entropy),
            )
            for levels, noise in self.tables
        )


Step: TypeAlias = FromCache | Pay | Buy


@dataclass(slots=True)
class _Rent:
    """What was paid for questions on the same attributes since their tables were bought."""

    paid: Fraction
    energy: Floats
    """Summed over these questions."""


class Online:
    """What is known after some readings. Made from them alone, in their order."""

    def __init__(self, domain: Domain, pricing: Pricing, readings: Iterable[Reading] = ()) -> None:
        self.domain = domain
        self.pricing = pricing
        self._tables = Tables(domain.sizes)
        self._singles: dict[tuple[Attributes, bytes], AveragedReadings] = {}
        self._rents: dict[Attributes, _Rent] = {}
        for reading in readings:
            self.learn(reading)

    def learn(self, *readings: Reading) -> None:
        """Take in more readings."""
        for reading in readings:
            counts, spread = reading.counts / self.pricing.unit, self.pricing.spread(reading.noise)
            if reading.levels is not None:
                self._tables.learn(reading.attributes, reading.levels, counts, spread)
                self._rents.pop(reading.attributes, None)
            elif reading.mask is not None:
                question = CountingQuestion(attributes=reading.attributes, mask=reading.mask)
                self._learn_single(question, AveragedReadings(values=counts, spread=spread))
                self._pay_rent(question, amount_of(self.pricing.loss(reading.noise, table=False)))

    def decide(
        self,
        question: CountingQuestion,
        *,
        within: Number,
        confidence: Number,
        values: int = 1,
        most_for_tables: Fraction | None = None,
    ) -> Step:
        """What it takes to answer within ± `within` people. Reads no data, and no noisy count.

        Tables that cost more ε or ρ than `most_for_tables` are not bought.
        """
        least = Fraction(1, self.pricing.unit)
        most, miss = float(in_range(within, "within", least, Fraction(2**60))), miss_of(confidence, values)
        energy = self._energy(question)
        known = self._spread(question, energy)
        if known and known.reach(miss) <= most:
            return FromCache(reach=known.reach(miss))
        most *= 1 - _MARGIN
        pay = self._pay(question, known, most, miss)
        buy = self._buy(question, energy, most, miss, amount_of(pay.loss))
        if buy is None or buy.counts > MOST_COUNTS:
            return pay
        too_dear = most_for_tables is not None and amount_of(buy.loss) > most_for_tables
        return pay if too_dear else buy

    def answer(self, question: CountingQuestion) -> CountEstimate:
        """The best estimate there is. Free."""
        if question.empty:
            return CountEstimate(value=0.0, spread=EXACT)
        coefficients = self._tables.coefficients(question)
        spread = self._from_tables(question, energies(coefficients, question.mask.shape))
        found = self._singles.get(question.key)
        if spread:
            value = self._tables.estimate(question, coefficients)
            table = AveragedReadings(values=np.array([value]), spread=spread)
            found = table.joined(found) if found else table
        if found is None:
            raise InvalidInput(
                "Nothing that was paid for so far determines this count.",
                remedy="Decide on the question, and learn what that says is to be measured.",
            )
        return CountEstimate(value=float(found.values[0]), spread=found.spread)

    def _learn_single(self, question: CountingQuestion, new: AveragedReadings) -> None:
        old = self._singles.get(question.key)
        self._singles[question.key] = old.joined(new) if old else new

    def _pay_rent(self, question: CountingQuestion, paid: Fraction) -> None:
        rent, energy = self._rents.get(question.attributes), self._energy(question)
        if rent:
            rent.paid += paid
            rent.energy += energy
        else:
            self._rents[question.attributes] = _Rent(paid=paid, energy=energy)

    def _energy(self, question: CountingQuestion) -> Floats:
        return energies(self._tables.coefficients(question), question.mask.shape)

    def _from_tables(self, question: CountingQuestion, energy: Floats) -> Spread | None:
        found = variance(energy, self._tables.precisions(question.attributes))
        return None if found is None else self._table_spread(found)

    def _table_spread(self, found: float, *, smooth: bool = True) -> Spread:
        return Spread(
            variance=found,
            laplace=not self.pricing.concentrated,
            smooth=smooth and self._tables.smooth,
            step=1 / self.pricing.unit,
        )

    def _spread(self, question: CountingQuestion, energy: Floats) -> Spread | None:
        """The spread of the answer as it would be now; None if nothing determines it."""
        if question.empty:
            return EXACT
        return _joined(self._from_tables(question, energy), self._singles.get(question.key))

    def _pay(self, question: CountingQuestion, known: Spread | None, most: float, miss: float) -> Pay:
        def after(each: float) -> Spread:
            fresh = self.pricing.spread_at(each)
            return known.joined(fresh) if known else fresh

        most_noise = largest(lambda v: after(v).reach(miss) <= most, most**2 / _WIDE, most**2 * _WIDE)
        noise = self.pricing.single_noise_at_least(most_noise)
        return Pay(
            attributes=question.attributes,
            mask=question.mask,
            noise=noise,
            loss=self.pricing.loss(noise, table=False),
            reach=after(min(most_noise, self.pricing.spread(noise).variance)).reach(miss),
        )

    def _buy(
        self, question: CountingQuestion, energy: Floats, most: float, miss: float, pay: Fraction
    ) -> Buy | None:
        """The cheapest tables that are enough, if they cost no more than the rent and this payment."""
        if not question.attributes:
            return None  # the table of no attributes is the question itself
        shape, known = question.mask.shape, self._tables.precisions(question.attributes)
        rent = self._rents.get(question.attributes)
        affordable = float(pay + rent.paid if rent else pay)
        usual, raised = energy + rent.energy if rent else energy, gains(shape)

        def after(parts: Floats) -> Spread:
            counts = self.pricing.precision(parts)
            found = variance(energy, known + raised @ counts)
            fresh = self.pricing.spread_at(1 / counts.max())
            return self._table_spread(inf if found is None else found, smooth=fresh.smooth)

        def enough(parts: Floats) -> bool:
            spread = after(parts)
            return replace(spread, variance=HEADROOM * spread.variance).reach(miss) <= most

        parts = divided(affordable, usual, known, raised, self.pricing.precision)
        if not enough(parts):
            return None
        for _ in range(2):
            parts = _least(parts, enough)
            again = divided(float(parts.sum()), usual, known, raised, self.pricing.precision)
            parts = again if enough(again) else parts
        parts = _least(parts, enough)
        parts *= max(1.0, float(self.pricing.least) / float(parts.sum()))
        tables = tuple(
            (levels, self.pricing.table_noise(part))
            for levels, part in zip(all_levels(shape), parts, strict=True)
            if part
        )
        spread = after(parts)
        found = _joined(spread, self._singles.get(question.key)) or spread
        return Buy(
            attributes=question.attributes,
            shape=shape,
            tables=tables,
            loss=self.pricing.sum([self.pricing.loss(noise, table=True) for _, noise in tables]),
            reach=found.reach(miss),
        )


def _least(parts: Floats, enough: Callable[[Floats], bool]) -> Floats:
    """All parts lowered by one factor, as far as they are still enough."""
    lowered: Floats = parts / largest(lambda x: enough(parts / x), 1.0, _WIDE)
    return lowered


def _joined(tables: Spread | None, single: AveragedReadings | None) -> Spread | None:
    if tables and single:
        return tables.joined(single.spread)
    return tables or (single.spread if single else None)
