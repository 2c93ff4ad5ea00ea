"""Synthetic tables of the Adult census, and of a chain: mean total variation over all small tables, and time.

Of the census, over all tables of three columns; of the chain, of two. The chain is made up: 32 columns of 11
values, 50,000 rows. Each column is the one before in 65 of 100 rows, and drawn anew in the others.

The synthetic table has as many rows as the data; δ = 10⁻⁹ throughout. Beside it stand the table whose
attributes are independent, and a fresh sample of the same size from the data itself, which has no privacy.

Then an update of ten million weights, and the seven columns, with numba (the extra `fast`) and without.

    .venv/bin/python bench/synth.py [--adult FILE]
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from time import process_time
from unittest.mock import patch

import adult
import numpy as np
from numpy.typing import NDArray
from timing import CONSOLE, Figure, at_most, best_of_rounds, for_information, judge, show

from discreet.model.conversion import largest_rho
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core import compiled_update as compiled
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.synthesis import synthesise
from discreet.synth.core.weight_array import scale, table

DELTA = Fraction(1, 10**9)
HISTOGRAM = Sensitivity.histogram(Neighbours.ADD_REMOVE)
ERRORS = {(7, "1"): 0.0205, (7, "0.1"): 0.080, (7, "10"): 0.0060, (14, "1"): 0.093, (14, "0.1"): 0.19}
SECONDS = {7: 5.0, 14: 180.0}
RUNS = {7: 3, 14: 1}
CHAIN_COLUMNS, CHAIN_VALUES, CHAIN_ROWS = 32, 11, 50_000
CHAIN_ERROR = 0.045

Columns = Sequence[NDArray[np.integer]]


def figures(file: str | None = None) -> list[Figure]:
    return [*_of_adult(file), *_of_chain(), *_of_updates()]


def _of_adult(file: str | None) -> list[Figure]:
    census = adult.adult(file)
    if census is None:
        CONSOLE.print(
            f"Synthetic tables: no data. pip cannot download {adult.PACKAGE}; name a file with --adult."
        )
        return [for_information("synthetic tables", "no data: see bench/adult.py")]
    narrow, sizes = adult.seven(census)
    wide = tuple(adult.COLUMNS.values())
    return [
        *_figures(list(narrow.T), Domain(sizes=sizes)),
        *_with_and_without(list(narrow.T), Domain(sizes=sizes)),
        *_figures(list(census.T), Domain(sizes=wide)),
    ]


def _figures(columns: Columns, domain: Domain) -> list[Figure]:
    width, people = len(columns), len(columns[0])
    chance = np.random.default_rng()
    judged = _Judge(columns, domain.marginals(3))
    mixed = judged.error([chance.permutation(column) for column in columns])
    again = chance.integers(0, people, people)
    floor = judged.error([column[again] for column in columns])
    found, rows = [], []
    for epsilon in [epsilon for wide, epsilon in ERRORS if wide == width]:
        rho = largest_rho(Fraction(epsilon), DELTA)
        runs = [_run(judged, domain, ConcentratedLoss(rho=rho, delta=DELTA)) for _ in range(RUNS[width])]
        errors, seconds = zip(*runs, strict=True)
        mean, limit = float(np.mean(errors)), ERRORS[width, epsilon]
        name = f"synth: error, {width} columns, ε = {epsilon}"
        found.append(at_most(name, mean, limit, ""))
        if epsilon == "1":
            found.append(at_most(f"synth: time, {width} columns, ε = 1", min(seconds), SECONDS[width], " s"))
        rows.append(
            (epsilon, f"{mean:.4f}", f"{mean / limit:.2f}", f"{mean / floor:.2f}", f"{mean / mixed:.2f}")
        )
    titles = ("ε", "error", "of its target", "of a fresh sample's", "of independence")
    show(f"Adult, {width} columns: error, and as a ratio", titles, rows)
    error, seconds_ = _run(judged, domain, PureLoss(epsilon=Fraction(1)))
    return [
        *found,
        for_information(f"… {width} columns, ε = 1 without a δ", f"{error:.4f} in {seconds_:.1f} s"),
        for_information(f"… {width} columns, a fresh sample of the data", f"{floor:.4f}"),
        for_information(f"… {width} columns, independent attributes", f"{mixed:.4f}"),
    ]


def _of_chain() -> list[Figure]:
    chance = np.random.default_rng(1)
    columns = [chance.integers(0, CHAIN_VALUES, CHAIN_ROWS)]
    for _ in range(CHAIN_COLUMNS - 1):
        anew = chance.integers(0, CHAIN_VALUES, CHAIN_ROWS)
        columns.append(np.where(chance.random(CHAIN_ROWS) < 0.65, columns[-1], anew))
    domain = Domain(sizes=(CHAIN_VALUES,) * CHAIN_COLUMNS)
    judged = _Judge(columns, domain.marginals(2))
    mixed = judged.error([chance.permutation(column) for column in columns])
    again = chance.integers(0, CHAIN_ROWS, CHAIN_ROWS)
    floor = judged.error([column[again] for column in columns])
    error, seconds = _run(judged, domain, ConcentratedLoss(rho=largest_rho(Fraction(1), DELTA), delta=DELTA))
    pure, _ = _run(judged, domain, PureLoss(epsilon=Fraction(1)))
    name = f"synth: error, a chain of {CHAIN_COLUMNS} columns, ε = 1"
    return [
        at_most(name, error, CHAIN_ERROR, ""),
        for_information("… in seconds of the processor", f"{seconds:.1f}"),
        for_information("… without a δ", f"{pure:.4f}"),
        for_information("… a fresh sample of the data", f"{floor:.4f}"),
        for_information("… independent attributes", f"{mixed:.4f}"),
    ]


def _with_and_without(columns: Columns, domain: Domain) -> list[Figure]:
    """The compiled pass is not used for so few records unless it must be; compiling is not in the time."""
    if _passes(domain) is None:
        return []
    judged = _Judge(columns, domain.marginals(3))
    loss = ConcentratedLoss(rho=largest_rho(Fraction(1), DELTA), delta=DELTA)
    seconds = {}
    for name, worth in (("numpy", domain.cells * 10**9), ("numba", 0)):
        with patch.object(compiled, "WORTH", worth):
            seconds[name] = min(_run(judged, domain, loss)[1] for _ in range(3))
    return [_ratio(f"… {len(columns)} columns, ε = 1, numpy : numba", seconds, 1, "s")]


def _of_updates() -> list[Figure]:
    """Products along one table of three attributes and sums along the next, over ten million records."""
    domain = Domain(sizes=(10,) * 7)
    start = process_time()
    passes = _passes(domain)
    took = process_time() - start
    if passes is None:
        return [for_information("synth: one update, 10⁷ records", "numba is not installed")]
    weights = np.full(domain.cells, 1 / domain.cells)
    updates = list(pairwise(domain.marginals(3)[::7]))

    def with_numpy() -> None:
        for marginal, following in updates:
            scale(weights, domain, marginal, np.ones(marginal.cells))
            table(weights, domain, following)

    def with_numba() -> None:
        for marginal, following in updates:
            passes.move(weights, marginal, np.ones(marginal.cells), following)

    best = best_of_rounds(5, {"numpy": with_numpy, "numba": with_numba})
    each = {name: seconds / len(updates) for name, seconds in best.items()}
    return [
        _ratio("synth: one update, 10⁷ records, numpy : numba", each, 1000, "ms"),
        for_information("… to compile, once in a process", f"{took:.1f} s" if took > 0.1 else "done before"),
    ]


def _passes(domain: Domain) -> compiled.Passes | None:
    return compiled.passes_for(domain, compiled.WORTH)


def _ratio(name: str, seconds: Mapping[str, float], units: float, unit: str) -> Figure:
    both = f"{seconds['numpy'] * units:.3g} : {seconds['numba'] * units:.3g} {unit}"
    return for_information(name, f"{seconds['numpy'] / seconds['numba']:.2g}× ({both})")


class _Judge:
    """The data, and how far a table is from it."""

    def __init__(self, columns: Columns, marginals: Sequence[Marginal]) -> None:
        self.columns, self._marginals = columns, marginals
        self._truth = [self._shares(columns, each) for each in marginals]

    def error(self, rows: Columns) -> float:
        pairs = zip(self._marginals, self._truth, strict=True)
        return float(np.mean([np.abs(self._shares(rows, each) - truth).sum() / 2 for each, truth in pairs]))

    def _shares(self, rows: Columns, marginal: Marginal) -> NDArray[np.float64]:
        return np.asarray(marginal.counts(rows) / len(rows[0]), dtype=np.float64)


def _run(judged: _Judge, domain: Domain, loss: PureLoss | ConcentratedLoss) -> tuple[float, float]:
    """The error of one synthetic table, and the processor's seconds."""
    start = process_time()
    synthetic = synthesise(
        domain,
        lambda marginals: [each.counts(judged.columns) for each in marginals],
        loss=loss,
        sensitivity=HISTOGRAM,
    )
    rows = synthetic.rows(len(judged.columns[0]))
    seconds = process_time() - start
    return judged.error(rows), seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", metavar="FILE", help="the data, where pip cannot fetch it")
    sys.exit(judge(figures(parser.parse_args().adult)))
