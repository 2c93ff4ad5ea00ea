"""A small policy, and how to run a question's exact part on rows that are given."""

from fractions import Fraction

import duckdb
import numpy as np

from discreet.compile.bound import bound
from discreet.compile.calibrate import calibrate
from discreet.compile.emit_sql import emit_sql
from discreet.compile.parse_sql import parse_sql
from discreet.compile.release import groups_of
from discreet.compile.resolve import resolve
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


def clinic(*, relation=Neighbours.ADD_REMOVE, delta=0, unique=False, max_rows=2, max_groups=1, rows=False):
    table = PrivateTable(
        name="visits",
        source="visits.parquet",
        person=EachRow() if rows else PersonColumn(name="patient"),
        unique=unique,
        max_rows=max_rows,
        max_groups=max_groups,
        columns=COLUMNS,
    )
    public = PublicTable(name="wards", source="wards.csv", columns={})
    return Dataset(
        name="clinic",
        neighbours=relation,
        epsilon=Fraction(10),
        delta=Fraction(delta),
        analyst_epsilon=Fraction(10),
        question_epsilon=Fraction(10),
        tables={"visits": table, "wards": public},
    )


def planned(sql, dataset, epsilon=1):
    request = Request(price=ByEpsilon(epsilon=Fraction(epsilon)), confidence=Fraction(95, 100))
    return calibrate(bound(resolve(parse_sql(sql), dataset), dataset), request, dataset)


class Database:
    """A DuckDB with the table of the policy, filled with rows (patient, ward, cost, age, note, born)."""

    def __init__(self):
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(
            "CREATE TABLE visits"
            " (patient BIGINT, ward VARCHAR, cost DOUBLE, age BIGINT, note VARCHAR, born DATE)"
        )

    def fill(self, rows):
        self.connection.execute("DELETE FROM visits")
        if rows:
            columns = list(zip(*((*row, *([None] * (6 - len(row)))) for row in rows), strict=True))
            types = ("BIGINT", "VARCHAR", "DOUBLE", "BIGINT", "VARCHAR", "DATE")
            listed = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types)
            self.connection.execute(
                f"INSERT INTO visits SELECT {listed}", [list(column) for column in columns]
            )

    def exact(self, plan):
        """One vector of integers for each sum of the plan."""
        positions = {group: i for i, group in enumerate(groups_of(plan))}
        vectors = [np.zeros(len(positions), dtype=object) for _ in plan.bounded.sums]
        for statement in emit_sql(plan, "visits"):
            for row in self.connection.execute(statement.sql).fetchall():
                keys = len(statement.keys)
                for offset, i in enumerate(statement.sums):
                    vectors[i][positions[tuple(row[:keys])]] = int(row[keys + offset])
        return vectors
