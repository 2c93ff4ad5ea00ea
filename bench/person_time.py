"""Does the time of an answer tell whether one heavy person is in the data?

A million rows of 100,000 people, and the same with one person more who has 100,000 rows. Each is served
by a service of its own. A client asks the same question of both, in turns and in random order, with other
constants each time so that nothing is stored yet; its kinds are a plain count, one with groups, an average, a
join on the person, and a self-join on rows that only that person has.

Reported are the median times at the client, and two tests of whether they are the same with and without the
person: Wilcoxon's signed-rank test over the pairs, as a z-score, and the two-sample test of Kolmogorov and
Smirnov, as its p-value. Without answer times that has no target: it is a known leak. With `answer_times` it
has one, for each kind and for all of them together: what is seen is chance.
"""

import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

import duckdb
import numpy as np
from scipy.stats import ks_2samp
from timing import CONSOLE, Figure, at_least, at_most, for_information, judge

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.apps.server.running_service import Client, add_account, running

QUESTIONS, ROWS, PEOPLE, HEAVY = 200, 1_000_000, 100_000, 100_000
HELD_BACK = [1.0]
MOST_Z, LEAST_P = 4.5, 1e-5
"""Chance alone exceeds either about once in 100,000 times, and one of the twelve once in 8,000."""
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
    """Seconds with and without the person, by kind of question, as a client sees them."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        services = []
        for name, heavy in (("with", HEAVY), ("without", 0)):
            folder = Path(place) / name
            folder.mkdir()
            write(folder, heavy, answer_times)
            token = add_account(folder / "clinic.toml", "bench")
            _, port = stack.enter_context(running(folder / "clinic.toml", options=["--no-access-log"]))
            services.append((port, token))
        for service in services:  # the first question of a service opens more than later ones
            _ask(*service, KINDS["groups"].format(-1))
        found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for number in range(questions):
            kind = list(KINDS)[number % len(KINDS)]
            sql, pair = KINDS[kind].format(number / 10), [0.0, 0.0]
            for which in random.sample(range(2), 2):
                pair[which] = _ask(*services[which], sql)
            found[kind].append((pair[0], pair[1]))
    return found


def _ask(port: int, token: str, sql: str) -> float:
    with Client(port, token) as client:
        start = perf_counter()
        told = client.ask(sql, epsilon=1)
        taken = perf_counter() - start
    if told.status != 200:
        raise RuntimeError(f"a question was not answered: {told.status} {told.body!r}")
    return taken


def tests_of(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Wilcoxon's z, and the p-value of Kolmogorov and Smirnov."""
    seconds = np.array(pairs)
    z = signed_rank(seconds[:, 0] - seconds[:, 1])
    return z, float(ks_2samp(seconds[:, 0], seconds[:, 1]).pvalue)


def described(kind: str, pairs: list[tuple[float, float]]) -> str:
    there, absent = 1000 * np.median(pairs, axis=0)
    low, high = 1000 * np.quantile(pairs, [0.25, 0.75])
    z, p = tests_of(pairs)
    return (
        f"{kind}: {there:.1f} ms with, {absent:.1f} ms without (half of all in {low:.1f} … {high:.1f} ms);"
        f" z = {z:.1f}, p = {p:.1g} over {len(pairs)} pairs"
    )


def figures() -> list[Figure]:
    lines = []
    for kind, pairs in times(QUESTIONS, []).items():
        lines.append(for_information(f"time of one heavy person: {kind}", described("", pairs)[2:]))
    held = times(QUESTIONS, HELD_BACK)
    held["all kinds"] = [pair for pairs in held.values() for pair in pairs]
    for kind, pairs in held.items():
        CONSOLE.print(f"at {HELD_BACK} seconds: {described(kind, pairs)}")
        z, p = tests_of(pairs)
        lines.append(at_most(f"time of one heavy person, answer times: {kind}", abs(z), MOST_Z, " z"))
        lines.append(at_least(f"… by Kolmogorov and Smirnov: {kind}", p, LEAST_P, " p"))
    CONSOLE.print(f"{QUESTIONS} questions over {ROWS:,} rows, with and without a person of {HEAVY:,} rows")
    return lines


if __name__ == "__main__":
    sys.exit(judge(figures()))
