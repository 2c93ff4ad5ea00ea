"""Many groups that hold the same rows, so that one question has as many intervals for one truth.

The whole path from exact rows to an answer is run: the SQL, the noise, what is stored, and the outputs.
"""

from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
from discreet.dialects.duckdb import DUCKDB
from discreet.model.deadline import Deadline
from discreet.model.policy import Bounds, Column, EachRow, PrivateTable, ValueType
from discreet.model.request import ByEpsilon, Request
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.release.draw import answer_from, draw_noise
from discreet.sql.emit import emit_sql
from tests.question.clinic import clinic, fan_out, public_keys


class SameGroups:
    """Groups 0 … groups − 1, in the column place and, as a private key, in name; each with these rows.

    A row is a kind, a text, and a value from 0 to 100.
    """

    def __init__(self, rows, *, groups, delta=0, budget=20):
        columns = [
            Column(
                name="place",
                type=ValueType.INTEGER,
                bounds=Bounds(low=Fraction(0), high=Fraction(groups - 1)),
            ),
            Column(name="name", type=ValueType.TEXT),
            Column(name="kind", type=ValueType.TEXT),
            Column(name="x", type=ValueType.NUMBER, bounds=Bounds(low=Fraction(0), high=Fraction(100))),
        ]
        table = PrivateTable(
            name="t",
            source="t.parquet",
            person=EachRow(),
            unique=True,
            max_rows=1,
            max_groups=1,
            columns={column.name: column for column in columns},
        )
        plain = clinic(epsilon=budget, delta=delta)
        self.dataset = replace(plain, tables={"t": table})
        self.groups = groups
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute(
            "CREATE TABLE t AS SELECT place, 'g' || place AS name, kind, x FROM"
            " (SELECT unnest(?::VARCHAR[]) AS kind, unnest(?::DOUBLE[]) AS x), range(?) AS places(place)",
            [[kind for kind, _ in rows], [float(x) for _, x in rows], groups],
        )

    def plan(self, sql, epsilon):
        request = Request(price=ByEpsilon(epsilon=Fraction(str(epsilon))), confidence=Fraction(95, 100))
        query = resolve(parse_sql(sql), self.dataset, public_keys, fan_out)
        return calibrate(bound(query, self.dataset), request, self.dataset)

    def exact(self, plan):
        return [
            (statement, self.connection.execute(statement.sql).fetchnumpy())
            for statement in emit_sql(plan, {"t": "t"}, DUCKDB)
        ]

    def asked(self, plan, exact):
        return answer_from(plan, draw_noise(plan, exact), Deadline.after(600))

    def intervals(self, sql, *, epsilon, name="y", times=1):
        """The ends of the intervals of a column, over all groups and times."""
        plan = self.plan(sql, epsilon)
        exact = self.exact(plan)
        answers = [self.asked(plan, exact) for _ in range(times)]
        return tuple(
            np.concatenate([getattr(each, end)[name] for each in answers]) for end in ("low", "high")
        )

    def share_that_holds(self, sql, truth, *, epsilon, times=1):
        low, high = self.intervals(sql, epsilon=epsilon, times=times)
        return float(((low <= truth) & (truth <= high)).mean())
