"""Questions to the curator beside plain SQL on the same engine, with the same view, settings and threads.

The rows come from a hash, so that every run has the same. Statements take turns and are compared in processor
time of all threads; the overhead of a question is in wall time, as most of it is waiting for the disk.
With --large also at 50 million rows.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter, process_time

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_least, at_most, best_of_rounds, for_information, judge, show

from discreet.answers.csv_text import to_csv
from discreet.answers.json_text import to_json
from discreet.curator import Curator
from discreet.curator.open_policy import open_curator
from discreet.dialects.duckdb import DUCKDB
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.declaration import complete_with_schema
from discreet.policy.reader import read_policy
from discreet.sql.emit import emit_sql

ROUNDS = 3
MILLION = 1_000_000
LARGE_ROWS, LARGE_GIGABYTES = 50 * MILLION, 16
SMALL_MEMORY = "120MB"
OVERHEAD_MILLISECONDS, OVERHEAD_QUESTIONS = 30, 40

SUM = "SELECT key, sum(amount) AS s FROM t GROUP BY key"
SUM_AND_COUNT = "SELECT key, sum(amount) AS s, count(*) AS n FROM t GROUP BY key"
PRIVATE_KEYS = "SELECT name, count(*) AS n FROM t GROUP BY name"
PLAIN_SUM = 'SELECT key, sum(amount) AS s FROM data."t" GROUP BY key'
PLAIN_PEOPLE = 'SELECT key, count(DISTINCT person) AS n FROM data."t" GROUP BY key'

PEOPLE_BY_NAME = "SELECT name, count(DISTINCT person) AS n FROM t GROUP BY name"
NAMED_GROUPS, NAMED_DELTA = 5, 1e-7

OTHERS = {"OpenDP": 16.0, "SmartNoise": 17.0, "Tumult": 72.0, "Qrlew": 91.0, "PipelineDP": 138.0}
OTHERS_PLAIN = 2.1
"""Processor seconds on 10 M other rows (Zipf), measured earlier and not in this run: a person-level count by
10,000 keys with at most 5 groups a person, and the plain count(DISTINCT) there."""

POLICY = """
[dataset]
name = "bench"
neighbours = "add_remove"
budget = {{ epsilon = 1000.0, delta = {delta} }}
least_price = 1e-9

[tables.t]
source = "{source}"
person = "{person}"
{rows}

[tables.t.columns.key]
bounds = [0, {last_key}]

[tables.t.columns.amount]
bounds = [0, 100000]
"""

NAMED_POLICY = f"""
[dataset]
name = "bench"
neighbours = "add_remove"
budget = {{{{ epsilon = 1, delta = {NAMED_DELTA} }}}}

[tables.t]
source = "{{source}}"
person = "person"
max_rows = {NAMED_GROUPS}
max_groups = {NAMED_GROUPS}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A question, the plain SQL beside it, and how many times as long it may take; None for no target."""

    name: str
    person: str
    delta: str
    question: str
    plain: str
    limit: float


KINDS = (
    Kind(name="row-level sum / plain sum", person="row", delta="0", question=SUM, plain=PLAIN_SUM, limit=3),
    Kind(
        name="person-level sum and count, ℓ₁ / plain count(DISTINCT)",
        person="person",
        delta="0",
        question=SUM_AND_COUNT,
        plain=PLAIN_PEOPLE,
        limit=1.2,
    ),
    Kind(
        name="person-level sum and count, ℓ₂ / plain count(DISTINCT)",
        person="person",
        delta="1e-6",
        question=SUM_AND_COUNT,
        plain=PLAIN_PEOPLE,
        limit=3,
    ),
)


def write_rows(file: Path, *, rows: int, people: int, keys: int) -> None:
    """About the same number of rows for each person and key."""
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT (hash(range * 7 + 1) % {people})::BIGINT AS person,"
            f" (hash(range * 13 + 5) % {keys})::INTEGER AS key,"
            f" 'key ' || hash(range * 13 + 5) % {keys} AS name,"
            f" (hash(range * 17 + 3) % 100000)::INTEGER AS amount FROM range({rows}))"
            f" TO '{file}' (FORMAT parquet)"
        )


@contextmanager
def opened(
    file: Path, *, person: str, delta: str, keys: int, memory_limit: str | None = None
) -> Iterator[tuple[Curator, DuckDBEngine]]:
    """A curator over the file with an unused ledger."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        policy = Path(folder, "bench.toml")
        rows = "" if person == "row" else "max_rows = 5"
        policy.write_text(
            POLICY.format(source=file, person=person, delta=delta, rows=rows, last_key=keys - 1)
        )
        declared = read_policy(policy)
        engine = DuckDBEngine(declared.sources, policy.parent, memory_limit=memory_limit)
        dataset = complete_with_schema(declared, {"t": engine.schema("t")})
        ledger = SqliteLedger(policy.with_suffix(".ledger"))
        try:
            yield Curator(dataset, engine, ledger, analyst="bench"), engine
        finally:
            ledger.close()
            engine.close()


def ratios(file: Path, *, rows: int, keys: int, judged: bool, rounds: int = ROUNDS) -> list[Figure]:
    """Each kind of question: its statement, and the whole of `ask`, over the plain SQL."""
    found, shown = [], []
    for kind in KINDS:
        with opened(file, person=kind.person, delta=kind.delta, keys=keys) as (curator, engine):
            (statement,) = emit_sql(curator.plan(kind.question, epsilon=1), engine.relations, DUCKDB)
            prices = (1 + i / 1000 for i in count())  # another price is another question
            calls = {
                "plain": lambda engine=engine, kind=kind: engine.run(kind.plain),
                "statement": lambda engine=engine, sql=statement.sql: engine.run(sql),
                "ask": lambda curator=curator, kind=kind, prices=prices: curator.ask(
                    kind.question, epsilon=next(prices)
                ),
            }
            best = best_of_rounds(rounds, calls, clock=process_time)
        ratio, whole = best["statement"] / best["plain"], best["ask"] / best["plain"]
        shown.append([kind.name, *(f"{best[name]:.2f}" for name in best), f"{ratio:.2f}×", f"{whole:.2f}×"])
        name = f"{kind.name}, {rows // MILLION} M rows, {keys:,} keys"
        figure = at_most(name, ratio, kind.limit, "×")
        found.append(figure if judged else for_information(name, figure.measured))
    title = f"{rows:,} rows, {keys:,} keys: processor seconds, best of {rounds}"
    show(title, ("question", "plain", "statement", "ask", "statement / plain", "ask / plain"), shown)
    return found


def overhead(folder: Path) -> list[Figure]:
    """`ask` on a tiny table, less the time that the engine runs; how much of it is the ledger."""
    file = folder / "tiny.parquet"
    write_rows(file, rows=1000, people=300, keys=10)
    found = []
    for delta in ("0", "1e-6"):
        with opened(file, person="person", delta=delta, keys=10) as (curator, engine):
            spans: dict[str, float] = {}
            _stopwatch(engine, "run", spans)
            for name in ("stored_or_payable", "charge", "store_answer", "balance"):
                _stopwatch(curator._ledger, name, spans)
            asks, ledgers, processor = [], [], []
            for i in range(OVERHEAD_QUESTIONS):
                spans.clear()
                start, used = perf_counter(), process_time()
                curator.ask(SUM_AND_COUNT.replace("GROUP", f"WHERE amount < {10**6 + i} GROUP"), epsilon=1)
                processor.append(process_time() - used)
                asks.append(perf_counter() - start - spans.pop("run"))
                ledgers.append(sum(spans.values()))
        best = int(np.argmin(asks))
        limit = OVERHEAD_MILLISECONDS
        found.append(at_most(f"overhead of a question, δ = {delta}, best", asks[best] * 1e3, limit, " ms"))
        median = f"{np.median(asks) * 1e3:.3g} ms, of which the ledger {np.median(ledgers) * 1e3:.3g} ms"
        found.append(for_information(f"overhead of a question, δ = {delta}, median", median))
        name = f"a question on 1,000 rows, δ = {delta}, engine included: processor time"
        found.append(for_information(name, f"{min(processor) * 1e3:.3g} ms"))
    return found


def _stopwatch(owner: object, name: str, spans: dict[str, float]) -> None:
    method = getattr(owner, name)

    def timed(*arguments: object, **named: object) -> object:
        start = perf_counter()
        try:
            return method(*arguments, **named)
        finally:
            spans[name] = spans.get(name, 0.0) + perf_counter() - start

    setattr(owner, name, timed)


def private_keys(folder: Path) -> list[Figure]:
    """A million private keys of text, and the answer as CSV and JSON."""
    file = folder / "people.parquet"
    write_rows(file, rows=20 * MILLION, people=20 * MILLION, keys=MILLION)
    with opened(file, person="person", delta="1e-6", keys=MILLION) as (curator, engine):
        spans: dict[str, float] = {}
        _stopwatch(engine, "run", spans)
        start = perf_counter()
        answer = curator.ask(PRIVATE_KEYS, epsilon=100)
        whole = perf_counter() - start
    start = perf_counter()
    csv_bytes = len(to_csv(answer.released))
    csv_seconds, start = perf_counter() - start, perf_counter()
    json_bytes = sum(map(len, to_json(answer)))
    json_seconds = perf_counter() - start
    file.unlink()
    return [
        for_information(
            "private keys among 10⁶, ε = 100",
            f"{len(answer):,} in {whole:.3g} s, engine {spans['run']:.3g} s",
        ),
        for_information("that answer as CSV", f"{csv_seconds:.3g} s, {csv_bytes / MILLION:.0f} MB"),
        for_information("that answer as JSON", f"{json_seconds:.3g} s, {json_bytes / MILLION:.0f} MB"),
    ]


def keys_named(folder: Path) -> list[Figure]:
    """How many of 10,000 keys, of which the k-th has a share of 1/k of the rows, one question names.

    Beside it what the alternatives do at best: five keys of each person drawn at random, Laplace noise of
    scale 5 on their counts, and the threshold 1 + 5·ln(5/2δ).
    """
    rng = np.random.default_rng(1)
    share = 1 / np.arange(1, 10_001)
    key = rng.choice(10_000, MILLION, p=share / share.sum())
    person = rng.integers(0, MILLION // 10, MILLION)
    pairs = rng.permutation(np.unique(np.stack([person, key], axis=1), axis=0))
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    first = np.searchsorted(pairs[:, 0], pairs[:, 0])
    kept = pairs[np.arange(len(pairs)) - first < NAMED_GROUPS, 1]
    noisy = np.unique(kept, return_counts=True)[1] + rng.laplace(
        scale=NAMED_GROUPS, size=len(np.unique(kept))
    )
    laplace = int((noisy > 1 + NAMED_GROUPS * np.log(NAMED_GROUPS / (2 * NAMED_DELTA))).sum())

    file = folder / "zipf.parquet"
    with duckdb.connect() as connection:
        connection.register("rows", {"person": person, "key": key})
        connection.execute(f"COPY (SELECT person, 'key ' || key AS name FROM rows) TO '{file}'")
    named = []
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            policy = Path(place, "bench.toml")
            policy.write_text(NAMED_POLICY.format(source=file))
            with open_curator(policy) as curator:
                named.append(len(curator.ask(PEOPLE_BY_NAME, epsilon=1)))
    name = "keys named of 10,000, ε = 1, δ = 10⁻⁷: ours / Laplace and sampling"
    CONSOLE.print(f"{name}: {named} and {laplace}")
    return [at_least(name, float(np.median(named)) / laplace, 1.6, "×")]


def small_memory(file: Path, *, keys: int) -> list[Figure]:
    """Person-level questions where the engine has to spill to disk."""
    found = []
    for delta in ("0", "1e-6"):
        with opened(file, person="person", delta=delta, keys=keys, memory_limit=SMALL_MEMORY) as (curator, _):
            start = perf_counter()
            answer = curator.ask(SUM_AND_COUNT, epsilon=1)
            seconds = perf_counter() - start
        name = f"10 M rows within memory_limit = {SMALL_MEMORY}, δ = {delta}"
        found.append(
            Figure(name, f"{keys:,} keys", f"{len(answer):,} in {seconds:.3g} s", len(answer) == keys)
        )
    return found


def figures(*, large: bool = False) -> list[Figure]:
    found = []
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        found += overhead(folder)
        found += keys_named(folder)
        for rows, keys in ((MILLION, 10_000), (10 * MILLION, 100), (10 * MILLION, 10_000)):
            file = folder / "rows.parquet"
            write_rows(file, rows=rows, people=rows // 10, keys=keys)
            found += ratios(file, rows=rows, keys=keys, judged=rows == 10 * MILLION)
        show_others()
        found += small_memory(file, keys=10_000)
        found += private_keys(folder)
        if large and _enough_memory():
            write_rows(file, rows=LARGE_ROWS, people=LARGE_ROWS // 10, keys=10_000)
            found += ratios(file, rows=LARGE_ROWS, keys=10_000, judged=False, rounds=1)
    return found


def show_others() -> None:
    rows = [[name, f"{seconds / OTHERS_PLAIN:.1f}×"] for name, seconds in OTHERS.items()]
    show("For orientation, not this run and not these rows", ("person-level count", "/ plain"), rows)


def _enough_memory() -> bool:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    if gigabytes < LARGE_GIGABYTES:
        CONSOLE.print(
            f"Skipped {LARGE_ROWS:,} rows: they want {LARGE_GIGABYTES} GB, here are {gigabytes:.0f}."
        )
    return gigabytes >= LARGE_GIGABYTES


if __name__ == "__main__":
    sys.exit(judge(figures(large="--large" in sys.argv)))
