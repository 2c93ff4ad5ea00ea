"""median(x), quantile(x, 0.9), min(x), max(x): from one noisy tree over the bounds, whatever the share."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import (
    AggregateDefinition,
    ArgumentReader,
    AskedMeasure,
    NoisyMeasure,
    VectorNoise,
    bounds_of,
    clamped,
    clamping_notes,
    paced,
)
from discreet.aggregates.bounding import ContributionBounds, bounded_argument
from discreet.aggregates.left_out import Lost
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
        each = 1 - (1 - confidence) / cells  # a union bound over the cells
        rank = Fraction(known(QuantileTree, noise).rank_error(each)) * vector.scale
        return Interval(low=-rank, high=rank, confidence=confidence)

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        histogram, trees, share = _trees(noisy)
        positions = [
            tree.quantile(share) if histogram.points else tree.position(share)
            for tree in paced(trees, noisy.check_time)
        ]
        values = [histogram.value_at(position) for position in positions]
        return clamped(np.array(values, dtype=np.float64), noisy.measure)

    def reach(self, noisy: NoisyMeasure, values: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        return _reach(noisy)

    def span(self, measure: Measure) -> tuple[float, float]:
        return bounds_of(measure)

    def with_left_out(
        self,
        noisy: NoisyMeasure,
        reach: tuple[Floats, Floats],  # noqa: ARG002
        lost: Lost,
    ) -> tuple[Floats, Floats]:
        """Rows that are left out may all lie on one side: of N + D, the row of rank p·(N + D) has a rank from
        p·(N + D) − D to p·(N + D) among the N.
        """
        histogram, trees, share = _trees(noisy)
        rows = [max(float(tree.total) * float(histogram.scale), 1.0) for tree in trees]
        most = lost.of_counted(np.array(rows))
        above = [min(1.0, float(share) * (n + d) / n) for n, d in zip(rows, most, strict=True)]
        below = [max(0.0, over - d / n) for over, n, d in zip(above, rows, most, strict=True)]
        return _reach(noisy, below)[0], _reach(noisy, above)[1]

    def box(self, low: NoisyMeasure, high: NoisyMeasure) -> tuple[Floats, Floats]:  # noqa: ARG002
        """A tree is no sum: its interval comes from ranks."""
        return _reach(low)

    def notes(self, measure: Measure) -> list[str]:
        notes = clamping_notes(measure)
        if notes and measure.share in _ENDS:
            notes.append(f"{_ENDS[measure.share]} stands for the {float(measure.share):.0%} quantile.")
        return notes


# How it is asked


def _value_and_share(node: exp.Expression) -> tuple[exp.Expression, Fraction]:
    """The argument of a quantile, and its share."""
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


def _reach(noisy: NoisyMeasure, shares: Sequence[float] | None = None) -> tuple[Floats, Floats]:
    """From the outer edge of one bin to that of another: how rows lie inside of a bin is not known.

    `shares` are those of each group, if they differ.
    """
    histogram, trees, share = _trees(noisy)
    row = round(1 / histogram.scale)
    each = [share] * len(trees) if shares is None else [Fraction(one) for one in shares]
    in_time = paced(zip(each, trees, strict=True), noisy.check_time)
    bins = [tree.interval(p, noisy.confidence, between=row) for p, tree in in_time]
    after = 0 if histogram.points else 1
    found = [
        [histogram.value_at(float(each.low)), histogram.value_at(float(each.high) + after)] for each in bins
    ]
    low, high = clamped(np.array(found, dtype=np.float64).reshape(-1, 2), noisy.measure).T
    return low, high


def _trees(noisy: NoisyMeasure) -> tuple[Histogram, list[NoisyTree], Fraction]:
    (vector,), (trees,) = noisy.vectors, noisy.trees
    return known(Histogram, vector), trees, known(Fraction, noisy.measure.share)
