"""How often the printed 95 % intervals hold the plain SQL answer, with a profile and without one.

    .venv/bin/python bench/truth.py            40 repeats of each question
    .venv/bin/python bench/truth.py 200

Four tables in which people have several rows: a clinic (made up, as in the demo), the RAND health insurance
experiment (`statsmodels`), planes with very different numbers of flights, and orders of customers (both are
made up). Every question is asked again and again at ε = 1. A miss is marked if the note on the answer says
that people could hide, or how much is left out.
"""

import sys
import tempfile
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_least, show

import discreet
from discreet.curator import Curator

REPEATS = 40
EPSILON, PROFILE = 1.0, 0.1
POLICY = """
[dataset]
name = "truth"
neighbours = "add_remove"
budget = {{ epsilon = 900, delta = {delta} }}
least_price = 1e-9

[tables.t]
source = "t.parquet"
person = "person"
max_rows = {rows}
max_groups = {groups}
[tables.t.columns.person]
type = "integer"
[tables.t.columns.k]
keys = {keys}
[tables.t.columns.x]
bounds = [{low}, {high}]
"""
QUESTIONS = {
    "count(*)": "SELECT count(*) AS v FROM t",
    "sum": "SELECT sum(x) AS v FROM t",
    "avg": "SELECT avg(x) AS v FROM t",
    "median": "SELECT median(x) AS v FROM t",
    "people": "SELECT count(DISTINCT person) AS v FROM t",
    "count by k": "SELECT k, count(*) AS v FROM t GROUP BY k",
    "sum by k": "SELECT k, sum(x) AS v FROM t GROUP BY k",
    "avg by k": "SELECT k, avg(x) AS v FROM t GROUP BY k",
    "people by k": "SELECT k, count(DISTINCT person) AS v FROM t GROUP BY k",
    "share by k": "SELECT k, 100.0 * count(*) FILTER (WHERE x > {middle}) / count(*) AS v FROM t GROUP BY k",
    "where": "SELECT count(*) AS v FROM t WHERE x > {middle}",
}


@dataclass(frozen=True)
class Case:
    """A table, and what its owner might declare of it."""

    name: str
    sql: str
    rows: int
    groups: int
    bounds: tuple[float, float]


@dataclass(frozen=True)
class Held:
    """How often the intervals of a case hold, and how wide they are beside those of noise alone."""

    intervals: int
    held: int
    marked: int
    width: float
    noise_alone: int


def cases() -> list[Case]:
    """Limits are what an owner who knows the subject might write."""
    clinic = (
        "SELECT person, ['a', 'b', 'c', 'd', 'e', 'f'][1 + (hash(person, i) % 6)::INT] AS k,"
        " exp(5 + 0.6 * (hash(i, person) % 1000 / 500.0 - 1)) AS x FROM"
        " (SELECT range AS person, unnest(range(1 + (hash(range) % 12)::INT)) AS i FROM range(20000))"
    )
    planes = (
        "SELECT person, 'c' || (hash(person) % 8)::VARCHAR AS k, (hash(i, person) % 3000)::DOUBLE AS x FROM"
        " (SELECT range AS person, unnest(range(1 + floor(exp(3.5 + 1.2 * sqrt(-2 * ln("
        "(1 + hash(range) % 9999) / 10000.0)) * cos(6.283 * (hash(range + 7) % 9999) / 10000.0)))::INT))"
        " AS i FROM range(4000))"
    )
    orders = (
        "SELECT person, 's' || (hash(i, person) % 5)::VARCHAR AS k, 1e3 * (hash(person, i) % 400) AS x FROM"
        " (SELECT range AS person, unnest(range(1 + (hash(range) % 30)::INT)) AS i FROM range(15000))"
    )
    found = [
        Case("clinic", clinic, 12, 3, (0, 500)),
        Case("planes", planes, 400, 4, (0, 3000)),
        Case("orders", orders, 40, 5, (0, 400000)),
    ]
    spec = find_spec("statsmodels")
    if spec is not None and spec.origin is not None:
        records = Path(spec.origin).parent / "datasets/randhie/src/randhie.csv"
        rand = (
            "SELECT zper::BIGINT AS person, CASE WHEN idp = 1 THEN 'deductible' ELSE coins::VARCHAR END AS k,"
            f" mdvis::DOUBLE AS x FROM '{records}'"
        )
        found.insert(1, Case("RAND", rand, 5, 3, (0, 30)))
    return found


def write_case(case: Case, folder: Path, delta: float) -> dict[str, dict[object, float]]:
    """Data and policy; the plain answers by question and key."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS {case.sql}")
    connection.execute(f"COPY t TO '{folder}/t.parquet'")
    keys = [key for (key,) in connection.execute("SELECT DISTINCT k FROM t ORDER BY k").fetchall()]
    text = POLICY.format(
        delta=delta, rows=case.rows, groups=case.groups, keys=keys, low=case.bounds[0], high=case.bounds[1]
    )
    (folder / "p.toml").write_text(text)
    plain = {}
    for name, sql in QUESTIONS.items():
        rows = connection.execute(_asked(sql, case)).fetchall()
        plain[name] = {row[0] if len(row) > 1 else None: float(row[-1]) for row in rows}
    return plain


def _asked(sql: str, case: Case) -> str:
    return sql.format(middle=(case.bounds[0] + case.bounds[1]) / 4)


def measure(case: Case, delta: float, *, profiled: bool, repeats: int) -> dict[str, Held]:
    """All questions, asked many times."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = write_case(case, folder, delta)
        for title, sql in QUESTIONS.items():
            for old in folder.glob("*.ledger*"):  # each question has a budget, and a profile, of its own
                if old.is_file():
                    old.unlink()
            with discreet.open(folder / "p.toml", analyst="bench") as curator:
                if profiled:
                    curator.profile("t", epsilon=PROFILE)
                found[title] = _measured(curator, _asked(sql, case), plain[title], repeats)
    return found


def _measured(curator: Curator, sql: str, plain: dict[object, float], repeats: int) -> Held:
    held = marked = alone = total = 0
    widths = []
    for i in range(repeats):
        answer = curator.ask(sql, epsilon=EPSILON + i * 1e-6)
        low, high = answer.interval("v")
        noise_low, noise_high = answer.noise_interval("v")
        keys = answer["k"].tolist() if "k" in answer.columns else [None]
        truth = np.array([plain.get(key, 0.0) for key in keys])
        holds = (low <= truth) & (truth <= high)
        says = any("could have far more" in note or "do not count" in note for note in answer.released.notes)
        total += len(keys)
        held += int(holds.sum())
        marked += int((~holds).sum()) if says else 0
        alone += int(((noise_low <= truth) & (truth <= noise_high)).sum())
        widths.append(float(np.median((high - low) / np.maximum(noise_high - noise_low, 1e-9))))
    return Held(intervals=total, held=held, marked=marked, width=float(np.median(widths)), noise_alone=alone)


def figures(repeats: int = REPEATS) -> list[Figure]:
    """One for each table and currency, with and without a profile."""
    warnings.simplefilter("ignore")
    found = []
    for case in cases():
        for delta in (0, 1e-6):
            for profiled in (False, True):
                held = measure(case, delta, profiled=profiled, repeats=repeats)
                found.append(_figure(case, delta, profiled, held))
    return found


def _figure(case: Case, delta: float, profiled: bool, held: dict[str, Held]) -> Figure:
    title = f"truth: {case.name}, {'ρ' if delta else 'ε'}, {'with a profile' if profiled else 'no profile'}"
    rows = [
        (
            name,
            f"{each.noise_alone / each.intervals:.1%}",
            f"{each.held / each.intervals:.1%}",
            f"{each.marked / each.intervals:.1%}",
            f"{each.width:.2f}×",
        )
        for name, each in held.items()
    ]
    show(title, ("question", "noise alone", "holds", "marked misses", "width"), rows)
    total = sum(each.intervals for each in held.values())
    return at_least(title, 100 * sum(each.held for each in held.values()) / total, 93, " %")


if __name__ == "__main__":
    for figure in figures(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS):
        CONSOLE.print(figure)
