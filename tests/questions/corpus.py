"""Questions as analysts type them, the tables that they are about, and what plain SQL answers."""

import math
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from discreet.answers.answer import Answer
from discreet.curator.curator import Curator
from discreet.curator.ledgers import open_ledger, place_of
from discreet.engines.open_engine import open_engine
from discreet.errors import QueryRefused
from discreet.model.declaration import complete_with_schema
from discreet.policy.reader import read_policy
from tests.questions.tables import make_clinic, make_flights, make_omop, make_rand, make_tpch

HERE = Path(__file__).parent
EPSILON = 990
"""Of each question: as much as a budget can have."""


@dataclass(frozen=True)
class Question:
    """What is asked of a dataset."""

    title: str
    sql: str
    instead: str = ""
    """What the remedy of its refusal leads to."""
    plain: str = ""
    """Where our documented meaning is not that of DuckDB: SQL that has our meaning there."""
    within: float = 0.0
    """How far a number may be off: by bins of quantiles, or by what is multiplied before it is divided."""


def _some_patients(connection: duckdb.DuckDBPyConnection, _: Path) -> None:
    make_clinic(connection)
    connection.execute("DELETE FROM visits WHERE patient_id % 6 > 0")


def _some_planes(connection: duckdb.DuckDBPyConnection, _: Path) -> None:
    make_flights(connection)
    connection.execute(
        "DELETE FROM flights WHERE md5(tailnum) >= '8' OR tailnum IN"
        " (SELECT tailnum FROM flights GROUP BY tailnum HAVING count(*) > 100)"
    )


DATASETS: dict[str, Callable[[duckdb.DuckDBPyConnection, Path], None]] = {
    "clinic": _some_patients,
    "rand": lambda connection, _: make_rand(connection),
    "flights": _some_planes,
    "tpch": lambda connection, folder: make_tpch(connection, folder, "0.01"),
    "omop": lambda connection, _: make_omop(connection),
}


def questions_of(dataset: str) -> list[Question]:
    """Those of its file."""
    with (HERE / f"{dataset}.toml").open("rb") as file:
        return [Question(**each) for each in tomllib.load(file)["question"]]


class Opened:
    """A dataset, opened once. Each question has a ledger of its own, and so the whole budget."""

    def __init__(self, dataset: str, folder: Path) -> None:
        self.plain = duckdb.connect()
        self.questions = questions_of(dataset)
        self._folder = folder
        DATASETS[dataset](self.plain, folder)
        for (table,) in self.plain.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            self.plain.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
        declared = read_policy(HERE / "policies" / f"{dataset}.toml")
        self._engine = open_engine(declared.sources, folder, time_limit=declared.time_limit)
        self._dataset = complete_with_schema(
            declared, {name: self._engine.schema(name) for name in declared.sources}
        )

    @contextmanager
    def curator(self, *, delta: bool = True) -> Iterator[Curator]:
        """One that has spent nothing yet. Without a δ there is less noise."""
        dataset = self._dataset if delta else replace(self._dataset, delta=Fraction(0))
        with TemporaryDirectory(dir=self._folder) as place:
            ledger = open_ledger(place_of(Path(place) / "corpus.toml", None))
            try:
                yield Curator(dataset, self._engine, ledger, analyst="corpus")
            finally:
                ledger.close()

    def answered(self, sql: str) -> tuple[Answer, bool]:
        """The answer, and whether some of its keys are private."""
        with self.curator() as curator:
            private = curator.explain(sql, epsilon=EPSILON).private_groups is not None
            if private:
                return curator.ask(sql, epsilon=EPSILON), True
        try:
            with self.curator(delta=False) as curator:
                return curator.ask(sql, epsilon=EPSILON), False
        except QueryRefused:  # some of its aggregated queries have private keys
            with self.curator() as curator:
                return curator.ask(sql, epsilon=EPSILON), True

    def close(self) -> None:
        self._engine.close()
        self.plain.close()


def compare(question: Question, plain: duckdb.DuckDBPyConnection, answer: Answer, private: bool) -> str:
    """What is wrong with an answer; empty if it is that of plain SQL.

    Rows are found by their keys: what has no error, and is no fraction. Groups that only the answer has must
    be empty. Groups that only plain SQL has must be of no key (NULL), or of too few people to be shown.
    """
    found = plain.execute(question.plain or question.sql)
    columns, exact = range(len(found.description)), found.fetchall()
    if len(answer.columns) != len(columns):
        return f"it has the columns {answer.columns}"
    rows = [tuple(row.values()) for row in answer.rows()]
    noisy = [
        name in answer.released.measured or _is_computed({row[i] for row in rows}, {row[i] for row in exact})
        for i, name in enumerate(answer.columns)
    ]
    ours = {tuple(_key(row[i]) for i in columns if not noisy[i]): number for number, row in enumerate(rows)}
    theirs = {tuple(_key(row[i]) for i in columns if not noisy[i]): row for row in exact}
    if len(ours) < len(rows) or len(theirs) < len(exact):
        return "two rows have the same keys"
    if theirs and not set(ours) & set(theirs):
        return "no row has the keys of plain SQL"
    missing = [row for key, row in theirs.items() if key not in ours and None not in key]
    if missing and not private and not (_has_limit(question) and len(missing) <= 2):
        return f"the row {missing[0]} is missing"
    compared = cells = 0
    for key, number in ours.items():
        if key not in theirs:
            if not _has_limit(question) and not _is_empty(answer, number):
                return f"there is a row {key}, and none in plain SQL"
            continue
        for i in (i for i in columns if noisy[i]):
            name, most = (
                answer.columns[i],
                max([abs(row[i]) for row in exact if row[i] is not None], default=0),
            )
            half = _half_of_interval(answer, name, number)
            cells += 1
            if half <= _SHARE * float(most) + 1 + question.within:
                compared += 1
                value, plainly = float(answer.released.values[name][number]), _number(theirs[key][i])
                if (
                    not abs(value - plainly)
                    <= _TIMES * half + question.within + _ROUNDED * abs(plainly) + 1e-6
                ):
                    return f"{name} is {value} ± {half}, and {plainly} in plain SQL, in {key}"
    return "" if 2 * compared >= cells else "errors are too large to compare"


def _is_computed(ours: set[object], theirs: set[object]) -> bool:
    """Whether a column without errors is computed from noisy numbers; else it is a key, such as 0.05."""
    return any(isinstance(cell, float) for cell in ours) and not (ours <= theirs or theirs <= ours)


def _has_limit(question: Question) -> bool:
    """The last of the first few may be others, where several are about as large; also groups of HAVING."""
    return bool({"LIMIT", "HAVING"} & set(question.sql.split()))


def _is_empty(answer: Answer, number: int) -> bool:
    """Whether some number of a row is 0 within its error, or missing."""
    if not answer.released.measured:
        return True
    for name in answer.released.measured:
        value, (low, high) = answer.released.values[name][number], answer.interval(name)
        if math.isnan(value) or abs(value) <= 1 + _TIMES * max(high[number] - value, value - low[number]):
            return True
    return False


_TIMES = 10.0
"""How often half of its 95 % interval a number may be off. Laplace noise is beyond ten times that with a
probability of 0.05¹⁰ < 1e-13, and Gaussian noise still more rarely."""
_SHARE = 0.1
"""How large that half may be beside the largest number of its column. At least half of all numbers are."""
_ROUNDED = 0.01
"""How far numbers may be off that are computed from noisy ones, and have no error of their own."""


def _half_of_interval(answer: Answer, name: str, number: int) -> float:
    """The longer half; 0 of what has no error."""
    value = float(answer.released.values[name][number])
    if name not in answer.released.measured or math.isnan(value):
        return 0.0 if name not in answer.released.measured else math.inf
    low, high = (float(each[number]) for each in answer.interval(name))
    return max(high - value, value - low, 0.0)


def _number(cell: object) -> float:
    """Of nobody, 0."""
    return 0.0 if cell is None or math.isnan(float(cell)) else float(cell)  # type: ignore[arg-type]


def _key(cell: object) -> object:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell.date() if isinstance(cell, datetime) and cell.time() == time() else cell
