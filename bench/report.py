"""A report of 20 overlapping tables, and the same 20 asked one by one for the same price together.

    .venv/bin/python bench/report.py              40 repeats
    .venv/bin/python bench/report.py 100

Tables as one would put on a page about the clinic of the demo: visits, patients and costs by ward, by
diagnosis, by age and by several of these, and in all. An error is the distance from plain SQL, so that it
holds what limits leave out. Numbers of a table are put together as their root mean square, relative to that
of the tables that were asked one by one.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
from timing import Figure, at_most, judge, show

import discreet
from discreet.answers.answer import Answer
from discreet.apps.demo.data import make_clinic
from discreet.arrays import Floats

REPEATS, EPSILON, MOST = 40, 1.0, 0.6
AGES = "floor(age / 20)"
BY = ["ward", "diagnosis", AGES, f"ward, {AGES}", f"diagnosis, {AGES}", "ward, diagnosis"]
WHAT = ["count(*)", "count(DISTINCT patient_id)", "avg(cost)"]
QUESTIONS = [
    *(f"SELECT {by}, {what} AS x FROM visits GROUP BY {by}" for by in BY for what in WHAT),
    "SELECT count(*) AS x FROM visits",
    "SELECT avg(cost) AS x FROM visits",
]


def figures(repeats: int = REPEATS) -> list[Figure]:
    """The error of a report, in parts of that of single questions."""
    warnings.simplefilter("ignore")
    together: list[list[float]] = []
    alone: list[list[float]] = []
    with tempfile.TemporaryDirectory() as name:
        clinic = make_clinic(Path(name) / "clinic")
        text = clinic.policy.read_text().replace("epsilon = 2.0", "epsilon = 900")
        for key in ("oncology", "epilepsy"):
            (line,) = (each for each in text.splitlines() if each.startswith("keys") and key in each)
            text = text.replace(line, f"{line}\ncomplete = true")
        text = text.replace("bounds = [18, 97]", "bounds = [18, 97]\ncomplete = true")
        clinic.policy.write_text(text.replace("delta = 0 }", "delta = 0 }\nleast_price = 1e-9"))
        exact = [plain(clinic.visits, sql) for sql in QUESTIONS]
        with discreet.open(clinic.policy, analyst="bench") as curator:
            for repeat in range(repeats):
                price = EPSILON * (
                    1 - repeat / 10_000
                )  # the same question at the same price is not drawn again
                report = curator.ask(QUESTIONS, epsilon=price)
                single = [curator.ask(sql, epsilon=price / len(QUESTIONS)) for sql in QUESTIONS]
                together.append([off(*each) for each in zip(report, exact, strict=True)])
                alone.append([off(*each) for each in zip(single, exact, strict=True)])
    errors = [np.sqrt(np.mean(np.square(each), axis=0)) for each in (together, alone)]
    ratios = errors[0] / errors[1]
    rows = [
        (sql.removeprefix("SELECT ").replace(" AS x", "")[:70], f"{one:.3g}", f"{other:.3g}", f"{ratio:.2f}")
        for sql, one, other, ratio in zip(QUESTIONS, *errors, ratios, strict=True)
    ]
    show(f"Errors at ε = {EPSILON:g}, {repeats} repeats", ("table", "report", "one by one", "ratio"), rows)
    overall = float(np.sqrt(np.mean(ratios**2)))
    return [at_most(f"report of {len(QUESTIONS)} tables: errors beside one by one", overall, MOST, "×")]


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
