"""Intervals of shares that hold for few reports too: the law of the supporting reports, inverted exactly.

Of n people m have an option. Each of these supports it with probability `inside`, each of the others with
probability `outside`, on their own (`mechanism`). So the number of supporting reports is

    Binomial(m, inside) + Binomial(n − m, outside)

whatever the others answered, and whichever the mechanism. It grows with m, in the usual order of laws. So all
m under which what was found, or less, and what was found, or more, each has a probability above half the miss
are an interval, and it holds the true m with the stated confidence (Clopper & Pearson 1934, through this
law). As laws of counts have steps, it holds a little more often.

Where every such law has a standard deviation of at least `_SMOOTH`, its quantiles are those of the normal law
with Cornish and Fisher's correction for skewness (1938), and one report further out: half of that is for the
steps, the rest far more than the terms that are left out. Tests compare the two.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, floor, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.local.mechanisms.mechanism import Categorical
from discreet.noise.binomial import mixture_law

_SMOOTH = 20.0


def share_intervals(
    mechanism: Categorical, support: NDArray[np.int64], reports: int, confidence: float
) -> tuple[Floats, Floats]:
    """The least and the largest share of each option, given how many of the reports support it."""
    inside, outside = float(mechanism.inside), float(mechanism.outside)
    if inside < outside:  # reports that do not support it are what speaks for it
        inside, outside, support = 1 - inside, 1 - outside, reports - support
    likely = likely_support(reports, inside, outside, (1 - confidence) / 2)
    found, place = np.unique(support, return_inverse=True)
    guesses = np.clip((found - reports * outside) / (inside - outside), 0, reports)
    spread = reports * mechanism.variance(0.0) + guesses * (mechanism.variance(1.0) - mechanism.variance(0.0))
    reaches = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(spread)
    ends = np.array([_people(likely, reports, *each) for each in zip(found, guesses, reaches, strict=True)])
    ends = ends / reports
    return ends[place, 0], ends[place, 1]


def likely_support(
    reports: int, inside: float, outside: float, miss: float
) -> Callable[[int], tuple[int, int]]:
    """For so many people with an option: the least and the largest number of reports that support it.

    Fewer have at most the probability `miss`, and so have more. Both ends grow with the number of people.
    """
    least = reports * min(inside * (1 - inside), outside * (1 - outside))
    law = _normal_ends if least >= _SMOOTH**2 else _exact_ends
    return lru_cache(maxsize=None)(lambda people: law(people, reports, inside, outside, miss))


def _exact_ends(people: int, reports: int, inside: float, outside: float, miss: float) -> tuple[int, int]:
    first, law = mixture_law(people, reports, inside, outside)
    below = np.searchsorted(np.cumsum(law), miss, side="right")
    above = np.searchsorted(np.cumsum(law[::-1]), miss, side="right")
    return first + int(below), first + len(law) - 1 - int(above)


def _normal_ends(people: int, reports: int, inside: float, outside: float, miss: float) -> tuple[int, int]:
    others = reports - people
    own, rest = people * inside * (1 - inside), others * outside * (1 - outside)
    variance = own + rest
    skewness = (own * (1 - 2 * inside) + rest * (1 - 2 * outside)) / variance**1.5
    deviations = -NormalDist().inv_cdf(miss)
    middle = people * inside + others * outside + sqrt(variance) * skewness * (deviations**2 - 1) / 6
    reach = sqrt(variance) * deviations + 1
    return max(0, ceil(middle - reach)), min(reports, floor(middle + reach))


def _people(
    likely: Callable[[int], tuple[int, int]], reports: int, support: int, guess: float, reach: float
) -> tuple[int, int]:
    """The fewest and the most people with an option under whom so many supporting reports are likely.

    If even nobody, or everybody, makes them unlikely, that is both ends. The search begins near the normal
    interval, where it ends soon.
    """
    fewest = _first(lambda people: likely(people)[1] >= support, reports, guess - reach)
    most = _first(lambda people: likely(people)[0] > support, reports + 1, guess + reach) - 1
    return fewest, max(0, most)


def _first(holds: Callable[[int], bool], end: int, guess: float) -> int:
    """The first of 0, 1, … from which on it holds, or the end: by steps that double, then by halves."""
    low, high, step = 0, end, 1
    place = int(min(max(guess, 0), end - 1))
    while low < high:
        if holds(place):
            high, ahead = place, place - step
        else:
            low, ahead = place + 1, place + step
        step *= 2
        place = ahead if low <= ahead < high else (low + high) // 2
    return low
