"""Does the time of an answer tell whether one heavy person is in the data?

A million rows of 100,000 people, and the same with one person more who has 100,000 rows. The same question is
asked of both, in turns and in random order, with other constants each time so that nothing is stored yet; its
kinds are a plain count, one with groups, an average, a join on the person, and a self-join on rows that only
that person has. Reported are the median times, how far they differ, and the z-score of Wilcoxon's signed-rank
test over the pairs: far beyond 3, 200 timed questions tell. That has no target: it is a known leak. The same
with `answer_times` has one: the z-score is that of chance.
"""

import random
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_most, for_information, judge

import discreet

QUESTIONS, ROWS, PEOPLE, HEAVY = 200, 1_000_000, 100_000, 100_000
HELD_BACK, QUESTIONS_HELD_BACK = [1.0], 50
MOST_Z = 4.0
"""Chance alone exceeds it once in 15,000 times, for each kind of question."""
POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 1000, delta = 0 }
answer_times = ANSWER_TIMES

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 10

[tables.visits.columns.cost]
bounds = [0, 1000]

[tables.visits.columns.ward]
keys = ["w0", "w1", "w2", "w3", "w4"]
"""
RARE = "diagnosis = 'rare'"
KINDS = {
    "count": "SELECT count(*) FROM visits WHERE cost > {}",
    "groups": "SELECT ward, count(*) FROM visits WHERE cost > {} GROUP BY ward",
    "average": "SELECT avg(cost) FROM visits WHERE cost > {}",
    "join": "SELECT count(*) FROM (SELECT patient, cost FROM visits WHERE cost > 800 + {}) a"
    " JOIN (SELECT patient, cost FROM visits WHERE cost < 200) b USING (patient)",
    "self-join": f"SELECT count(*) FROM (SELECT patient, cost FROM visits WHERE {RARE}) a"
    f" JOIN (SELECT patient, cost FROM visits WHERE {RARE}) b USING (patient) WHERE a.cost > b.cost + {{}}",
}


def write(folder: Path, heavy: int, answer_times: list[float]) -> None:
    """The same rows, and those of one person more."""
    (folder / "clinic.toml").write_text(POLICY.replace("ANSWER_TIMES", str(answer_times)))
    columns = "(range % 1000)::DOUBLE AS cost, 'w' || range % 5 AS ward"
    person = f"(hash(range) % {PEOPLE})::BIGINT"
    usual = f"SELECT {person} AS patient, {columns}, 'flu' AS diagnosis FROM range({ROWS})"
    rare = f"SELECT {PEOPLE} AS patient, {columns}, 'rare' AS diagnosis FROM range({heavy})"
    duckdb.sql(f"COPY ({usual} UNION ALL {rare}) TO '{folder / 'visits.parquet'}'")


def signed_rank(differences: np.ndarray) -> float:
    """Wilcoxon's z: a standard normal, if both take the same time."""
    order = np.argsort(np.argsort(np.abs(differences))) + 1
    n = len(differences)
    total = float(np.sum(np.sign(differences) * order))
    return total / (n * (n + 1) * (2 * n + 1) / 6) ** 0.5


def times(questions: int, answer_times: list[float]) -> dict[str, list[tuple[float, float]]]:
    """Seconds with and without the person, by kind of question."""
    with tempfile.TemporaryDirectory() as place:
        curators = []
        for name, heavy in (("with", HEAVY), ("without", 0)):
            folder = Path(place) / name
            folder.mkdir()
            write(folder, heavy, answer_times)
            curators.append(discreet.open(folder / "clinic.toml", analyst="bench"))
        found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for number in range(questions):
            kind = list(KINDS)[number % len(KINDS)]
            sql, pair = KINDS[kind].format(number / 10), [0.0, 0.0]
            for which in random.sample(range(2), 2):
                start = perf_counter()
                curators[which].ask(sql, epsilon=1)
                pair[which] = perf_counter() - start
            found[kind].append((pair[0], pair[1]))
        for curator in curators:
            curator.close()
    return found


def _z(pairs: list[tuple[float, float]]) -> float:
    seconds = np.array(pairs)
    return signed_rank(seconds[:, 0] - seconds[:, 1])


def figures() -> list[Figure]:
    lines = []
    for kind, pairs in times(QUESTIONS, []).items():
        there, absent = np.median(pairs, axis=0)
        told = f"{there * 1000:.0f} ms with, {absent * 1000:.0f} ms without, z = {_z(pairs):.1f}"
        lines.append(for_information(f"time of one heavy person: {kind}", told))
    for kind, pairs in times(QUESTIONS_HELD_BACK, HELD_BACK).items():
        there, absent = np.median(pairs, axis=0)
        CONSOLE.print(f"{kind}: {there * 1000:.1f} ms with, {absent * 1000:.1f} ms without")
        lines.append(at_most(f"time of one heavy person, answer times: {kind}", abs(_z(pairs)), MOST_Z, " z"))
    CONSOLE.print(f"{QUESTIONS} questions over {ROWS:,} rows, with and without a person of {HEAVY:,} rows")
    return lines


if __name__ == "__main__":
    sys.exit(judge(figures()))
