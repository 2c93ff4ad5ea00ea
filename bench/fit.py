"""Models through the curator, beside what an analyst with the data would run on the same engine.

Linear regression: the database sums products, beside the same sums in plain SQL. Logistic regression: rows
are fetched for descent, beside fetching them and fitting scikit-learn's.
"""

import sys
import tempfile
from itertools import combinations_with_replacement, count
from pathlib import Path

import duckdb
import numpy as np
from sklearn.linear_model import LogisticRegression as Plain
from timing import Figure, best_of_rounds, for_information, judge

from discreet.curator.open_policy import open_curator
from discreet.learn import LinearRegression, LogisticRegression

ROWS, WIDTH, ROUNDS = 10**6, 12, 3
FEATURES = [f"x{i}" for i in range(WIDTH)]
POLICY = """
[dataset]
name = "bench"
neighbours = "add_remove"
budget = { epsilon = 100, delta = 1e-6 }
least_price = 1e-9

[tables.t]
source = "t.parquet"
person = "person"
max_rows = 4

[tables.t.columns.y]
bounds = [0, 200]
""" + "".join(f"\n[tables.t.columns.{name}]\nbounds = [0, 100]\n" for name in FEATURES)


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        return _figures(Path(folder))


def _figures(folder: Path) -> list[Figure]:
    columns = ", ".join(f"hash(range * {i + 3}) % 1000 / 10.0 AS {name}" for i, name in enumerate(FEATURES))
    rows = f"SELECT range % 300000 AS person, {columns} FROM range({ROWS})"
    duckdb.sql(
        f"COPY (SELECT *, x0 + x1 / 2 AS y, x0 + x2 > 100 AS high FROM ({rows})) TO '{folder}/t.parquet'"
    )
    (folder / "policy.toml").write_text(POLICY)
    curator = open_curator(folder / "policy.toml", analyst="bench")
    fresh = count()  # the same fit again would be free

    def fit(model: object, target: str) -> object:
        sql = f"SELECT {', '.join(FEATURES)}, {target} FROM t"
        return curator.fit(model, sql, epsilon=1 + next(fresh) / 1000)

    def plain_logistic() -> object:
        found = duckdb.sql(f"SELECT {', '.join(FEATURES)}, high FROM '{folder}/t.parquet'").fetchnumpy()
        x = np.column_stack([found[name] for name in FEATURES]) / 100
        return Plain().fit(x, found["high"])

    products = [f"sum({a} * {b})" for a, b in combinations_with_replacement([*FEATURES, "y"], 2)]
    sums = [f"sum({name})" for name in (*FEATURES, "y")]
    plain_sums = f"SELECT count(*), {', '.join([*sums, *products])} FROM '{folder}/t.parquet'"
    seconds = best_of_rounds(
        ROUNDS,
        {
            "linear": lambda: fit(LinearRegression(), "y"),
            "sums": lambda: duckdb.sql(plain_sums).fetchall(),
            "logistic": lambda: fit(LogisticRegression(), "high"),
            "plain": plain_logistic,
        },
    )
    curator.close()
    shape = f"10⁶ × {WIDTH}"
    return [
        for_information(
            f"fit: linear regression by the curator, {shape} / plain sums of products",
            f"{seconds['linear'] / seconds['sums']:.1f} times",
        ),
        for_information("… in processor time", f"{seconds['linear']:.2f} s"),
        for_information(
            f"fit: logistic regression by the curator, {shape} / scikit-learn's",
            f"{seconds['logistic'] / seconds['plain']:.1f} times",
        ),
        for_information("… in processor time", f"{seconds['logistic']:.2f} s"),
    ]


if __name__ == "__main__":
    sys.exit(judge(figures()))
