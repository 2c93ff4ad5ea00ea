"""The Python front-end: a question put together step by step. It is written as SQL, and takes the same path.

    curator.table("visits").where("age > 65").group_by("ward").mean("cost").ask(epsilon=0.1)

Steps take columns and expressions as they are written in SQL; each gives a new frame.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import QueryRefused

AnswerT = TypeVar("AnswerT")
ExplanationT = TypeVar("ExplanationT")


@dataclass(frozen=True, slots=True)
class Frame(Generic[AnswerT, ExplanationT]):
    """Rows of a table, and what is asked of them."""

    source: str
    asks: Callable[..., AnswerT]
    explains: Callable[..., ExplanationT]
    joins: tuple[tuple[str, str], ...] = ()
    conditions: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    measures: tuple[tuple[str, str], ...] = ()
    filters: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    most: int | None = None

    # Rows

    def join(self, table: str, on: str) -> "Frame[AnswerT, ExplanationT]":
        """With the rows of a public table, or of the same person in another: on = "ward", or "a.x = b.y"."""
        return replace(self, joins=(*self.joins, (table, on)))

    def where(self, *conditions: str) -> "Frame[AnswerT, ExplanationT]":
        """Only rows on which all of these hold, such as "age > 65"."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def group_by(self, *keys: str | Sequence[str]) -> "Frame[AnswerT, ExplanationT]":
        """For each value of these: columns, or expressions such as "floor(age / 10) * 10 AS decade".

        group_by("ward", "age") and group_by(["ward", "age"]) are the same.
        """
        return replace(self, keys=(*self.keys, *_several(keys)))

    # Measures

    def count(self, name: str = "count") -> "Frame[AnswerT, ExplanationT]":
        """How many rows."""
        return self.measure(**{name: "count(*)"})

    def count_distinct(self, column: str, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """How many different values; of the person column, how many people."""
        return self.measure(**{name or f"{column}_count": f"count(DISTINCT {column})"})

    def sum(self, column: str, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """The sum of a column with bounds, as COLUMN_sum unless `name` is given."""
        return self.measure(**{name or f"{column}_sum": f"sum({column})"})

    def mean(self, column: str, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """The average of a column with bounds, as COLUMN_mean unless `name` is given."""
        return self.measure(**{name or f"{column}_mean": f"avg({column})"})

    def variance(self, column: str, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """The variance of a column with bounds, divided by n."""
        return self.measure(**{name or f"{column}_variance": f"variance({column})"})

    def std(self, column: str, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """The standard deviation."""
        return self.measure(**{name or f"{column}_std": f"stddev({column})"})

    def median(self, column: str, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """The median of a column with bounds: half of the rows are at or below it."""
        return self.measure(**{name or f"{column}_median": f"median({column})"})

    def quantile(self, column: str, share: float, name: str = "") -> "Frame[AnswerT, ExplanationT]":
        """The value that this share of the rows is at or below."""
        return self.measure(**{name or f"{column}_quantile": f"quantile({column}, {share!r})"})

    def measure(self, **measures: str) -> "Frame[AnswerT, ExplanationT]":
        """Anything else that can be asked in SQL, by name: per_bed="count(*) / 20"."""
        return replace(self, measures=(*self.measures, *measures.items()))

    # On noisy values

    def having(self, *conditions: str) -> "Frame[AnswerT, ExplanationT]":
        """Only groups whose noisy values meet these."""
        return replace(self, filters=(*self.filters, *conditions))

    def order_by(self, *orders: str | Sequence[str]) -> "Frame[AnswerT, ExplanationT]":
        """By noisy values or keys: "count DESC"."""
        return replace(self, orders=(*self.orders, *_several(orders)))

    def limit(self, most: int) -> "Frame[AnswerT, ExplanationT]":
        """The first so many groups, after `order_by`."""
        return replace(self, most=most)

    # The question

    @property
    def sql(self) -> str:
        """The question in SQL."""
        try:
            return self._select().sql(dialect="duckdb")
        except SqlglotError:
            raise QueryRefused(
                "A step of the question is not SQL that discreet can read.",
                remedy='Write columns and conditions as in SQL: where("age > 65").',
            ) from None

    def _select(self) -> exp.Select:
        keys = [_parsed(key) for key in self.keys]
        measures = [exp.alias_(_parsed(sql), name, quoted=True) for name, sql in self.measures]
        select = exp.select(*keys, *measures).from_(exp.to_table(self.source))
        for table, on in self.joins:
            if on.isidentifier():
                select = select.join(exp.to_table(table), using=on)
            else:
                select = select.join(exp.to_table(table), on=_parsed(on))
        for condition in self.conditions:
            select = select.where(_parsed(condition))
        if keys:
            select = select.group_by(*(_named(key) for key in keys))
        for condition in self.filters:
            select = select.having(_parsed(condition))
        if self.orders:
            select = select.order_by(*self.orders, dialect="duckdb")
        return select if self.most is None else select.limit(self.most)

    def ask(self, **price: Any) -> AnswerT:
        """The private answer, at epsilon=, rho= or within=."""
        return self.asks(self.sql, **price)

    def explain(self, **price: Any) -> ExplanationT:
        """Price and error. Reads no data and costs nothing."""
        return self.explains(self.sql, **price)

    def __str__(self) -> str:
        return self.sql


def _several(steps: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """One by one, or in lists."""
    lists = ([each] if isinstance(each, str) or not isinstance(each, Sequence) else each for each in steps)
    return tuple(step for each in lists for step in each)


def _parsed(text: str) -> exp.Expression:
    """One expression; anything after it, such as a second statement, is an error."""
    if not isinstance(text, str):
        raise QueryRefused(
            f"A step takes text as in SQL, not a {type(text).__name__}.", remedy='Write where("age > 65").'
        )
    parsed = sqlglot.parse_one(f"SELECT {text}", read="duckdb")
    if not isinstance(parsed, exp.Select) or len(parsed.expressions) != 1 or len(_given(parsed)) != 1:
        raise QueryRefused(
            "A step of the question takes one expression.", remedy='Give several: group_by("ward", "age").'
        )
    found: exp.Expression = parsed.expressions[0]
    return found


def _given(select: exp.Select) -> list[str]:
    return [name for name, value in select.args.items() if value]


def _named(key: exp.Expression) -> exp.Expression:
    return exp.column(key.alias, quoted=True) if isinstance(key, exp.Alias) else key
