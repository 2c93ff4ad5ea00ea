"""What is measured, and how finely. Declarations and earlier measurements decide, so this is free."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, prod

import numpy as np

from discreet.arrays import Floats
from discreet.synth.core.domain import Domain
from discreet.synth.core.measurement import Measurement

MOST_CELLS = 2**21
"""The most cells of a domain that is fitted on all of its records. A wider one is fitted on a sample."""
MOST_RECORDS, LEAST_RECORDS = 200_000, 50_000
"""The most and the least records of a sample."""
FIRST_ON_SAMPLE = Fraction(1, 5)
"""What tables of one attribute get of the loss at first, where records are a sample; more may follow."""
USUAL_FIRST = Fraction(3, 10)
"""About what those tables get in total. `explain` uses it before anything is measured."""
SCORES = Fraction(1, 10)
"""The share of the loss that finds the pairs which say most, where records are a sample."""
WORTH = 4.0
"""How many people a typical cell must hold, in σ, for tables to be worth their price."""
EMPTY = 5.0
"""An optional value with a count below so many σ is taken for empty. Noise alone is above that with
probability 3·10⁻⁷ if it is Gaussian, and 4·10⁻⁴ if it is Laplace: a column without missing values should show
none."""
HIGHEST = 3
"""How many attributes a table has at most."""


def first_share(domain: Domain) -> Fraction:
    """The share of the loss for tables of one attribute, by declarations alone: nothing is measured yet.

    Where all is measured at full resolution, every table gets the same noise.
    """
    if domain.without(domain.optional).cells > MOST_CELLS:
        return FIRST_ON_SAMPLE
    attributes = len(domain.sizes)
    return Fraction(attributes, sum(comb(attributes, order) for order in range(1, HIGHEST + 1)))


def divided(sizes: Sequence[int], *, pure: bool) -> list[Fraction]:
    """Shares of a loss for tables with so many cells, such that the noise of all cells together is least.

    The noise of a count is proportional to 1/√ρ or 1/ε. At a given sum of shares, Σ size·noise is least if
    they are proportional to the sizes to the power 2/3 (Zhang et al., PrivSyn, USENIX Security 2021) or 1/2,
    by Lagrange. They are rounded here, so that they add up to 1 exactly.
    """
    parts = [max(1, round(10 * weight(size, pure=pure))) for size in sizes]
    return [Fraction(each, sum(parts)) for each in parts]


def weight(size: float, *, pure: bool) -> float:
    """The share of a table with so many cells is proportional to this."""
    return float(size ** (1 / 2 if pure else 2 / 3))


def sample_size(tables: int) -> int:
    """How many records stand for a domain too wide to list: fewer, the more tables there are to fit."""
    return min(MOST_RECORDS, max(LEAST_RECORDS, 100 * MOST_RECORDS // max(1, tables)))


def empty(domain: Domain, ones: Sequence[Measurement]) -> list[bool]:
    """Which optional values nobody seems to have."""
    return [
        optional and float(each.counts[-1]) < EMPTY * each.variance**0.5
        for optional, each in zip(domain.optional, ones, strict=True)
    ]


def orders(domain: Domain, laws: Sequence[Floats], people: float, sigma: Callable[[int], float]) -> range:
    """How many attributes further tables have, where records are listed: 2 and 3, 2, or there are none.

    `sigma` is the noise of a count if the rest of the loss is shared by so many tables. A law has as many
    values as a uniform one that is as likely to give two people the same value (Simpson, Nature 1949); the
    typical cell of a table is that of a product of such laws. It must hold `WORTH` times the noise; and if
    all tables before get g times the noise for the sake of the new ones, g³ times. The cube is a rule of
    thumb: for census tables of 5 and 7 attributes, 500 to 50,000 people and both kinds of noise, it mostly
    takes the better side or one about as good.
    """
    attributes, found, tables = len(domain.sizes), 1, 0
    values = [1 / float(law @ law) for law in laws]
    for order in range(2, min(attributes, HIGHEST) + 1):
        more = tables + comb(attributes, order)
        cells = float(np.median([prod(each) for each in combinations(values, order)]))
        worse = sigma(more) / sigma(tables) if tables else 1.0
        if people < max(WORTH, worse**3) * cells * sigma(more):
            break
        found, tables = order, more
    return range(2, found + 1)


def usual_pairs(attributes: int) -> int:
    """About how many pairs of a wide table are chosen, for estimates that are needed before the choice."""
    return min(comb(attributes, 2), 4 * attributes)
