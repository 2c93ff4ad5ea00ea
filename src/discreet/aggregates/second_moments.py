"""corr(x, y), covar_pop(x, y), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x): of rows that have both.

With x and y measured from the middles of their bounds, n rows and the noisy sums Σx, Σy, Σx², Σy² and Σxy:

    covariance   Σxy/n − Σx/n · Σy/n
    correlation  the covariance over the root of both variances
    slope        the covariance over the variance of x
    intercept    the mean of y less the slope times the mean of x

They divide by n, not n − 1, as n is noisy anyway. A slope and a correlation in one question pay for their
sums once. regr_r2 is the square of the correlation.
"""

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import (
    AggregateDefinition,
    ArgumentReader,
    AskedMeasure,
    NoisyMeasure,
    bounds_of,
    share_left_out,
)
from discreet.aggregates.average import ratio
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.count import count_of_rows
from discreet.aggregates.left_out import Lost
from discreet.aggregates.shape import Shape
from discreet.aggregates.sum import sum_of_values
from discreet.aggregates.vectors import Part, WeightedSum, known
from discreet.arrays import Floats
from discreet.functions.registry import build_call
from discreet.model.expression import Expression, Literal
from discreet.model.policy import ValueType
from discreet.model.query import Aggregate, Measure

N, X, Y, XX, YY, XY = range(6)
"""The sums, in the order in which an aggregate lists those that it needs. XY comes last."""


class PairAggregate(AggregateDefinition):
    """Of two numbers. The measure's argument is x, and its second one y."""

    needs: ClassVar[tuple[int, ...]]
    adds_up = True
    shape = Shape.SMOOTH
    error_of = "total"

    def read(self, node: exp.Expression, arguments: ArgumentReader) -> AskedMeasure:
        first, second = (
            arguments.number(each, self.aggregate.value) for each in (node.this, node.expression)
        )
        if isinstance(node, exp.RegrSlope | exp.RegrIntercept | exp.RegrR2):  # they name y first
            first, second = second, first
        return AskedMeasure(
            aggregate=self.aggregate, argument=first, second=second, squared=isinstance(node, exp.RegrR2)
        )

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        x, y = self._pair(measure)
        of_x, of_y = (replace(measure, argument=each, second=None) for each in (x, y))
        first, second = (sum_of_values(each, bounds, centred=True, power=1) for each in (of_x, of_y))
        made: dict[int, WeightedSum] = {X: first, Y: second}
        made[N] = count_of_rows(replace(of_x, argument=_both(x, y)), bounds)
        if XX in self.needs:
            made[XX] = sum_of_values(of_x, bounds, centred=True, power=2)
        if YY in self.needs:
            made[YY] = sum_of_values(of_y, bounds, centred=True, power=2)
        product = _product((x, first.offset), (y, second.offset))
        made[XY] = sum_of_values(replace(of_x, argument=product), bounds, centred=False, power=1)
        return tuple(made[each] for each in self.needs)

    def _pair(self, measure: Measure) -> tuple[Expression, Expression]:
        """Each where the other is known, too."""
        if measure.argument is None or measure.second is None:
            raise TypeError("A pair is expected here.")
        x, y = measure.argument, measure.second
        return _where_known(x, y), _where_known(y, x)

    def _moments(self, noisy: NoisyMeasure) -> "_PairMoments":
        sums = dict(zip(self.needs, noisy.sums, strict=True))
        offsets = [float(known(WeightedSum, noisy.vectors[self.needs.index(each)]).offset) for each in (X, Y)]
        return _PairMoments(sums, offsets[0], offsets[1])

    def box(self, low: NoisyMeasure, high: NoisyMeasure) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Nothing better than what is certain."""
        least, most = self.span(low.measure)
        return np.full(len(low.sums[0]), least), np.full(len(low.sums[0]), most)

    def with_left_out(
        self, noisy: NoisyMeasure, reach: tuple[Floats, Floats], lost: Lost
    ) -> tuple[Floats, Floats]:
        """Rows that are left out may have any value of it that rows can have."""
        (low, high), (least, most) = reach, self._usual(noisy.measure)
        share = share_left_out(noisy.sums[0], lost)
        return (
            low - share * np.maximum(low - least, 0.0),
            high + share * np.maximum(most - high, 0.0),
        )

    def _usual(self, measure: Measure) -> tuple[float, float]:
        """Where it lies for rows of any kind, as far as it is bounded."""
        return self.span(measure)

    def notes(self, measure: Measure) -> list[str]:
        name = measure.aggregate.value
        spans = [bounds_of(replace(measure, argument=each)) for each in (measure.argument, measure.second)]
        told = " and ".join(f"{low:g} … {high:g}" for low, high in spans)
        return [f"{name}: of rows that have both values, which are taken within {told}."]


class _PairMoments:
    """Means, variances and the covariance of noisy sums, group by group."""

    def __init__(self, sums: dict[int, Floats], middle_x: float, middle_y: float) -> None:
        self._sums = sums
        self._x, self._y = ratio(sums[X], sums[N]), ratio(sums[Y], sums[N])
        self.mean_x, self.mean_y = self._x + middle_x, self._y + middle_y

    @property
    def covariance(self) -> Floats:
        found: Floats = ratio(self._sums[XY], self._sums[N]) - self._x * self._y
        return found

    @property
    def variance_x(self) -> Floats:
        return _above_zero(ratio(self._sums[XX], self._sums[N]) - self._x**2)

    @property
    def variance_y(self) -> Floats:
        return _above_zero(ratio(self._sums[YY], self._sums[N]) - self._y**2)


class CovarianceAggregate(PairAggregate):
    aggregate = Aggregate.COVARIANCE
    usages = ("covar_pop(x, y)", "covar_samp(x, y)")
    offered = ("covar_pop",)
    nodes = (exp.CovarPop, exp.CovarSamp)
    needs = (N, X, Y, XY)
    squares = (1 / 9, 1 / 3, 1 / 3, 1.0)
    """c = 1 for the products, 1/√3 for the sums, and 1/3 for the count."""

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        low, high = self.span(noisy.measure)
        return np.clip(self._moments(noisy).covariance, low, high)

    def span(self, measure: Measure) -> tuple[float, float]:
        """At most the product of half of both ranges, by Cauchy and Schwarz."""
        x, y = _widths(measure)
        return -x * y / 4, x * y / 4


class CorrelationAggregate(PairAggregate):
    aggregate = Aggregate.CORRELATION
    usages = ("corr(x, y)", "regr_r2(y, x)")
    offered = ("corr",)
    nodes = (exp.Corr, exp.RegrR2)
    needs = (N, X, Y, XX, YY, XY)
    squares = (1 / 9, 1 / 3, 1 / 3, 1 / 16, 1 / 16, 1.0)
    """As of a covariance; squares matter as far as there is a correlation: c = 1/4 if it is ½."""

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        moments = self._moments(noisy)
        with np.errstate(over="ignore", invalid="ignore"):
            found = moments.covariance / np.sqrt(moments.variance_x) / np.sqrt(moments.variance_y)
        return np.clip(found, -1.0, 1.0)

    def span(self, measure: Measure) -> tuple[float, float]:  # noqa: ARG002
        return -1.0, 1.0


class SlopeAggregate(PairAggregate):
    aggregate = Aggregate.SLOPE
    usages = ("regr_slope(y, x)",)
    offered = ("regr_slope",)
    nodes = (exp.RegrSlope,)
    needs = (N, X, Y, XX, XY)
    squares = (1 / 9, 1 / 3, 1 / 3, 1 / 4, 1.0)
    """As of a covariance; squares matter as far as there is a slope: c = ½ for half of the steepest."""

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        moments = self._moments(noisy)
        found: Floats = moments.covariance / moments.variance_x
        return found

    def _usual(self, measure: Measure) -> tuple[float, float]:
        """Across all of both bounds."""
        x, y = _widths(measure)
        return -y / x, y / x


class InterceptAggregate(PairAggregate):
    aggregate = Aggregate.INTERCEPT
    usages = ("regr_intercept(y, x)",)
    offered = ("regr_intercept",)
    nodes = (exp.RegrIntercept,)
    needs = (N, X, Y, XX, XY)
    squares = (1 / 3, 1.0, 1.0, 1 / 4, 1.0)
    """Where x = 0 is one end of its bounds, the slope is multiplied with half of them."""

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        moments = self._moments(noisy)
        found: Floats = moments.mean_y - moments.covariance / moments.variance_x * moments.mean_x
        return found

    def _usual(self, measure: Measure) -> tuple[float, float]:
        """The same slopes, from any point within the bounds."""
        x, y = _widths(measure)
        ends = [abs(end) for end in bounds_of(measure)]
        low, high = bounds_of(replace(measure, argument=measure.second))
        farthest = max(ends) * y / x
        return low - farthest, high + farthest


def _widths(measure: Measure) -> tuple[float, float]:
    x, y = (bounds_of(replace(measure, argument=each)) for each in (measure.argument, measure.second))
    return max(x[1] - x[0], 1e-300), y[1] - y[0]


def _above_zero(variance: Floats) -> Floats:
    """What is not above 0 divides nothing."""
    return np.where(variance > 0, variance, np.nan)


def _where_known(value: Expression, other: Expression) -> Expression:
    """The value, NULL where the other is."""
    return build_call("case", (build_call("is_not_null", (other,)), value))


def _both(x: Expression, y: Expression) -> Expression:
    """Whichever comes first: it is known where both are. So a pair is counted once, whatever its order."""
    return min(x, y, key=repr)


def _product(*factors: tuple[Expression, Fraction]) -> Expression:
    """The product of both, measured from their middles, in an order that does not depend on the question."""
    parts = [
        build_call("-", (value, _constant(value, middle))) if middle else value
        for value, middle in sorted(factors, key=repr)
    ]
    return build_call("*", tuple(parts))


def _constant(value: Expression, middle: Fraction) -> Literal:
    if value.type is ValueType.INTEGER and middle.denominator == 1:
        return Literal(value=int(middle), type=ValueType.INTEGER)
    return Literal(value=middle, type=ValueType.NUMBER)
