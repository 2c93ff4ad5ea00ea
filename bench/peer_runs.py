"""Questions to OpenDP and Tumult, each run by a Python of its own. `peers/README.md` says how to make these.

A question goes as a Parquet file with a person p, a group k and a value x. The peers truncate, add up and
draw noise themselves, and nothing else has to be translated.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from truth import Asked
from truth_tables import Question

FOLDER = Path(__file__).with_name("peers")
PEERS = {"OpenDP": "opendp", "Tumult": "tumult"}
REPEATS = {"OpenDP": 1_000, "Tumult": 5}
"""The most answers of a question at one limit. An answer takes Tumult seconds."""


def pythons(arguments: argparse.Namespace | None = None) -> dict[str, str]:
    """Which interpreter has which peer: by options, or else by the environment."""
    found = {
        peer: getattr(arguments, name, None) or os.environ.get(f"DISCREET_BENCH_{name.upper()}", "")
        for peer, name in PEERS.items()
    }
    return {peer: str(Path(python).absolute()) for peer, python in found.items() if python}


@dataclass(frozen=True)
class PeerQuestion:
    """A question of `truth_tables.py`, as peers are asked it."""

    kind: str
    """count, sum or people."""
    table: str
    person: str
    key: str
    """What it is grouped by; empty if by nothing."""
    column: str
    bounds: tuple[float, float] | None

    @classmethod
    def of(cls, question: Question, asked: Asked) -> "PeerQuestion":
        head, _, rest = question.sql.partition(" FROM ")
        table, key = rest.split()[0], rest.partition(" GROUP BY ")[2]
        if key == "m":
            key = "month(date)" if "month(date)" in head else "month(day)"
        column = head.rpartition("(")[2].partition(")")[0]
        kind = "people" if "DISTINCT" in head else "count" if column == "*" else "sum"
        bounds = asked.bounds(table, head)
        return cls(kind, table, asked.person(table), key, column, bounds)

    @property
    def rows(self) -> str:
        """Its rows as p, k and x."""
        value = f"CAST({self.column} AS DOUBLE)" if self.kind == "sum" else "CAST(1 AS DOUBLE)"
        key = f"CAST({self.key} AS VARCHAR)" if self.key else "''"
        return f"SELECT CAST({self.person} AS VARCHAR) AS p, {key} AS k, {value} AS x FROM {self.table}"

    @property
    def largest(self) -> float:
        return max(map(abs, self.bounds)) if self.bounds else 1.0

    def truncated(self, plain: duckdb.DuckDBPyConnection, limit: int) -> dict[str, float]:
        """By group: the plain answer over rows that truncation keeps, without noise."""
        rows, order = self.rows, "hash(p, rowid)"
        if self.kind == "people":
            rows, order = f"SELECT DISTINCT p, k, 1 AS x FROM ({rows})", "hash(p, k)"
        else:
            rows = rows.replace(" FROM ", ", rowid FROM ")
        low, high = self.bounds or (1, 1)
        cut = f"SELECT *, row_number() OVER (PARTITION BY p ORDER BY {order}) AS place FROM ({rows})"
        value = f"sum(least(greatest(x, {low}), {high}))"
        return dict(
            plain.execute(f"SELECT k, {value} FROM ({cut}) WHERE place <= {limit} GROUP BY k").fetchall()
        )


@dataclass(frozen=True)
class Jobs:
    """The same question at the limits that our plans had, and how often each of them had it."""

    question: PeerQuestion
    file: str
    rows: int
    keys: list[str]
    epsilon: float
    limits: Counter[int]

    def as_json(self, most: int) -> list[dict[str, object]]:
        low, high = self.question.bounds or (0.0, 1.0)
        return [
            {
                "file": self.file,
                "rows": self.rows,
                "kind": self.question.kind,
                "keys": self.keys if self.question.key else None,
                "low": low,
                "high": high,
                "epsilon": self.epsilon,
                "limit": limit,
                "repeats": min(repeats, most),
            }
            for limit, repeats in self.limits.items()
        ]

    def error(self, answers: list[list[dict[str, float]]], truth: dict[str, float]) -> float:
        """The mean absolute error, of as many answers at each limit as ours."""
        errors = [
            np.mean([abs(answer.get(key, 0.0) - truth.get(key, 0.0)) for answer in each for key in self.keys])
            for each in answers
        ]
        return float(np.average(errors, weights=list(self.limits.values())))


def run(peer: str, python: str, jobs: list[Jobs], folder: Path) -> list[list[list[dict[str, float]]]]:
    """The answers to all jobs. The peer says on standard error how far it is."""
    asked = [job.as_json(REPEATS[peer]) for job in jobs]
    questions, target = folder / f"{peer}.questions.json", folder / f"{peer}.answers.json"
    questions.write_text(json.dumps([each for job in asked for each in job]), encoding="utf-8")
    script = FOLDER / f"{PEERS[peer]}_answers.py"
    done = subprocess.run([python, str(script), str(questions), str(target)], cwd=folder, check=False)
    if done.returncode:
        sys.exit(f"{peer} failed. {FOLDER.name}/README.md says how to install it.")
    found = iter(json.loads(target.read_text(encoding="utf-8")))
    return [[next(found) for _ in job] for job in asked]
