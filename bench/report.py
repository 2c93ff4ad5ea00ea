"""A report of 20 overlapping tables, and the same 20 asked one by one for the same price together.

    .venv/bin/python bench/report.py              40 repeats
    .venv/bin/python bench/report.py 100

Tables about the clinic of the demo, as one would put on a page: visits, patients, costs and shares by four
groupings. And 20 tables of visits alone, by one to three things, where all that a report can do is to
reconcile them. An error is the distance from plain SQL, so that it holds what limits leave out. The errors of
a table are put together as their root mean square, of which the median over all repeats counts: at such a low
price the guess at what limits leave out is far off once in some hundred tables. Those of all tables, each
relative to the table that was asked alone, are put together as a root mean square, too.
"""

import sys
import tempfile
import warnings
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
from timing import Figure, at_most, for_information, judge, show

import discreet
from discreet.answers.answer import Answer
from discreet.apps.demo.data import make_clinic
from discreet.arrays import Floats
from discreet.curator.curator import Curator

REPEATS, EPSILON, MOST = 40, 1.0, 0.6
AGES = "floor(age / 20)"
BY = ["ward", "diagnosis", AGES, f"ward, {AGES}"]
SHARE = "100 * avg(CASE WHEN age >= 65 THEN 1 ELSE 0 END)"
WHAT = ["count(*)", "count(DISTINCT patient_id)", "avg(cost)", "sum(cost)", SHARE]
KEYS = ["ward", "diagnosis", AGES, "month(day)", "cost > 300"]
MANY = [", ".join(keys) for size in (1, 2, 3) for keys in combinations(KEYS, size)][:20]
REPORTS = {
    "five measures by four groupings": [
        f"SELECT {by}, {what} AS x FROM visits GROUP BY {by}" for by in BY for what in WHAT
    ],
    "visits by one to three things": [f"SELECT {by}, count(*) AS x FROM visits GROUP BY {by}" for by in MANY],
}


def figures(repeats: int = REPEATS) -> list[Figure]:
    """The error of each report, in parts of that of single questions."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        clinic = make_clinic(Path(name) / "clinic")
        clinic.policy.write_text(without_gaps(clinic.policy.read_text()))
        with discreet.open(clinic.policy, analyst="bench") as curator:
            mixed, counts = (_ratio(title, curator, clinic.visits, repeats) for title in REPORTS)
    return [
        at_most("report of 20 overlapping tables: errors beside one by one", mixed, MOST, "×"),
        for_information("report of 20 tables of counts: errors beside one by one", f"{counts:.2f}×"),
    ]


def without_gaps(policy: str) -> str:
    """The policy, whose owner also says that every visit has all of these, with a budget for all repeats."""
    columns = "\n".join(
        f"{line}\ncomplete = true" if line.startswith(("keys", "bounds")) else line
        for line in policy.splitlines()
    )
    days = "[tables.visits.columns.day]\ncomplete = true\n"
    return columns.replace("epsilon = 2.0, delta = 0 }", "epsilon = 900, delta = 0 }\nleast_price = 1e-9") + (
        f"\n{days}"
    )


def _ratio(title: str, curator: Curator, visits: Path, repeats: int) -> float:
    """Of all tables together; it is shown for each."""
    questions, together, alone = REPORTS[title], [], []
    exact = [plain(visits, sql) for sql in questions]
    for repeat in range(repeats):
        price = EPSILON * (1 + repeat / 10_000)  # what was paid before, or more, would be answered again
        report = curator.ask(questions, epsilon=price)
        single = [curator.ask(sql, epsilon=price / len(questions)) for sql in questions]
        together.append([off(*each) for each in zip(report, exact, strict=True)])
        alone.append([off(*each) for each in zip(single, exact, strict=True)])
    errors = [np.median(each, axis=0) for each in (together, alone)]
    ratios = errors[0] / errors[1]
    rows = [
        (sql.removeprefix("SELECT ").partition(" AS x")[0], f"{one:.3g}", f"{other:.3g}", f"{ratio:.2f}")
        for sql, one, other, ratio in zip(questions, *errors, ratios, strict=True)
    ]
    show(f"{title}, ε = {EPSILON:g}, {repeats} repeats", ("table", "report", "one by one", "ratio"), rows)
    return float(np.sqrt(np.mean(np.square(ratios))))


def plain(visits: Path, sql: str) -> dict[tuple[object, ...], float]:
    """What plain SQL says, by the keys."""
    found = duckdb.sql(sql.replace("FROM visits", f"FROM '{visits}'")).fetchall()
    return {tuple(keys): float(value) for *keys, value in found}


def off(answer: Answer, exact: dict[tuple[object, ...], float]) -> float:
    """The root mean square of the errors of a table."""
    told = answer.released
    names = [name for name in told.columns if name != "x"]
    keys = zip(*(told.values[name].tolist() for name in names), strict=True) if names else [()]
    truth = np.array([exact.get(key, 0.0) for key in keys])
    errors: Floats = np.asarray(told.values["x"], dtype=float) - truth
    return float(np.sqrt(np.nanmean(np.square(errors))))


if __name__ == "__main__":
    sys.exit(judge(figures(*map(int, sys.argv[1:2]))))
