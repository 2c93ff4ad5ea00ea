"""What an aggregate has to say of itself: how it is asked, bounded, estimated, explained and shown.

Every aggregate is one file of this folder, with one class, and one line in `registry.py`. The stages of a
question ask that class and know no aggregate by name:

    read        resolve     the argument, from sqlglot's tree
    vectors     bound       the vectors of exact integers that it is computed from
    squares     split       how much the noise of each vector matters
    error       calibrate   how large the noise is, before any data is read
    estimate    release     the measure from noisy vectors: post-processing, which costs nothing
    reach, draw release     where the truth lies
    shown       release     the number as people read it
    notes       release     what bounding may have done to the truth
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.vectors import Part
from discreet.aggregates.weights import Unit
from discreet.arrays import ColumnValues, Floats
from discreet.functions.registry import range_of
from discreet.model.expression import Expression
from discreet.model.interval import Interval
from discreet.model.query import Aggregate, Measure
from discreet.noise.additive import AdditiveNoise
from discreet.noise.quantile import NoisyTree, QuantileTree

VectorNoise: TypeAlias = AdditiveNoise | QuantileTree
"""What noises a vector that numbers are computed from."""


class ArgumentReader(Protocol):
    """Reads arguments in the names of a question; refuses what they cannot be."""

    def expression(self, node: exp.Expression) -> Expression:
        """What is computed from one row."""

    def number(self, node: exp.Expression, function: str) -> Expression:
        """The same, if it is a number; `function` is who asks, for the refusal."""

    def is_person(self, expression: Expression) -> bool:
        """Whether this is the person column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMeasure:
    """What a call of an aggregate asks for."""

    aggregate: Aggregate
    argument: Expression | None
    share: Fraction | None = None
    function: str | None = None
    """A function of the noisy measure that was really asked for: sqrt for a standard deviation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyMeasure:
    """A measure whose vectors were released, for the groups that are shown."""

    measure: Measure
    vectors: tuple[Part, ...]
    noise: tuple[VectorNoise, ...]
    """By vector."""
    sums: tuple[Floats, ...]
    """By vector that is no histogram: one number for each group, in the units of the question."""
    trees: tuple[list[NoisyTree], ...]
    """By vector that is a histogram: one tree for each group."""
    confidence: Fraction


class AggregateDefinition(ABC):
    """One aggregate: the only place that says what it needs and how it is computed."""

    aggregate: ClassVar[Aggregate]
    usages: ClassVar[tuple[str, ...]]
    """How it is written, by all its nodes. docs/reference/questions.md has each of these, or a test fails."""
    offered: ClassVar[tuple[str, ...]] = ()
    """What a refusal of another function calls it."""
    nodes: ClassVar[tuple[type[exp.Expression], ...]] = ()
    """The nodes of sqlglot that it is asked by. What several share is read by one of them."""
    counts: ClassVar[Unit | None] = None
    """What it counts, if its noisy count can name private keys, and groups can be picked by it."""
    filters_first: ClassVar[bool] = False
    """Whether its SQL leaves out the rows on which its condition is not true, and then counts."""
    squares: ClassVar[tuple[float, ...]] = (1.0,)
    """By vector: c², where an error s of the vector, relative to its bound, is an error c·s of the measure.

    To first order, and for values spread evenly over their bounds (`bounds.split_price`).
    """
    error_of: ClassVar[str] = "value"
    """What `error` is the error of: the value, a total to be divided by rows, or a rank."""

    @property
    def known_before(self) -> bool:
        """Whether its error depends on no data, so that it can be asked within an error."""
        return self.error_of == "value"

    def read(self, node: exp.Expression, arguments: ArgumentReader) -> AskedMeasure:
        """What one of its nodes asks for: by default, of one number."""
        argument = arguments.number(node.this, self.aggregate.value)
        return AskedMeasure(aggregate=self.aggregate, argument=argument)

    @abstractmethod
    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        """What it is computed from, as many as `squares`. `error` is that of the last one."""

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
        """Where the truth lies, if the noise alone says so; None where it has to be simulated."""
        return None

    def draw(
        self,
        noisy: NoisyMeasure,
        at: NDArray[np.int64],  # noqa: ARG002
        generator: np.random.Generator,  # noqa: ARG002
    ) -> Floats:
        """What it may be in truth, for each group in `at`; the sums of `noisy` were drawn for those."""
        return self.estimate(noisy)

    def shown(self, measure: Measure, raw: Floats) -> ColumnValues:  # noqa: ARG002
        """The estimates as people read them, such as whole numbers; the raw ones stay beside."""
        return raw

    def notes(self, measure: Measure) -> list[str]:  # noqa: ARG002
        """What may differ from a plain query because of its values."""
        return []


def clamping_notes(measure: Measure) -> list[str]:
    """Of an aggregate whose values are clamped to their bounds."""
    span = None if measure.argument is None else range_of(measure.argument)
    if span is None:
        return []
    return [f"{measure.aggregate.value}: values are taken within {float(span.low):g} … {float(span.high):g}."]


def clamped(values: Floats, measure: Measure) -> Floats:
    """An average, or a quantile, lies within the bounds: to cut off what does not is free, and no worse."""
    span = None if measure.argument is None else range_of(measure.argument)
    return values if span is None else np.clip(values, float(span.low), float(span.high))
