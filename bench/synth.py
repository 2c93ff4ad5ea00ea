"""Synthetic tables of the Adult census, and of a chain: mean total variation over all small tables, and time.

Of the census, over all tables of three columns; of the chain, of two. The chain is made up: 32 columns of 11
values, 50,000 rows. Each column is the one before in 65 of 100 rows, and drawn anew in the others.

The synthetic table has as many rows as the data; δ = 10⁻⁹ throughout. Beside it stand the table whose
attributes are independent, and a fresh sample of the same size from the data itself, which has no privacy.

    .venv/bin/python bench/synth.py [--adult FILE]
"""

import argparse
import sys
from collections.abc import Sequence
from fractions import Fraction
from time import process_time

import adult
import numpy as np
from numpy.typing import NDArray
from timing import CONSOLE, Figure, at_most, for_information, judge, show

from discreet.model.conversion import largest_rho
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.domain import Domain, Marginal
from discreet.synth.synthesis import synthesise

DELTA = Fraction(1, 10**9)
HISTOGRAM = Sensitivity.histogram(Neighbours.ADD_REMOVE)
ERRORS = {(7, "1"): 0.0205, (7, "0.1"): 0.080, (7, "10"): 0.0060, (14, "1"): 0.093, (14, "0.1"): 0.19}
SECONDS = {7: 5.0, 14: 180.0}
RUNS = {7: 3, 14: 1}
CHAIN_COLUMNS, CHAIN_VALUES, CHAIN_ROWS = 32, 11, 50_000
CHAIN_ERROR = 0.045

Columns = Sequence[NDArray[np.integer]]


def figures(file: str | None = None) -> list[Figure]:
    return [*_of_adult(file), *_of_chain()]


def _of_adult(file: str | None) -> list[Figure]:
    table = adult.adult(file)
    if table is None:
        CONSOLE.print(
            f"Synthetic tables: no data. pip cannot download {adult.PACKAGE}; name a file with --adult."
        )
        return [for_information("synthetic tables", "no data: see bench/adult.py")]
    narrow, sizes = adult.seven(table)
    wide = tuple(adult.COLUMNS.values())
    return [*_figures(list(narrow.T), Domain(sizes=sizes)), *_figures(list(table.T), Domain(sizes=wide))]


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
