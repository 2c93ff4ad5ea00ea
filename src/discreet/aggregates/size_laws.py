"""Usual distributions of how much people have: how many are near a limit, and how many beyond it.

Sizes are shares of what counts fully. A law has a scale, which is a share of the limit too, and a number of
people; every order of magnitude is as likely as another.
"""

from functools import cache
from statistics import NormalDist

import numpy as np

from discreet.aggregates.vectors import SIZES, LeftOut
from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.arrays import Floats

_PEOPLE = 2.0 ** np.arange(2, 23, 0.5)
_SCALES = 2.0 ** np.arange(-6, 1.01, 0.5)
_LAWS: tuple[tuple[str, float, float], ...] = (
    ("exponential", 0.0, 0.25),
    ("pareto", 2.5, 0.15),
    ("pareto", 1.5, 0.1),
    ("lognormal", 0.3, 0.15),
    ("lognormal", 0.6, 0.15),
    ("lognormal", 1.0, 0.15),
    ("lognormal", 1.5, 0.05),
)
"""Each with its shape, and how likely it is."""
_SPREAD_OVER = (1.0, 2.0**0.5, 2.0)
"""Rows weighed in ℓ₂: how many times as many rows as their norm people have, by how they are spread."""
_NEAR = 3


def expected_people(part: LeftOut) -> tuple[Floats, Floats, Floats]:
    """By explanation: people in the last bins of sizes, people in the bins of what they lose, and the
    logarithm of how likely it is.
    """
    return _expected(part.weight, part.bins)


def ends_of_sizes(part: LeftOut) -> Floats:
    """The most that people of each bin of sizes have; in ℓ₂ the root of the sum of squares, for rows."""
    return _ends(part.weight)


def _ends(weight: Weight) -> Floats:
    by_squares = weight.norm is Norm.L2 and weight.unit is Unit.ROWS
    most = weight.limit if weight.norm is Norm.L1 else weight.square
    ends: Floats = np.floor(most * np.array(SIZES) ** (2 if by_squares else 1))
    return np.sqrt(ends) if by_squares else ends


@cache
def _expected(weight: Weight, bins: int) -> tuple[Floats, Floats, Floats]:
    losses = 2.0 ** np.arange(bins - 1)
    below, beyond, chances = [], [], []
    for times in _SPREAD_OVER if weight.norm is Norm.L2 and weight.unit is Unit.ROWS else (1.0,):
        sizes = np.concatenate([_relative(weight), _relative_of_losses(weight, losses / times)])
        for name, shape, likely in _LAWS:
            for scale in _SCALES:
                more = np.append(_beyond(name, shape, sizes / scale), 0.0)
                inside = more[:-1] - more[1:]
                below.append(inside[:_NEAR])
                beyond.append(inside[_NEAR:])
                chances.append(likely)
    numbers = _PEOPLE[:, None, None]
    prior = np.log(np.tile(np.array(chances) / sum(chances), len(_PEOPLE)) / len(_PEOPLE))
    return (
        (numbers * np.array(below)).reshape(-1, _NEAR),
        (numbers * np.array(beyond)).reshape(-1, bins),
        prior,
    )


def _relative(weight: Weight) -> Floats:
    """Where the last bins of sizes begin, and the bins beyond: as shares of what counts fully."""
    ends = _ends(weight)
    starts: Floats = ends[-_NEAR - 1 :] / ends[-1]
    return starts


def _relative_of_losses(weight: Weight, losses: Floats) -> Floats:
    """The size of people who lose so much."""
    if weight.norm is Norm.L2 and weight.unit is Unit.PEOPLE:
        roots = (1 + np.sqrt(1 + 4 * losses / weight.square)) / 2  # n − √(L²·n) is what they lose
        sizes: Floats = roots**2
        return sizes
    return 1 + losses / weight.limit


def _beyond(name: str, shape: float, sizes: Floats) -> Floats:
    """The share of people with more than that, in units of the scale."""
    if name == "exponential":
        return np.exp(-sizes)
    if name == "pareto":
        share: Floats = (1 + sizes / (shape - 1)) ** -shape
        return share
    normal = NormalDist()
    logs = np.log(np.maximum(sizes, 1e-9)) / shape
    return np.array([1 - normal.cdf(each) for each in logs])
