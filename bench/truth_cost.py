"""What a profile and the estimate of what is left out cost in time.

    .venv/bin/python bench/truth_cost.py [rows]

Processor seconds on DuckDB, best of several rounds in which all take turns: each question with
`left_out_share = 0` and with the default, and a profile beside the question for people by group.
"""

import sys
import tempfile
import warnings
from pathlib import Path
from time import process_time

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_most, show

import discreet

ROWS, ROUNDS = 4_000_000, 5
POLICY = """
[dataset]
name = "cost"
neighbours = "add_remove"
budget = {{ epsilon = 900, delta = {delta} }}
least_price = 1e-9
left_out_share = {share}

[tables.t]
source = "t.parquet"
person = "person"
max_rows = 12
max_groups = 5
columns.k = {{ bounds = [0, 99] }}
columns.x = {{ bounds = [0, 980] }}
"""
QUESTIONS = {
    "count": "SELECT count(*) AS v FROM t",
    "sum": "SELECT sum(x) AS v FROM t",
    "count by k": "SELECT k, count(*) AS v FROM t GROUP BY k",
    "sum by k": "SELECT k, sum(x) AS v FROM t GROUP BY k",
    "people by k": "SELECT k, count(DISTINCT person) AS v FROM t GROUP BY k",
    "median": "SELECT median(x) AS v FROM t",
}


def figures(rows: int = ROWS) -> list[Figure]:
    """Ratios of processor time, by currency."""
    warnings.simplefilter("ignore")
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        duckdb.execute(
            f"COPY (SELECT (hash(range) % ({rows} // 10))::BIGINT AS person,"
            f" (hash(range + 1) % 100)::INT AS k, (hash(range + 2) % 1000)::DOUBLE AS x"
            f" FROM range({rows})) TO '{folder}/t.parquet'"
        )
        for delta in (0, 1e-6):
            found += _of_currency(folder, delta, "ρ" if delta else "ε")
    return found


def _of_currency(folder: Path, delta: float, unit: str) -> list[Figure]:
    best: dict[tuple[str, float], float] = {}
    price = 1.0
    for share in (0, 0.1) * ROUNDS:
        for old in folder.glob("*ledger*"):
            if old.is_file():
                old.unlink()
        (folder / "p.toml").write_text(POLICY.format(delta=delta, share=share))
        with discreet.open(folder / "p.toml", analyst="bench") as curator:
            calls = {
                title: lambda sql=sql: curator.ask(sql, epsilon=price) for title, sql in QUESTIONS.items()
            }
            calls["profile"] = lambda: curator.profile("t", epsilon=0.1)
            for title, call in calls.items():
                start = process_time()
                call()
                taken = process_time() - start
                best[title, share] = min(best.get((title, share), np.inf), taken)
    ratios = {title: best[title, 0.1] / best[title, 0] for title in QUESTIONS}
    rows = [(title, f"{best[title, 0]:.3f} s", f"{ratio:.2f}×") for title, ratio in ratios.items()]
    show(f"The estimate of what is left out, {unit}", ("question", "without", "with"), rows)
    profile = min(best["profile", 0], best["profile", 0.1]) / best["people by k", 0.1]
    return [
        at_most(f"left out: time of a question, {unit} (worst)", max(ratios.values()), 1.15, "×"),
        at_most(f"profile: time beside people by group, {unit}", profile, 2, "×"),
    ]


if __name__ == "__main__":
    for figure in figures(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS):
        CONSOLE.print(figure)
