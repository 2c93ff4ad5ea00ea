"""TPC-H at scale factor 1: what it takes to ask about people over lineitem → orders → customer.

    .venv/bin/python bench/through_keys.py

Each question is asked with `curator.ask`: planned, charged, computed, drawn, answered. Beside it stands
count(DISTINCT customer) of the same join in plain DuckDB, over the same files, in processor time.
"""

import sys
import tempfile
from pathlib import Path

import duckdb
from timing import CONSOLE, Figure, at_most, best_of_rounds

sys.path.insert(0, str(Path(__file__).parent.parent))
import discreet
from discreet.curator.curator import Curator
from tests.questions.tables import make_tpch

SCALE, ROUNDS, LIMIT = "1", 3, 1.5
POLICY = Path(__file__).parent.parent / "tests/questions/policies/tpch.toml"
JOIN = "customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON o_orderkey = l_orderkey"
QUESTIONS = {
    "people by segment": (
        f"SELECT c_mktsegment, count(DISTINCT c_custkey) FROM {JOIN} GROUP BY c_mktsegment",
        f"SELECT c_mktsegment, count(DISTINCT c_custkey) FROM {JOIN} GROUP BY c_mktsegment",
    ),
    "lines by segment": (
        f"SELECT c_mktsegment, count(*) FROM {JOIN} GROUP BY c_mktsegment",
        f"SELECT c_mktsegment, count(DISTINCT c_custkey) FROM {JOIN} GROUP BY c_mktsegment",
    ),
    "quantity by ship mode": (
        f"SELECT l_shipmode, sum(l_quantity) FROM {JOIN} GROUP BY l_shipmode",
        f"SELECT l_shipmode, count(DISTINCT c_custkey) FROM {JOIN} GROUP BY l_shipmode",
    ),
    "people with returns": (
        "SELECT count(DISTINCT c_custkey) FROM lineitem WHERE l_returnflag = 'R'",
        "SELECT count(DISTINCT o_custkey) FROM lineitem JOIN orders ON o_orderkey = l_orderkey"
        " JOIN customer ON c_custkey = o_custkey WHERE l_returnflag = 'R'",
    ),
}


def figures() -> list[Figure]:
    """The ratio of each question."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with duckdb.connect() as made:
            make_tpch(made, folder, SCALE)
            for (table,) in made.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                made.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
        (folder / "discreet.toml").write_text(POLICY.read_text())
        with discreet.open(folder / "discreet.toml", analyst="bench") as curator, duckdb.connect() as plain:
            for file in folder.glob("*.parquet"):
                plain.read_parquet(str(file)).create_view(file.stem)
            return [_figure(title, curator, plain) for title in QUESTIONS]


def _figure(title: str, curator: Curator, plain: duckdb.DuckDBPyConnection) -> Figure:
    asked, counted = QUESTIONS[title]
    prices = iter(5 + number / 1000 for number in range(ROUNDS))  # at another price nothing is repeated
    best = best_of_rounds(
        ROUNDS,
        {
            "ask": lambda: curator.ask(asked, epsilon=next(prices)),
            "plain": lambda: plain.execute(counted).fetchall(),
        },
    )
    CONSOLE.print(f"{title}: {best['ask']:.2f} s, plain {best['plain']:.2f} s")
    return at_most(f"TPC-H SF {SCALE}: {title}", best["ask"] / best["plain"], LIMIT, "×")


if __name__ == "__main__":
    for figure in figures():
        CONSOLE.print(figure)
