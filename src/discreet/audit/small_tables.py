"""Small tables of people with several rows, and what a profile or a question sums and releases of them.

Everything is done as the curator does it: a question is planned from its SQL, DuckDB runs the statements that
are written for it, and noise is drawn from the plan. Nothing is charged, as nobody is in these tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.vectors import LeftOut
from discreet.arrays import ColumnValues
from discreet.audit.sensitivities import SmallDataset, SmallPerson
from discreet.bounds.bound import bound
from discreet.bounds.calibrate import Plan, calibrate
from discreet.bounds.facts import parts_in_order
from discreet.dialects.duckdb import DUCKDB
from discreet.engines.duckdb.statement import result_columns
from discreet.engines.duckdb.types import joined, returning
from discreet.model.deadline import Deadline
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Bounds, Column, Dataset, PersonColumn, PrivateTable, ValueType
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.request import ByEpsilon, ByRho, Request
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.profile.profile_plan import ProfilePlan
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.release.draw import draw_noise
from discreet.release.drawn import Drawn
from discreet.release.exact_vectors import Results, exact_vectors
from discreet.sql.emit import emit_sql
from discreet.sql.statement import Statement

Vectors: TypeAlias = list[NDArray[np.int64]]
SmallVisit: TypeAlias = tuple[str | None, float | None, int | None, str | None]

VISITS: tuple[SmallVisit, ...] = (
    ("north", 1.0, 3, "a"),
    ("south", 9.0, 300, "b"),  # above both bounds
    ("north", -30.0, 40, "c"),  # below
    ("south", 1e300, -7, "a"),  # far above, and below
    (None, None, None, None),
    ("east", float("nan"), 99, "d"),
    ("elsewhere", 4.0, 0, "e"),  # not among the keys
)
"""A person's rows are numbers of these."""
MAX_ROWS, MAX_GROUPS = 2, 1

_NAME, _TYPES = "visits", ("BIGINT", "VARCHAR", "DOUBLE", "BIGINT", "VARCHAR")
_COLUMNS = (
    Column(name="person", type=ValueType.INTEGER),
    Column(name="ward", type=ValueType.TEXT, keys=("north", "south", "east")),
    Column(name="cost", type=ValueType.NUMBER, bounds=Bounds(low=Fraction(0), high=Fraction(4))),
    Column(name="age", type=ValueType.INTEGER, bounds=Bounds(low=Fraction(0), high=Fraction(99))),
    Column(name="note", type=ValueType.TEXT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRelease:
    """What one charge releases of a table: vectors, the noise of each, and how they are summed and drawn."""

    statements: tuple[Statement, ...]
    noises: list[AdditiveNoise]
    people: range
    """Which of the vectors count people in bins."""
    of_one_person: Sensitivity
    """The claimed sensitivity of each of these."""
    stated: Spend
    """What is charged for all vectors."""
    exact: Callable[[Results], Vectors]
    draw: Callable[[Results], Vectors]


def profile_release(loss: Spend, relation: Neighbours) -> TableRelease:
    plan = ProfilePlan(table=_table(), neighbours=relation, loss=loss)
    noises = plan.noise()

    def draw(results: Results) -> Vectors:
        found = plan.profile_from(plan.draw_noise(results, Deadline.after(600)), loss)
        bins = [found.rows, *found.keys.values(), *(column.bins for column in found.values.values())]
        return [each.people.astype(np.int64) for each in bins]

    return TableRelease(
        statements=plan.statements({_NAME: _NAME}, DUCKDB),
        noises=noises,
        people=range(len(noises)),
        of_one_person=Sensitivity.histogram(relation),
        stated=plan.loss,
        exact=plan.exact_histograms,
        draw=draw,
    )


def question_release(sql: str, loss: Spend, relation: Neighbours) -> TableRelease:
    """A question whose last part is what limits leave out."""
    plan = _plan(sql, loss, relation)
    *measured, last = plan.bounded.parts
    if not isinstance(last, LeftOut) or any(isinstance(part, LeftOut) for part in measured):
        raise TypeError("A question that leaves out something in one way is expected here.")
    order = parts_in_order(plan.bounded)

    def exact(results: Results) -> Vectors:
        found = exact_vectors(plan, results)
        return [*(found.sums[part] for part in range(len(measured))), found.left_out[len(measured)]]

    def draw(results: Results) -> Vectors:
        drawn = Drawn.decode(draw_noise(plan, results))
        if drawn is None:
            raise TypeError("What was drawn is expected here.")
        sums = [drawn.sums[order.index(part)] for part in range(len(measured))]
        return [*sums, drawn.left_out[order.index(len(measured))]]

    return TableRelease(
        statements=emit_sql(plan, {_NAME: _NAME}, DUCKDB),
        noises=[_added(mechanism) for mechanism in plan.mechanisms],
        people=range(len(measured), len(measured) + 1),
        of_one_person=last.sensitivity(relation),
        stated=plan.loss,
        exact=exact,
        draw=draw,
    )


def results_of(release: TableRelease, people: SmallDataset) -> Results:
    """What DuckDB finds for the statements in a table of these people."""
    return [(each, _found(each.sql, tuple(people))) for each in release.statements]


@cache
def _found(sql: str, people: tuple[SmallPerson, ...]) -> Mapping[str, ColumnValues]:
    """Both relations of neighbours have the same statements, and meet the same people."""
    connection = _database()
    rows = [(person, *VISITS[place]) for person, visits in enumerate(people) for place in visits]
    connection.execute("DELETE FROM visits")
    if rows:
        listed = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in _TYPES)
        connection.execute(f"INSERT INTO {_NAME} SELECT {listed}", [list(c) for c in zip(*rows, strict=True)])
    columns = _types_of(sql)
    return joined(connection.execute(returning(sql, columns)).fetchnumpy(), columns)


@cache
def _types_of(sql: str) -> dict[str, str]:
    return result_columns(_database(), sql)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """In memory, with an empty table."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    columns = [f"{column.name} {kind}" for column, kind in zip(_COLUMNS, _TYPES, strict=True)]
    connection.execute(f"CREATE TABLE {_NAME} ({', '.join(columns)})")
    return connection


def _plan(sql: str, loss: Spend, relation: Neighbours) -> Plan:
    price = ByEpsilon(epsilon=loss.epsilon) if isinstance(loss, PureLoss) else ByRho(rho=loss.rho)
    dataset = Dataset(
        name="small",
        neighbours=relation,
        epsilon=Fraction(100),
        delta=Fraction(1, 10**6) if isinstance(loss, ConcentratedLoss) else Fraction(0),
        analyst_epsilon=Fraction(100),
        question_epsilon=Fraction(100),
        tables={_NAME: _table()},
    )
    query = resolve(parse_sql(sql), dataset, lambda _table, _column: ())
    return calibrate(bound(query, dataset), Request(price=price, confidence=Fraction(95, 100)), dataset)


def _table() -> PrivateTable:
    return PrivateTable(
        name=_NAME,
        source="visits.parquet",
        person=PersonColumn(name="person"),
        unique=False,
        max_rows=MAX_ROWS,
        max_groups=MAX_GROUPS,
        columns={column.name: column for column in _COLUMNS},
    )


def _added(mechanism: object) -> AdditiveNoise:
    if not isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        raise TypeError("Added noise is expected here.")
    return mechanism
