"""What every aggregate defines: how it is asked, bounded, estimated, explained and shown.

Every aggregate is one file of this folder, with one class, and one line in `registry.py`. The stages of a
question ask that class and know no aggregate by name:

    read        resolve     the argument, from sqlglot's tree
    vectors     bound       the vectors of exact integers that it is computed from
    squares     split       how much the noise of each vector matters
    error       calibrate   how large the noise is, before any data is read
    estimate    release     the measure from noisy vectors: post-processing, which costs nothing
    with_left_out release   where it lies without limits
    reach       release     where the truth lies, if the noise alone says so
    span, box   release     where it lies for certain, and where its vectors do
    shown       release     the number as people read it
    notes       release     how bounding may have changed the truth
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from sqlglot import exp

from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.left_out import Lost
from discreet.aggregates.shape import Shape
from discreet.aggregates.vectors import Part
from discreet.aggregates.weights import Unit
from discreet.arrays import ColumnValues, Floats
from discreet.functions.registry import range_of
from discreet.model.expression import Expression
from discreet.model.interval import Interval
from discreet.model.query import Aggregate, Measure, Relation
from discreet.noise.additive import AdditiveNoise
from discreet.noise.combined_noise import CombinedNoise
from discreet.noise.quantile import NoisyTree, QuantileTree

VectorNoise: TypeAlias = AdditiveNoise | CombinedNoise | QuantileTree
"""The noise of a vector that numbers are computed from."""


class ArgumentReader(Protocol):
    """Reads the arguments of an aggregate with the names of a question; refuses what they cannot be."""

    def expression(self, node: exp.Expression) -> Expression:
        """What is computed from one row."""

    def number(self, node: exp.Expression, function: str, *, conditions: bool = False) -> Expression:
        """The same, if it is a number; a refusal names `function`. Conditions may count as 1 or 0."""

    def is_person(self, expression: Expression) -> bool:
        """Whether this is the person column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMeasure:
    """What a call of an aggregate asks for."""

    aggregate: Aggregate
    argument: Expression | None
    share: Fraction | None = None
    function: str | None = None
    """A function to apply to the noisy measure: sqrt for a standard deviation."""
    second: Expression | None = None
    squared: bool = False
    """Whether the square of the noisy measure is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyMeasure:
    """A measure whose vectors were released, for the groups that are shown."""

    measure: Measure
    vectors: tuple[Part, ...]
    noise: tuple[VectorNoise, ...]
    """By vector."""
    sums: tuple[Floats, ...]
    """For each vector that is not a histogram: one number for each group, in the units of the question."""
    trees: tuple[list[NoisyTree], ...]
    """For each vector that is a histogram: one tree for each group."""
    confidence: Fraction
    grouped: bool
    """Whether there are several groups, each of which may have lost all that is left out."""
    check_time: Callable[[], None] = lambda: None
    """Raises if time is up. To be called every few hundred groups where each takes long."""
    reach: Floats | float = 1.0
    """How far the error of the last vector reaches, relative to its noise: less if it was reconciled."""


Each = TypeVar("Each")
_AT_ONCE = 256


def paced(things: Iterable[Each], check_time: Callable[[], None]) -> Iterator[Each]:
    """The things, with a look at the time before every few hundred of them."""
    for number, each in enumerate(things):
        if number % _AT_ONCE == 0:
            check_time()
        yield each


class AggregateDefinition(ABC):
    """One aggregate: the only place that says what it needs and how it is computed."""

    aggregate: ClassVar[Aggregate]
    usages: ClassVar[tuple[str, ...]]
    """All ways to write it. docs/reference/questions.md has each of these, or a test fails."""
    offered: ClassVar[tuple[str, ...]] = ()
    """What it is called when another function is refused."""
    nodes: ClassVar[tuple[type[exp.Expression], ...]] = ()
    """The sqlglot nodes that ask for it. A node that several aggregates share belongs to one of them."""
    counts: ClassVar[Unit | None] = None
    """What it counts, if its noisy count can select private keys, and a top-k can be ordered by it."""
    adds_up: ClassVar[bool] = False
    """Whether its SQL only adds up what it computes from rows. Any other may leave out rows by its argument
    or condition (a WHERE in `sql.emit`), and a database may do that before it joins.
    """
    measured_together: ClassVar[bool] = False
    """Whether its vectors may be computed from others that one row enters once (`bounds.together`)."""
    squares: ClassVar[tuple[float, ...]] = (1.0,)
    """For each vector c²: its error s, relative to its bound, becomes an error c·s of the measure.

    To first order, and for values spread evenly over their bounds (`bounds.split_price`).
    """
    shape: ClassVar[Shape] = Shape.BENT
    """How it moves with its vectors, and so whether it may be simulated."""
    error_of: ClassVar[str] = "value"
    """What `error` is the error of: the value, a total to be divided by rows, or a rank."""

    takes_conditions: ClassVar[bool] = False
    """Whether its argument may be a condition, which counts as 1 or 0."""
    loses: ClassVar[str] = "rows"
    """What limits leave out of it."""

    def limit_text(self, source: Relation) -> str:
        """What one person may have of that."""
        return f"{source.max_rows:,} rows"

    @property
    def known_before(self) -> bool:
        """Whether its error is known without the data, so that a question can ask for an error."""
        return self.error_of == "value"

    def read(self, node: exp.Expression, arguments: ArgumentReader) -> AskedMeasure:
        """What one of its nodes asks for; by default its argument is one number."""
        argument = arguments.number(node.this, self.aggregate.value, conditions=self.takes_conditions)
        return AskedMeasure(aggregate=self.aggregate, argument=argument)

    @abstractmethod
    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        """The vectors that it is computed from, as many as `squares`. `error` is that of the last one."""

    def error(self, vector: Part, noise: VectorNoise, confidence: Fraction, *, cells: int = 1) -> Interval:
        """The error of the last vector, in the units of the question, for `cells` groups at once."""
        if isinstance(noise, QuantileTree):
            raise TypeError("A tree is for quantiles.")
        found = noise.interval(confidence, values=cells)
        return Interval(
            low=found.low * vector.scale, high=found.high * vector.scale, confidence=found.confidence
        )

    @abstractmethod
    def estimate(self, noisy: NoisyMeasure) -> Floats:
        """The measure of each group; NaN where a noisy count is too small to divide by."""

    def reach(self, noisy: NoisyMeasure, values: Floats) -> tuple[Floats, Floats] | None:  # noqa: ARG002
        """The ends of the intervals, if they follow from the noise alone; None if they must be simulated."""
        return None

    def with_left_out(
        self,
        noisy: NoisyMeasure,  # noqa: ARG002
        reach: tuple[Floats, Floats],
        lost: Lost,
    ) -> tuple[Floats, Floats]:
        """Where the answer without limits lies, given where the one with limits does, and what is left out.

        If there are groups, any of them may have lost all of it, or nothing.
        """
        low, high = reach
        return low, high + lost.high

    def guess(self, noisy: NoisyMeasure, values: Floats, lost: Lost) -> Floats:  # noqa: ARG002
        """The likeliest answer without limits, where it can be told which groups lose how much."""
        return values

    def span(self, measure: Measure) -> tuple[float, float]:  # noqa: ARG002
        """Where the truth lies for certain, whatever the data."""
        return -np.inf, np.inf

    @abstractmethod
    def box(self, low: NoisyMeasure, high: NoisyMeasure) -> tuple[Floats, Floats]:
        """Where it lies if the sum of each vector lies from the one in `low` to the one in `high`."""

    def shown(self, measure: Measure, raw: Floats) -> ColumnValues:  # noqa: ARG002
        """The estimates as people read them, such as whole numbers. The raw ones are kept too."""
        return raw

    def notes(self, measure: Measure) -> list[str]:  # noqa: ARG002
        """How it may differ from a plain query because its values are bounded."""
        return []


def share_left_out(count: Floats, lost: Lost) -> Floats:
    """The largest share of rows that is left out of a group with this noisy count."""
    most = lost.of_counted(count)
    share: Floats = most / np.maximum(np.maximum(count, 0) + most, 1e-300)
    return share


def beyond_bounds(
    low: Floats, high: Floats, lost: Lost, width: Floats | float, *, whole: bool
) -> tuple[Floats, Floats]:
    """With what clamping takes off, in units of `width`: of a group, perhaps nothing, or all of it."""
    above, below = lost.above, lost.below
    most, least = above.high - (below.low if whole else 0.0), (above.low if whole else 0.0) - below.high
    return low + width * least, high + width * most


def clamping_notes(measure: Measure) -> list[str]:
    """The notes of an aggregate whose values are clamped to their bounds."""
    span = None if measure.argument is None else range_of(measure.argument)
    if span is None:
        return []
    return [f"{measure.aggregate.value}: values are taken within {float(span.low):g} … {float(span.high):g}."]


def bounds_of(measure: Measure) -> tuple[float, float]:
    """Where the values that a measure is of lie, after clamping."""
    span = None if measure.argument is None else range_of(measure.argument)
    return (-np.inf, np.inf) if span is None else (float(span.low), float(span.high))


def clamped(values: Floats, measure: Measure) -> Floats:
    """An average, or a quantile, lies within the bounds: to cut off what does not is free, and no worse."""
    return np.clip(values, *bounds_of(measure))
