"""How the time of a person-level question grows with rows, people, keys and cores, on DuckDB and on Spark.

A sum and count by both ways of weighing, beside the plain count of people on the same engine. Every line is a
process of its own with its number of cores. It is not part of `make bench`: Spark takes half an hour.

    .venv/bin/python bench/growth.py [duckdb] [spark]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from curator import MILLION, write_rows
from engines import seconds
from timing import CONSOLE, show

SOURCES = {"duckdb": "rows.parquet", "spark": "spark://local#rows.parquet"}
ROUNDS = 2
GROWTH = (
    (MILLION, MILLION // 10, 10_000, 2),
    (10 * MILLION, MILLION, 10_000, 2),
    (30 * MILLION, 3 * MILLION, 10_000, 2),
    (10 * MILLION, MILLION, 10_000, 1),
    (10 * MILLION, MILLION // 10, 10_000, 2),
    (10 * MILLION, 5 * MILLION, 10_000, 2),
    (10 * MILLION, MILLION, 100, 2),
)
"""Rows, people, keys and cores."""


def measured(engine: str, rows: int, people: int, keys: int, cores: int) -> dict[str, float]:
    """In a process of its own, as a process has one Spark, whose number of cores is fixed."""
    line = [sys.executable, __file__, "--one", engine, *map(str, (rows, people, keys, cores))]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def one(engine: str, rows: int, people: int, keys: int, cores: int) -> None:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        write_rows(folder / "rows.parquet", rows=rows, people=people, keys=keys)
        os.sched_setaffinity(0, range(cores))
        print(json.dumps(seconds(SOURCES[engine], folder, keys=keys, rounds=ROUNDS)))


def main(engines: list[str]) -> None:
    for engine in engines or SOURCES:
        lines = []
        for rows, people, keys, cores in GROWTH:
            found = measured(engine, rows, people, keys, cores)
            times = (f"{found[name]:.2f}" for name in ("plain", "ℓ₁", "ℓ₂"))
            lines.append([f"{rows:,}", f"{people:,}", f"{keys:,}", str(cores), *times])
            CONSOLE.print(f"{engine}: {' '.join(lines[-1])}")
        titles = ("rows", "people", "keys", "cores", "plain count", "ℓ₁", "ℓ₂")
        show(f"{engine}: seconds, best of {ROUNDS}", titles, lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main(sys.argv[1:])
