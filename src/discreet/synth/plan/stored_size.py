"""How many bytes noisy tables take at most when they are stored: known before anything is paid.

Their cells follow from the domain, the workload and the noise, which are public. The size of the JSON
for a table and for each of its arrays (`synthetic`) is overestimated, and compression is not counted on.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb, prod

from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.pair_selection import LEAST_BINS, MOST_PAIR_CELLS
from discreet.synth.core.weight_array import Halves
from discreet.synth.core.what_to_measure import HIGHEST, MOST_CELLS
from discreet.synth.mwem.price import FIRST_ROUNDS
from discreet.synth.mwem.workload import Workload

_TABLE, _ARRAY = 128, 48
"""Bytes of JSON for a table, and for an array or an attribute."""
_CODE, _COUNT, _WEIGHT = 2, 8, 4


def of_measurements(marginals: Iterable[Marginal]) -> int:
    """The most bytes of tables that are known one by one."""
    found = (
        _of_question([len(each) for each in marginal.codes], len(marginal.mask))
        if isinstance(marginal, Halves)
        else _of_table([len(each) for each in marginal.codes], marginal.cells)
        for marginal in marginals
    )
    return _packed(sum(found))


def of_synthesis(domain: Domain) -> int:
    """The most bytes of all that can be measured for a synthetic table, whichever tables it is."""
    ones = sum(_of_table([size], size) for size in domain.sizes)
    listed = domain.without(domain.optional).cells <= MOST_CELLS
    return _packed(ones + max(_of_all_tables(domain) if listed else 0, _of_pairs(domain)))


def of_workload(workload: Workload) -> int:
    """The most bytes of the weights, and of as many of the largest candidates as there can be rounds."""
    left = FIRST_ROUNDS * len(workload.domain.sizes)
    most = _WEIGHT * workload.domain.cells + _ARRAY * len(workload.domain.sizes)
    candidates = [
        (
            (_of_table if family.whole else _of_question)(
                [len(each) for each in family.marginal.codes], family.marginal.cells
            ),
            family.candidates,
        )
        for family in workload.families
    ]
    for size, count in sorted(candidates, reverse=True):
        most += size * min(count, left)
        left -= min(count, left)
    return _packed(most)


def _of_all_tables(domain: Domain) -> int:
    chosen = (each for order in range(2, HIGHEST + 1) for each in combinations(domain.sizes, order))
    return sum(_of_table(sizes, prod(sizes)) for sizes in chosen)


def _of_pairs(domain: Domain) -> int:
    """The most bytes of pairs: they have at most `MOST_PAIR_CELLS` cells, however many people there are."""
    others, pairs = len(domain.sizes) - 1, comb(len(domain.sizes), 2)
    codes = _CODE * others * sum(domain.sizes)
    return codes + pairs * _of_table([0, 0], LEAST_BINS**2) + _COUNT * MOST_PAIR_CELLS


def _of_table(values: Sequence[int], cells: int) -> int:
    return _TABLE + sum(2 * _ARRAY + _CODE * each for each in values) + _ARRAY + _COUNT * cells


def _of_question(values: Sequence[int], cells: int) -> int:
    return _of_table(values, 2) + _ARRAY + cells // 8 + 1


def _packed(most: int) -> int:
    """Compression adds to bytes that it cannot shorten: one in 3,000, and a few."""
    return most + most // 1000 + 1024
