"""A small policy, and how to run a question's exact part on rows that are given."""

from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import duckdb
import numpy as np

from discreet.aggregates.vectors import Histogram, LeftOut
from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
from discreet.dialects.duckdb import DUCKDB
from discreet.model.expression import fields_of
from discreet.model.neighbours import Neighbours
from discreet.model.policy import (
    Bounds,
    Column,
    Dataset,
    EachRow,
    PersonColumn,
    PrivateTable,
    PublicTable,
    ValueType,
)
from discreet.model.request import ByEpsilon, Request
from discreet.question.expressions.scope import FanOut
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.release.exact_vectors import exact_vectors
from discreet.sql.emit import emit_sql

COLUMNS = {
    column.name: column
    for column in (
        Column(name="patient", type=ValueType.INTEGER),
        Column(name="ward", type=ValueType.TEXT, keys=("north", "south")),
        Column(name="cost", type=ValueType.NUMBER, bounds=Bounds(low=Fraction(-2), high=Fraction(4))),
        Column(name="age", type=ValueType.INTEGER, bounds=Bounds(low=Fraction(0), high=Fraction(99))),
        Column(name="note", type=ValueType.TEXT),
        Column(name="born", type=ValueType.DATE),
    )
}


LABS = {
    column.name: column
    for column in (
        Column(name="patient", type=ValueType.INTEGER),
        Column(name="test", type=ValueType.TEXT),
        Column(name="level", type=ValueType.INTEGER, bounds=Bounds(low=Fraction(0), high=Fraction(9))),
    )
}
WARDS = {
    column.name: column
    for column in (
        Column(name="ward", type=ValueType.TEXT),
        Column(name="region", type=ValueType.TEXT),
        Column(name="beds", type=ValueType.INTEGER),
    )
}
PUBLIC = [("north", "up", 10), ("north", "far", 20), ("south", "down", 30)]
"""Two rows for north: a join with them doubles its visits."""


def clinic(
    *,
    relation=Neighbours.ADD_REMOVE,
    epsilon=10,
    delta=0,
    unique=False,
    max_rows=2,
    max_groups=1,
    rows=False,
    labs_limit=2,
):
    visits = PrivateTable(
        name="visits",
        source="visits.parquet",
        person=EachRow() if rows else PersonColumn(name="patient"),
        unique=unique,
        max_rows=max_rows,
        max_groups=max_groups,
        columns=COLUMNS,
    )
    labs = PrivateTable(
        name="labs",
        source="labs.parquet",
        person=PersonColumn(name="patient"),
        unique=False,
        max_rows=labs_limit,
        max_groups=labs_limit,
        columns=LABS,
    )
    return Dataset(
        name="clinic",
        neighbours=relation,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        analyst_epsilon=Fraction(epsilon),
        question_epsilon=Fraction(epsilon),
        tables={
            "visits": visits,
            "labs": labs,
            "wards": PublicTable(name="wards", source="wards.csv", columns=WARDS),
        },
    )


def has_one_of(*columns, **settings):
    """The clinic, whose policy says that a patient has one value of these columns of visits."""
    dataset = clinic(**settings)
    visits = dataset.tables["visits"]
    said = {name: replace(column, per_person=name in columns) for name, column in visits.columns.items()}
    return replace(dataset, tables={**dataset.tables, "visits": replace(visits, columns=said)})


def public_keys(table, column):
    assert table == "wards"
    return tuple(sorted({row[list(WARDS).index(column)] for row in PUBLIC}))


def fan_out(table, shared):
    """All rows of the public table may share what it is joined on, but for the number of beds."""
    assert table.name == "wards"
    alone = all(field.name.endswith(".beds") for each in shared for field in fields_of(each))
    return FanOut(matches=1 if alone else len(PUBLIC), rows=len(PUBLIC))


def planned(sql, dataset, epsilon=1):
    request = Request(price=ByEpsilon(epsilon=Fraction(epsilon)), confidence=Fraction(95, 100))
    query = resolve(parse_sql(sql), dataset, public_keys, fan_out)
    return calibrate(bound(query, dataset), request, dataset)


class Database:
    """A DuckDB with the tables of the policy.

    Visits are rows (patient, ward, cost, age, note, born), labs (patient, test, level).
    """

    tables = MappingProxyType({"visits": "visits", "labs": "labs", "wards": "wards"})
    """What stands after FROM."""

    def __init__(self):
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute(
            "CREATE TABLE visits"
            " (patient BIGINT, ward VARCHAR, cost DOUBLE, age BIGINT, note VARCHAR, born DATE);"
            "CREATE TABLE labs (patient BIGINT, test VARCHAR, level BIGINT);"
            "CREATE TABLE wards (ward VARCHAR, region VARCHAR, beds BIGINT)"
        )
        self._insert("wards", PUBLIC, ("VARCHAR", "VARCHAR", "BIGINT"))

    def fill(self, rows, labs=()):
        self.connection.execute("DELETE FROM visits; DELETE FROM labs")
        types = ("BIGINT", "VARCHAR", "DOUBLE", "BIGINT", "VARCHAR", "DATE")
        self._insert("visits", [(*row, *([None] * (6 - len(row)))) for row in rows], types)
        self._insert("labs", labs, ("BIGINT", "VARCHAR", "BIGINT"))

    def _insert(self, table, rows, types):
        if rows:
            listed = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types)
            columns = [list(column) for column in zip(*rows, strict=True)]
            self.connection.execute(f"INSERT INTO {table} SELECT {listed}", columns)

    def results(self, plan):
        """What the engine would return for each statement of the plan."""
        found = []
        for statement in emit_sql(plan, self.tables, DUCKDB):
            rows = self.connection.execute(statement.sql)
            names = [column[0] for column in rows.description]
            columns = list(zip(*rows.fetchall(), strict=True)) or [()] * len(names)
            found.append((statement, {n: _column(c) for n, c in zip(names, columns, strict=True)}))
        return found

    def exact(self, plan):
        """One vector of integers for each part of the plan; a histogram's bins are one long one."""
        exact = exact_vectors(plan, self.results(plan))
        vectors = []
        for i, part in enumerate(plan.bounded.parts):
            if isinstance(part, Histogram):
                groups = [exact.histogram(i, g, part.leaves) for g in range(len(exact))]
                vectors.append(np.concatenate(groups).astype(object))
            elif isinstance(part, LeftOut):
                vectors.append(exact.left_out[i].astype(object))
            else:
                vectors.append(np.array([int(x) for x in exact.sums[i]], dtype=object))
        return vectors

    def values(self, plan):
        """Of each vector that measures are computed from: the exact numbers, in the units of the question."""
        exact, parts = self.exact(plan), plan.bounded.parts
        wanted = dict.fromkeys(each for measure in plan.bounded.measures for each in measure.vectors)
        return [
            sum(exact[i] * (weight * parts[i].scale) for i, weight in each.terms).astype(float)
            for each in wanted
        ]

    def by_key(self, plan):
        """With private keys: for each part, the exact integers of each key that occurs, one or all bins."""
        exact = exact_vectors(plan, self.results(plan))
        keys = list(zip(*(key.tolist() for key in exact.keys), strict=True))
        found = []
        for i, part in enumerate(plan.bounded.parts):
            if isinstance(part, Histogram):
                integers = [exact.histogram(i, g, part.leaves).tolist() for g in range(len(keys))]
            elif isinstance(part, LeftOut):
                found.append({(): exact.left_out[i].tolist()})
                continue
            else:
                integers = [[int(x)] for x in exact.sums[i]]
            found.append(dict(zip(keys, integers, strict=True)))
        return found


def _column(cells):
    """As an engine delivers it: masked where NULL occurs."""
    missing = [cell is None for cell in cells]
    data = np.empty(len(cells), dtype=object)
    data[:] = cells
    return np.ma.MaskedArray(data, mask=missing) if any(missing) else data
