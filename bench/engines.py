"""Person-level questions on PostgreSQL and on Spark, beside the plain count of people on the same engine.

Statements take turns and are compared in wall time, as the work is done in other processes. With --large,
DuckDB also answers over 100 million rows of Parquet within 8 GB.
"""

import resource
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

import duckdb
from curator import MILLION, SUM_AND_COUNT, write_rows
from timing import CONSOLE, Figure, at_most, best_of_rounds, for_information, judge, show

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
from discreet.dialects import DIALECTS
from discreet.engines.base.engine import Engine
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.engines.open_engine import open_engine
from discreet.model.declaration import complete_with_schema
from discreet.model.request import ByEpsilon, Request
from discreet.policy.reader import read_policy
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.sql.emit import emit_sql

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.servers.postgres import running_postgres

ROUNDS = {"PostgreSQL": 7, "Spark": 3}
KEYS = 10_000
ROWS = {"PostgreSQL": 2 * MILLION, "Spark": 10 * MILLION}
LIMIT = 1.5
LARGE_ROWS, LARGE_MEMORY = 100 * MILLION, "8GB"

POLICY = """
[dataset]
name = "bench"
neighbours = "add_remove"
budget = {{ epsilon = 1000.0, delta = {delta} }}
least_price = 1e-9

[tables.t]
source = "{source}"
person = "person"
max_rows = 5

[tables.t.columns.key]
bounds = [0, {last}]

[tables.t.columns.amount]
bounds = [0, 100000]
"""


def statements(
    engine: Engine, source: str, folder: Path, *, keys: int = KEYS
) -> Mapping[str, tuple[str, ...]]:
    """The plain count of people, and the person-level sum and count by both ways of weighing."""
    plain = f"SELECT key, count(DISTINCT person) AS n FROM {engine.relations['t']} GROUP BY key"
    found: dict[str, tuple[str, ...]] = {"plain": (plain,)}
    for name, delta in (("ℓ₁", "0"), ("ℓ₂", "1e-6")):
        policy = folder / "bench.toml"
        policy.write_text(POLICY.format(delta=delta, source=source, last=keys - 1))
        dataset = complete_with_schema(read_policy(policy), {"t": engine.schema("t")})
        query = resolve(parse_sql(SUM_AND_COUNT), dataset, lambda *_: None)
        request = Request(price=ByEpsilon(epsilon=1), confidence=0.95)
        plan = calibrate(bound(query, dataset), request, dataset)
        statements_of_plan = emit_sql(plan, engine.relations, DIALECTS[engine.dialect])
        found[name] = tuple(sql for statement in statements_of_plan for sql in statement.runs)
    return found


def seconds(source: str, folder: Path, *, keys: int, rounds: int) -> Mapping[str, float]:
    """The best time of each statement."""
    policy = folder / "bench.toml"
    policy.write_text(POLICY.format(delta="0", source=source, last=keys - 1))
    engine = open_engine(read_policy(policy).sources, folder)
    try:
        asked = statements(engine, source, folder, keys=keys)
        calls = {each: lambda sqls=sqls: engine.run_each(sqls) for each, sqls in asked.items()}
        return best_of_rounds(rounds, calls, clock=perf_counter)
    finally:
        engine.close()


def compared(name: str, source: str, folder: Path) -> list[Figure]:
    best = seconds(source, folder, keys=KEYS, rounds=ROUNDS[name])
    rows = [[each, f"{best[each]:.2f}", f"{best[each] / best['plain']:.2f}×"] for each in best]
    show(
        f"{name}, {ROWS[name]:,} rows, {KEYS:,} keys: seconds, best of {ROUNDS[name]}",
        ("", "seconds", "/ plain"),
        rows,
    )
    what = f"{name}: person-level sum and count / plain count(DISTINCT)"
    return [
        at_most(f"{what}, ℓ₁", best["ℓ₁"] / best["plain"], LIMIT, "×"),
        for_information(f"{what}, ℓ₂", f"{best['ℓ₂'] / best['plain']:.3g}×"),
    ]


def on_postgres(folder: Path) -> list[Figure]:
    import psycopg

    file = folder / "rows.csv"
    parquet = folder / "rows.parquet"
    write_rows(parquet, rows=ROWS["PostgreSQL"], people=ROWS["PostgreSQL"] // 10, keys=KEYS)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT person, key, amount FROM '{parquet}') TO '{file}' (HEADER false)")
    with running_postgres() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE t (person bigint, key integer, amount integer)")
            with connection.cursor().copy("COPY t FROM STDIN (FORMAT csv)") as copy, file.open("rb") as lines:
                while piece := lines.read(1 << 20):
                    copy.write(piece)
            connection.execute("VACUUM ANALYZE t")
        return compared("PostgreSQL", f"{server.url}#t", folder)


def on_spark(folder: Path) -> list[Figure]:
    write_rows(folder / "rows.parquet", rows=ROWS["Spark"], people=ROWS["Spark"] // 10, keys=KEYS)
    return compared("Spark", "spark://local#rows.parquet", folder)


def large(folder: Path) -> list[Figure]:
    """DuckDB within a limit, and how much memory the process took in all."""
    file = folder / "large.parquet"
    write_rows(file, rows=LARGE_ROWS, people=LARGE_ROWS // 10, keys=KEYS)
    policy = folder / "bench.toml"
    policy.write_text(POLICY.format(delta="0", source=file, last=KEYS - 1))
    engine = DuckDBEngine(read_policy(policy).sources, folder, memory_limit=LARGE_MEMORY)
    found = []
    for name, sqls in statements(engine, str(file), folder).items():
        start = perf_counter()
        engine.run_each(sqls)
        found.append(
            for_information(
                f"DuckDB, 100 M rows in {LARGE_MEMORY}: {name}", f"{perf_counter() - start:.3g} s"
            )
        )
    engine.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [*found, at_most("most memory of the process", peak, 8, " GB")]


def figures(*, with_large: bool = False) -> list[Figure]:
    found = []
    for measure in (on_postgres, on_spark, *([large] if with_large else [])):
        with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
            found += measure(Path(name))
    return found


if __name__ == "__main__":
    CONSOLE.print("PostgreSQL and Spark beside themselves")
    sys.exit(judge(figures(with_large="--large" in sys.argv)))
