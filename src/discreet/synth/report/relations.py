"""How strongly two columns of a synthetic table are associated, beside what was measured of it.

Cramér's V, from 0 to 1: V² = Σ (p − e)²/e / (k − 1), where e is what independent columns would have, and k
the smaller number of values. Noise adds to it: so from each measured (p − e)² its variance is taken off, and
cells in which e is below the noise are left out, on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synth.core.domain import Marginal
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import shares
from discreet.synth.core.synthesis import Synthetic
from discreet.synth.core.weight_array import Halves

HIDDEN = 0.2
"""A measured V with a larger error than this says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRelation:
    """How strongly two columns are associated; measured is None where noise hides it."""

    columns: tuple[str, str]
    synthetic: float
    measured: float | None
    error: float | None


def relation(
    synthetic: Synthetic, pool: Sequence[Measurement], pair: tuple[int, int], names: tuple[str, str]
) -> ColumnRelation:
    best = best_table(pool, pair)
    marginal = Marginal.full(synthetic.domain, pair) if best is None else best.marginal
    fitted = shares(synthetic.records, marginal).reshape(marginal.shape)
    even = np.outer(fitted.sum(axis=1), fitted.sum(axis=0))
    noise = 0.0 if best is None else best.variance / synthetic.people**2
    clear = even > max(sqrt(noise), 1e-12)
    fewer = max(1, min(marginal.shape) - 1)
    drawn = float(_sum((fitted - even) ** 2, even, clear)) / fewer
    found = ColumnRelation(columns=names, synthetic=sqrt(min(drawn, 1.0)), measured=None, error=None)
    if best is None or not clear.any():
        return found
    off = best.counts.reshape(marginal.shape) / synthetic.people - even
    value, spread = (each / fewer for each in _measured_square(off, even, clear, noise))
    measured, error = sqrt(min(max(value, 0.0), 1.0)), _root_error(value, spread)
    return found if error > HIDDEN else replace(found, measured=measured, error=error)


def _measured_square(
    off: Floats, even: Floats, clear: NDArray[np.bool_], noise: float
) -> tuple[float, float]:
    """(k − 1)·V² without what noise adds, and its standard error: (d + e)² varies by 4d²σ² + 2σ⁴."""
    value = _sum(off**2 - noise, even, clear)
    spread = _sum(4 * np.maximum(off**2 - noise, 0) * noise + 2 * noise**2, even**2, clear)
    return value, sqrt(spread)


def _sum(above: Floats, below: Floats, clear: NDArray[np.bool_]) -> float:
    return float((above[clear] / below[clear]).sum())


def _root_error(value: float, error: float) -> float:
    """The error of √value, where value is off by `error`: how far the root may rise."""
    positive = max(value, 0.0)
    return sqrt(positive + error) - sqrt(positive)


def best_table(pool: Sequence[Measurement], attributes: tuple[int, ...]) -> Measurement | None:
    """What was measured of these, from the table with the fewest others, then the least noise."""
    able = [
        each
        for each in pool
        if set(attributes) <= set(each.marginal.attributes) and not isinstance(each.marginal, Halves)
    ]
    if not able:
        return None
    return projected(min(able, key=lambda each: (len(each.marginal.attributes), each.variance)), attributes)


def projected(measurement: Measurement, attributes: tuple[int, ...]) -> Measurement:
    """Summed over all other attributes, and the noise with it."""
    marginal = measurement.marginal
    axes = [marginal.attributes.index(each) for each in attributes]
    others = tuple(axis for axis in range(len(marginal.shape)) if axis not in axes)
    moved = measurement.counts.reshape(marginal.shape).transpose([*axes, *others])
    counts = moved.reshape(prod(moved.shape[: len(axes)]), -1).sum(axis=1)
    return Measurement(
        marginal=Marginal(attributes=attributes, codes=tuple(marginal.codes[axis] for axis in axes)),
        counts=counts,
        variance=measurement.variance * prod(moved.shape[len(axes) :]),
    )
