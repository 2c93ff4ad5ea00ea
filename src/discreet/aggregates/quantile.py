"""median(x), quantile(x, 0.9), min(x), max(x): from one noisy tree over the bounds, whatever the share."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.aggregates.aggregate import (
    AggregateDefinition,
    ArgumentReader,
    AskedMeasure,
    NoisyMeasure,
    VectorNoise,
    clamped,
    clamping_notes,
)
from discreet.aggregates.bounding import ContributionBounds, bounded_argument
from discreet.aggregates.vectors import Histogram, Part, known
from discreet.aggregates.weights import Norm
from discreet.arrays import Floats
from discreet.errors import InvalidInput, QueryRefused
from discreet.model.exact import exact_fraction
from discreet.model.expression import Field
from discreet.model.interval import Interval
from discreet.model.policy import ValueType
from discreet.model.query import Aggregate, Measure, group_count
from discreet.noise.quantile import NoisyTree, QuantileTree

_MOST_POINTS = 4096
"""A range with no more values than this gets a bin for each."""
_BINS = 1024
_MOST_TREES = 20_000
_SMALLEST_SHARE = Fraction(1, 100)
"""MIN and MAX are the quantiles at this share and at one minus it: the very ends belong to one person."""
_ENDS = {_SMALLEST_SHARE: "min", 1 - _SMALLEST_SHARE: "max"}


class QuantileAggregate(AggregateDefinition):
    """A histogram of weighted rows for each group; its interval comes from ranks."""

    aggregate = Aggregate.QUANTILE
    usages = (
        "median(x)",
        "quantile(x, 0.9)",
        "approx_quantile(x, 0.9)",
        "percentile_cont(0.9) WITHIN GROUP (ORDER BY x)",
        "percentile_disc(0.9) WITHIN GROUP (ORDER BY x)",
        "min(x)",
        "max(x)",
    )
    offered = ("median", "a quantile")
    nodes = (
        exp.Median,
        exp.Quantile,
        exp.ApproxQuantile,
        exp.PercentileCont,
        exp.PercentileDisc,
        exp.WithinGroup,
        exp.Min,
        exp.Max,
    )
    error_of = "rank"

    def read(self, node: exp.Expression, arguments: ArgumentReader) -> AskedMeasure:
        value, share = _value_and_share(node)
        argument = arguments.number(value, "a quantile")
        return AskedMeasure(aggregate=self.aggregate, argument=argument, share=share)

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return (_histogram(measure, bounds),)

    def error(self, vector: Part, noise: VectorNoise, confidence: Fraction, *, cells: int = 1) -> Interval:
        each = 1 - (1 - confidence) / cells  # a union bound: the cells share no noise
        rank = Fraction(known(QuantileTree, noise).rank_error(each)) * vector.scale
        return Interval(low=-rank, high=rank, confidence=confidence)

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        histogram, trees, share = _trees(noisy)
        positions = [tree.quantile(share) if histogram.points else tree.position(share) for tree in trees]
        values = [histogram.value_at(position) for position in positions]
        return clamped(np.array(values, dtype=np.float64), noisy.measure)

    def reach(self, noisy: NoisyMeasure, values: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        return _reach(noisy)

    def draw(self, noisy: NoisyMeasure, at: NDArray[np.int64], generator: np.random.Generator) -> Floats:
        """By a normal law on either side, as wide as the interval is there."""
        values = self.estimate(noisy)[at]
        low, high = (end[at] for end in _reach(noisy))
        deviation = NormalDist().inv_cdf((1 + float(noisy.confidence)) / 2)
        normal = generator.standard_normal(len(at))
        return values + np.where(normal < 0, values - low, high - values) * normal / deviation

    def notes(self, measure: Measure) -> list[str]:
        notes = clamping_notes(measure)
        if notes and measure.share in _ENDS:
            notes.append(f"{_ENDS[measure.share]} stands for the {float(measure.share):.0%} quantile.")
        return notes


# How it is asked


def _value_and_share(node: exp.Expression) -> tuple[exp.Expression, Fraction]:
    """What a quantile is of, and at which share."""
    match node:
        case exp.Median():
            return node.this, Fraction(1, 2)
        case exp.Min():
            return _only(node), _SMALLEST_SHARE
        case exp.Max():
            return _only(node), 1 - _SMALLEST_SHARE
        case exp.Quantile():
            return node.this, _share(node.args.get("quantile"))
        case exp.WithinGroup(this=exp.PercentileCont() | exp.PercentileDisc() as inner, expression=order):
            items = [] if order is None else order.expressions
            (item,) = items if len(items) == 1 else (None,)
            if item is not None and inner.args.get("expression") is None:
                share = _share(inner.this)
                return item.this, 1 - share if item.args.get("desc") else share
        case exp.PercentileCont() | exp.PercentileDisc() if node.args.get("expression") is not None:
            return node.this, _share(node.expression)
    raise QueryRefused(
        "A quantile needs a share and a column.",
        remedy="Write quantile(cost, 0.9), or percentile_cont(0.9) WITHIN GROUP (ORDER BY cost).",
    )


def _only(node: exp.Expression) -> exp.Expression:
    if node.args.get("expressions"):
        raise QueryRefused(
            f"{node.key.upper()} takes one thing.", remedy=f"Write {node.key}(cost); or least(a, b)."
        )
    inner: exp.Expression = node.this
    return inner


def _share(node: exp.Expression | None) -> Fraction:
    try:
        text = node.this if isinstance(node, exp.Literal) and not node.is_string else ""
        share = exact_fraction(Decimal(str(text)), "the share")
    except (InvalidOperation, InvalidInput):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise QueryRefused(
            "The share of a quantile is a number from 0 to 1.", remedy="Write quantile(cost, 0.9)."
        )
    return share


# How it is bounded


def _histogram(measure: Measure, bounds: ContributionBounds) -> Histogram:
    query = bounds.query
    if not query.private_keys and group_count(query) > _MOST_TREES:
        raise QueryRefused(
            f"Quantiles can be asked for {_MOST_TREES:,} groups at most.",
            remedy="Group by fewer things, or by coarser ones.",
        )
    argument, span = bounded_argument(measure)
    unit = argument.unit if isinstance(argument, Field) else None
    grid = Fraction(1) if argument.type is ValueType.INTEGER and unit is None else unit
    low, width, leaves, points = span.low, (span.high - span.low) / _BINS, _BINS, False
    if grid is not None:
        first, last = ceil(span.low / grid), floor(span.high / grid)
        if 0 < last - first < _MOST_POINTS:
            low, width, leaves, points = first * grid, grid, last - first + 1, True
    return Histogram(
        weight=bounds.row_weight(Norm.L1),
        value=argument,
        condition=measure.condition,
        low=low,
        width=width or Fraction(1),
        leaves=leaves,
        points=points,
        sets=len(query.sets),
    )


# How it is estimated


def _reach(noisy: NoisyMeasure) -> tuple[Floats, Floats]:
    histogram, trees, share = _trees(noisy)
    if histogram.points:
        intervals = [tree.interval(share, noisy.confidence) for tree in trees]
        ends = [(float(each.low), float(each.high)) for each in intervals]
    else:
        ends = [tree.position_interval(share, noisy.confidence) for tree in trees]
    found = [[histogram.value_at(low), histogram.value_at(high)] for low, high in ends]
    low, high = clamped(np.array(found, dtype=np.float64).reshape(-1, 2), noisy.measure).T
    return low, high


def _trees(noisy: NoisyMeasure) -> tuple[Histogram, list[NoisyTree], Fraction]:
    (vector,), (trees,) = noisy.vectors, noisy.trees
    return known(Histogram, vector), trees, known(Fraction, noisy.measure.share)
