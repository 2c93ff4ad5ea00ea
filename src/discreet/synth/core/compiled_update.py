"""An update of weights in one pass over memory, compiled by numba where it is installed (the extra `fast`).

Every weight is multiplied by the factor of its cell in one table, and added to its cell in another, while it
is at hand: so it is read from memory once and written once. Records next to each other are taken as a
run. Within a run the factor is one number, or a list as long as the run, and so is what is added to: which of
both depends on the table alone. So all that is done with a record is one product and one sum.

Compiling takes 1.5 to 2 s, once in a process, so it is done only where enough updates follow (`WORTH`).
Nothing that is compiled is stored: what a process runs comes from no file that another could have written.
Without numba, or with less to do, `weight_array` does the same with numpy, which takes about twice as long on
10⁷ records. Both agree but for rounding.
"""

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import InvalidInput
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.records import added

WORTH = 2**31
"""Updates of one record that make up for compiling."""
_RUN = 32  # records, at least; few enough for tables of runs to stay small
_PART = 2**16  # records that are added up by themselves first, so that rounding does not pile up
_REMEMBERED = 2**25  # places of four bytes, for all tables together
_SIGNATURE = "void(f8[::1], f8[::1], i4[::1], b1, f8[::1], i4[::1], b1, i8, i8)"

Places = NDArray[np.int32]


def passes_for(domain: Domain, updates: int) -> "Passes | None":
    """The passes, if so many updates are worth compiling and numba is installed; else None."""
    if domain.cells * updates < WORTH:
        return None
    kernel = _compiled()
    return None if kernel is None else Passes(domain, kernel)


class Passes:
    """Updates of the weights on all records of one domain. It remembers how each table lies in memory."""

    def __init__(self, domain: Domain, kernel: Any) -> None:
        self._domain, self._kernel = domain, kernel
        self._first = _first_of_run(domain)
        self._run = prod(domain.sizes[self._first :])
        self._known: dict[Marginal, _TableLayout] = {}
        self._room = _REMEMBERED

    def move(self, weights: Floats, marginal: Marginal, factors: Floats, following: Marginal) -> Floats:
        """Multiplies every record by the factor of its cell, in place. Returns the following table."""
        along, onto = self._layout(marginal), self._layout(following)
        if len(weights) != self._domain.cells or len(factors) != marginal.cells:
            raise _foreign()
        sums = np.zeros(onto.entries)
        part = max(1, max(_PART, 8 * len(sums)) // self._run)
        spread = along.spread(factors)
        self._kernel(weights, spread, along.starts, along.wide, sums, onto.starts, onto.wide, self._run, part)
        return onto.joined(sums)

    def _layout(self, marginal: Marginal) -> "_TableLayout":
        known = self._known.get(marginal)
        if known is None:
            known = _layout(marginal, self._domain, self._first)
            if not known.fits(self._domain.cells // self._run, self._run):
                raise _foreign()
            self._remember(marginal, known)
        return known

    def _remember(self, marginal: Marginal, layout: "_TableLayout") -> None:
        """All are forgotten when they take too much memory: finding one again takes less than a pass."""
        self._room -= layout.size
        if self._room < 0:
            self._known.clear()
            self._room = _REMEMBERED - layout.size
        self._known[marginal] = layout


@dataclass(frozen=True, slots=True, eq=False)
class _TableLayout:
    """Where the runs of a domain are in a table: in one cell each, or each record in its own.

    In the latter case runs that lie alike share a row of entries, one for each of their records.
    """

    cells: int
    wide: bool
    starts: Places
    """For each run, its cell; or where its row begins."""
    rows: Places | None
    """For each entry of all rows, its cell. None if entries are the cells."""

    @property
    def entries(self) -> int:
        return self.cells if self.rows is None else len(self.rows)

    @property
    def size(self) -> int:
        return len(self.starts) + (0 if self.rows is None else len(self.rows))

    def fits(self, runs: int, run: int) -> bool:
        """Whether all places exist. Compiled code writes to them without checking."""
        last = self.entries - (run if self.wide else 1)
        starts = len(self.starts) == runs and self.starts.min() >= 0 and self.starts.max() <= last
        return bool(starts) and (self.rows is None or 0 <= self.rows.min() <= self.rows.max() < self.cells)

    def spread(self, factors: Floats) -> Floats:
        return np.ascontiguousarray(factors) if self.rows is None else factors[self.rows]

    def joined(self, sums: Floats) -> Floats:
        return sums if self.rows is None else added(sums, self.rows, self.cells)


def _layout(marginal: Marginal, domain: Domain, first: int) -> _TableLayout:
    """A record's cell is a sum over attributes, so those of its run and those within it add up."""
    steps: dict[int, Places] = {}
    step = marginal.cells
    for attribute, codes, size in zip(marginal.attributes, marginal.codes, marginal.shape, strict=True):
        step //= size
        steps[attribute] = (codes * step).astype(np.int32)
    runs = range(first)
    if not any(attribute >= first for attribute in steps):
        return _TableLayout(marginal.cells, False, _sums(domain, runs, steps), None)
    alike = [attribute for attribute in runs if attribute in steps]
    within = _sums(domain, range(first, len(domain.sizes)), steps)
    rows = np.add.outer(_sums(domain, alike, steps), within).ravel()
    begin: dict[int, Places] = {}
    step = len(rows)
    for attribute in alike:
        step //= domain.sizes[attribute]
        begin[attribute] = np.arange(domain.sizes[attribute], dtype=np.int32) * np.int32(step)
    in_order = len(rows) == marginal.cells and bool((np.diff(rows) == 1).all())
    return _TableLayout(marginal.cells, True, _sums(domain, runs, begin), None if in_order else rows)


def _sums(domain: Domain, attributes: "range | list[int]", steps: dict[int, Places]) -> Places:
    """For each combination of values of the attributes, the sum of their steps. Without steps it is 0."""
    found = np.zeros(1, dtype=np.int32)
    for attribute in attributes:
        size = domain.sizes[attribute]
        step = steps.get(attribute, np.zeros(size, dtype=np.int32))[:size]
        found = np.add.outer(found, step).ravel()
    return found


def _first_of_run(domain: Domain) -> int:
    """The attribute from which on all values of all attributes make a run."""
    first = len(domain.sizes)
    while first and prod(domain.sizes[first:]) < _RUN:
        first -= 1
    return first


def _foreign() -> InvalidInput:
    return InvalidInput(
        "A table does not belong to these records.", remedy="Give a table of the domain that is fitted."
    )


@cache
def _compiled() -> Any:
    """The compiled pass. None without numba, or if it fails: what was paid for must not be lost by that."""
    try:
        import numba

        if numba.config.DISABLE_JIT:
            return None
        return numba.njit(_SIGNATURE, fastmath={"reassoc"}, error_model="numpy", nogil=True)(_pass)
    except Exception:  # it is missing, or not made for this numpy or this processor
        return None


def _pass(
    weights: Floats,
    factors: Floats,
    along: Places,
    many_factors: bool,
    sums: Floats,
    onto: Places,
    many_sums: bool,
    run: int,
    part: int,
) -> None:
    """Every run in turn, `part` of them added up by themselves. Sums may be taken in any order."""
    for first in range(0, len(along), part):
        some = np.zeros_like(sums) if part < len(along) else sums
        for row in range(first, min(first + part, len(along))):
            here = weights[row * run : (row + 1) * run]
            if many_factors:
                each = factors[along[row] : along[row] + run]
                for i in range(run):
                    here[i] *= each[i]
            else:
                factor = factors[along[row]]
                for i in range(run):
                    here[i] *= factor
            if many_sums:
                held = some[onto[row] : onto[row] + run]
                for i in range(run):
                    held[i] += here[i]
            else:
                total = 0.0
                for i in range(run):
                    total += here[i]
                some[onto[row]] += total
        if part < len(along):
            sums += some
