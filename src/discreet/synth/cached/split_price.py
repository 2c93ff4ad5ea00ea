"""How a price is best divided between tables of different resolution.

Questions have energy eᵦ in each band, and variance Σ eᵦ/precisionᵦ. The price is divided so that this is
least, for the mean energy of the questions at hand: coarse tables serve wide ranges, fine ones their ends.
That is an optimal design (A-optimality), found by multiplicative steps (Torsney 1983; that each lowers the
variance where precision is linear in the price, as for ρ: Yu, Annals of Statistics 2010). For ε precision
is quadratic: the same steps find a division that no small change improves, and the finest table alone is
taken if it is better still. All of it is public.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from discreet.arrays import Floats

_STEPS = 40
_LEAST_SHARE = 1 / 500


def divided(
    total: float,
    energy: Floats,
    known: Floats,
    gains: Floats,
    precision: Callable[[Floats], Floats],
) -> Floats:
    """The part of each table; 0 for most.

    `known` is the precision of each band so far, `gains` what tables add for each 1/variance of their counts,
    and `precision` the 1/variance of counts in tables that cost so much each.
    """
    wanted = energy > 0

    def cost(parts: Floats) -> float:
        bands = known + gains @ precision(parts)
        return float((energy[wanted] / bands[wanted]).sum()) if bands[wanted].all() else inf

    parts = np.full(gains.shape[1], total / gains.shape[1])
    for _ in range(_STEPS):
        bands = known + gains @ precision(parts)
        slope = (energy[wanted] / bands[wanted] ** 2) @ gains[wanted] * precision(parts)
        parts = _scaled(np.sqrt(parts * slope), total)
    parts = _scaled(np.where(parts < _LEAST_SHARE * total, 0.0, parts), total)
    finest = np.zeros(len(parts))
    finest[-1] = total
    return min(parts, finest, key=cost)


def _scaled(parts: Floats, total: float) -> Floats:
    scaled: Floats = parts * (total / parts.sum())
    return scaled
