"""Stage 2: names, types, and who the person is: from sqlglot's tree to our own. The rest is refused."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TypeVar

from sqlglot import exp

from discreet.compile.convert import convert
from discreet.compile.functions import build_call
from discreet.compile.keys import integer_values, possible_values
from discreet.errors import QueryRefused
from discreet.model.expression import Expression, Field, Literal, Range
from discreet.model.policy import Dataset, KeyValue, PersonColumn, PrivateTable, PublicTable, ValueType
from discreet.model.query import (
    Aggregate,
    Filter,
    GroupKey,
    Measure,
    Order,
    Output,
    Query,
    Relation,
    Scan,
)

MOST_GROUPS = 1_000_000
_MOST_INTEGER_KEYS = 100_000
_MOST_OUTPUTS = 200

_AGGREGATES: dict[type[exp.Expression], Aggregate] = {
    exp.Sum: Aggregate.SUM,
    exp.Avg: Aggregate.AVERAGE,
    exp.Variance: Aggregate.VARIANCE,
    exp.VariancePop: Aggregate.VARIANCE,
    exp.Stddev: Aggregate.VARIANCE,
    exp.StddevSamp: Aggregate.VARIANCE,
    exp.StddevPop: Aggregate.VARIANCE,
}
_DEVIATIONS = (exp.Stddev, exp.StddevSamp, exp.StddevPop)


def resolve(select: exp.Select, dataset: Dataset) -> Query:
    """The question in our own tree."""
    return _Resolver(select, dataset).query()


@dataclass(slots=True)
class _Resolver:
    select: exp.Select
    dataset: Dataset
    table: PrivateTable = field(init=False)
    alias: str = field(init=False)
    keys: list[GroupKey] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def query(self) -> Query:
        self.table, self.alias = self._from()
        source: Relation = Scan(table=self.table)
        where = self.select.args.get("where")
        if where is not None:
            source = Filter(source=source, predicate=self._predicate(where.this, "WHERE"))
        self.keys = self._group_keys(where.this if where is not None else None)
        self.outputs = self._outputs()
        having = self.select.args.get("having")
        query = Query(
            source=source,
            keys=tuple(self.keys),
            outputs=tuple(self.outputs),
            having=None if having is None else self._output(having.this),
            order=tuple(self._order()),
            limit=self._limit(),
            measures=tuple(self.measures),
        )
        if not query.measures:
            raise QueryRefused(
                "The question asks for no aggregate, and single rows are never shown.",
                remedy="Ask for count(*), sum(…) or avg(…), with GROUP BY for each group.",
            )
        return query

    # FROM and WHERE

    def _from(self) -> tuple[PrivateTable, str]:
        source = self.select.args.get("from_")
        node = source.this if source is not None else None
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise QueryRefused(
                "A question is about one table of the policy.", remedy="Write SELECT … FROM TABLE."
            )
        extra = {name for name, value in node.args.items() if value} - {"this", "alias"}
        if extra:
            raise QueryRefused("A table is named by its name alone.", remedy="Write FROM TABLE.")
        table = _lookup(node.name, self.dataset.tables, "table")
        if isinstance(table, PublicTable):
            raise QueryRefused(
                f"“{table.name}” is a public table: there is nothing to protect.",
                remedy="Look at it directly, and ask about a table with people.",
            )
        return table, node.alias_or_name

    def _predicate(self, node: exp.Expression, clause: str) -> Expression:
        predicate = self._row(node)
        if predicate.type is not ValueType.BOOLEAN:
            raise QueryRefused(f"{clause} needs a condition.", remedy="Compare something: ward = 'north'.")
        return predicate

    # Row-wise expressions

    def _row(self, node: exp.Expression) -> Expression:
        return convert(node, self._row_leaf)

    def _row_leaf(self, node: exp.Expression) -> Expression | None:
        if isinstance(node, exp.Column):
            return self._field(node)
        if isinstance(node, exp.AggFunc | exp.Filter):
            raise QueryRefused(
                "An aggregate cannot stand where rows are chosen.", remedy="Use HAVING for noisy values."
            )
        return None

    def _field(self, node: exp.Column) -> Field:
        qualifier = node.args.get("table")
        if qualifier is not None and qualifier.name.casefold() not in (
            self.alias.casefold(),
            self.table.name.casefold(),
        ):
            raise QueryRefused(
                f"There is no “{qualifier.name}” in this question.", remedy=f"Write {self.alias}.COLUMN."
            )
        if node.args.get("db") or isinstance(node.this, exp.Star):
            raise QueryRefused("A column is named by its name.", remedy="Name the columns, one by one.")
        column = _lookup(node.name, self.table.columns, f"column of “{self.table.name}”")
        span = None if column.bounds is None else Range(low=column.bounds.low, high=column.bounds.high)
        return Field(name=column.name, type=column.type, range=span)

    # GROUP BY

    def _group_keys(self, where: exp.Expression | None) -> list[GroupKey]:
        group = self.select.args.get("group")
        if group is None:
            return []
        if {name for name, value in group.args.items() if value} - {"expressions"}:
            raise QueryRefused(
                "Only a plain GROUP BY can be asked.", remedy="Ask for each grouping on its own."
            )
        keys: list[GroupKey] = []
        for node in group.expressions:
            chosen, name = self._selected(node)
            expression = self._row(chosen)
            person = self.table.person
            if isinstance(person, PersonColumn) and expression == self._field(
                exp.column(person.name, quoted=True)
            ):
                raise QueryRefused(
                    "Grouping by person would show single people.",
                    remedy="Group by something that many share.",
                )
            values = self._public_values(expression, where)
            if values is None:
                raise QueryRefused(
                    f"The values of {name} are not public, so even which ones occur must not be shown.",
                    remedy=f"List them: WHERE {name} IN (…), or declare keys = […] in the policy.",
                )
            keys.append(GroupKey(name=name, expression=expression, values=values))
        total = 1
        for key in keys:
            total *= len(key.values or ())
        if total > MOST_GROUPS:
            raise QueryRefused(
                f"That is {total:,} groups; at most {MOST_GROUPS:,} can be asked for.",
                remedy="Group by fewer things, or by coarser ones.",
            )
        return keys

    def _selected(self, node: exp.Expression) -> tuple[exp.Expression, str]:
        """A GROUP BY item may be a position or an alias of the SELECT list."""
        items = self.select.expressions
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) if node.this.isdigit() else 0
            if not 1 <= position <= len(items):
                raise QueryRefused("GROUP BY has no such position.", remedy="Name what to group by.")
            node = items[position - 1]
        for item in items:
            if isinstance(item, exp.Alias) and (item.this == node or _is_name(node, item.alias)):
                return item.this, item.alias
        inner = node.this if isinstance(node, exp.Alias) else node
        return inner, node.alias_or_name or inner.sql(dialect="duckdb")

    def _public_values(
        self, expression: Expression, where: exp.Expression | None
    ) -> tuple[KeyValue | None, ...] | None:
        """All values of a key, if anybody may know them: listed, declared, or computed from bounds."""
        for node in _conjuncts(where):
            if isinstance(node, exp.In) and node.expressions and self._row(node.this) == expression:
                listed = [self._row(item) for item in node.expressions]
                values = [item.value for item in listed if isinstance(item, Literal)]
                return tuple(dict.fromkeys(v for v in values if isinstance(v, str | int | bool | date)))
            if isinstance(node, exp.EQ) and self._row(node.this) == expression:
                other = self._row(node.expression)
                if isinstance(other, Literal) and isinstance(other.value, str | int | bool | date):
                    return (other.value,)
        declared = {column.name: column.keys for column in self.table.columns.values()}
        values_of = possible_values(expression, declared)
        if values_of is not None:
            return values_of
        numbers = integer_values(expression, _MOST_INTEGER_KEYS)
        return None if numbers is None else tuple(numbers)

    # SELECT, HAVING, ORDER BY: over keys and measures only

    def _outputs(self) -> list[Output]:
        items = self.select.expressions
        if len(items) > _MOST_OUTPUTS:
            raise QueryRefused(
                f"At most {_MOST_OUTPUTS} columns can be asked for.", remedy="Ask in two questions."
            )
        outputs: list[Output] = []
        taken: set[str] = set()
        for item in items:
            if isinstance(item, exp.Star):
                raise QueryRefused(
                    "Rows are never shown, so * stands for nothing.", remedy="Name aggregates."
                )
            inner = item.this if isinstance(item, exp.Alias) else item
            named = isinstance(item, exp.Alias | exp.Column)
            name = item.alias_or_name if named else inner.sql(dialect="duckdb").lower()
            while name in taken:
                name += "_"
            taken.add(name)
            outputs.append(Output(name=name, expression=self._output(inner)))
        return outputs

    def _output(self, node: exp.Expression) -> Expression:
        return convert(node, self._output_leaf)

    def _output_leaf(self, node: exp.Expression) -> Expression | None:
        measure = self._measure(node)
        if measure is not None:
            return measure
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            return None
        for key in self.keys:
            if _is_name(node, key.name):
                return Field(name=key.name, type=key.expression.type)
        for output in self.outputs:
            if _is_name(node, output.name):
                return output.expression
        try:
            expression = self._row(node)
        except QueryRefused:
            if isinstance(node, exp.Column):
                raise
            return None
        for key in self.keys:
            if expression == key.expression:
                return Field(name=key.name, type=key.expression.type)
        if isinstance(node, exp.Column):
            raise QueryRefused(
                f"“{node.name}” is neither grouped by nor aggregated.",
                remedy=f"Add GROUP BY {node.name}, or ask for sum({node.name}) or count(*).",
            )
        return None

    def _measure(self, node: exp.Expression) -> Expression | None:
        condition: Expression | None = None
        if isinstance(node, exp.Filter):
            condition = self._predicate(node.expression.this, "FILTER")
            node = node.this
        if isinstance(node, exp.Count):
            return self._count(node, condition)
        aggregate = _AGGREGATES.get(type(node))
        if aggregate is None:
            if isinstance(node, exp.AggFunc):
                raise QueryRefused(
                    f"{node.key.upper()} has no private version here.",
                    remedy="Ask for count, sum, avg, variance or stddev.",
                )
            return None
        argument = self._row(node.this)
        if not argument.type.numeric:
            raise QueryRefused(
                f"{aggregate.value.upper()} needs a number, not {argument.type.value}.",
                remedy="Use a numeric column, or CASE WHEN … THEN 1 ELSE 0 END.",
            )
        measured = self._add(aggregate, argument, condition)
        return build_call("sqrt", (measured,)) if isinstance(node, _DEVIATIONS) else measured

    def _count(self, node: exp.Count, condition: Expression | None) -> Field:
        inner = node.this
        if isinstance(inner, exp.Star) or inner is None:
            return self._add(Aggregate.COUNT, None, condition)
        if isinstance(inner, exp.Distinct):
            return self._people(inner, condition)
        return self._add(Aggregate.COUNT, self._row(inner), condition)

    def _people(self, inner: exp.Distinct, condition: Expression | None) -> Field:
        person = self.table.person
        if not isinstance(person, PersonColumn):
            remedy = "Every row is a person here: ask for count(*)."
        else:
            remedy = f"Ask for count(DISTINCT {person.name})."
            columns = [self._field(node) for node in inner.expressions if isinstance(node, exp.Column)]
            if len(inner.expressions) == 1 and [column.name for column in columns] == [person.name]:
                return self._add(Aggregate.PEOPLE, None, condition)
        raise QueryRefused("Only people can be counted as DISTINCT.", remedy=remedy)

    def _add(self, aggregate: Aggregate, argument: Expression | None, condition: Expression | None) -> Field:
        for measure in self.measures:
            if (measure.aggregate, measure.argument, measure.condition) == (aggregate, argument, condition):
                break
        else:
            measure = Measure(
                name=f"m{len(self.measures)}", aggregate=aggregate, argument=argument, condition=condition
            )
            self.measures.append(measure)
        return Field(name=measure.name, type=ValueType.NUMBER)

    def _order(self) -> Iterable[Order]:
        order = self.select.args.get("order")
        for item in order.expressions if order is not None else ():
            node = item.this
            if (
                isinstance(node, exp.Literal)
                and node.this.isdigit()
                and 1 <= int(node.this) <= len(self.outputs)
            ):
                expression = self.outputs[int(node.this) - 1].expression
            else:
                expression = self._output(node)
            yield Order(expression=expression, descending=bool(item.args.get("desc")))

    def _limit(self) -> int | None:
        limit = self.select.args.get("limit")
        if limit is None:
            return None
        node = limit.expression
        if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdigit():
            raise QueryRefused("LIMIT needs a whole number.", remedy="Write LIMIT 10.")
        return int(node.this)


Named = TypeVar("Named")


def _lookup(name: str, known: Mapping[str, Named], what: str) -> Named:
    """By name, whatever its case; or a refusal with the nearest name."""
    if name in known:
        return known[name]
    folded = [other for other in known if other.casefold() == name.casefold()]
    if len(folded) == 1:
        return known[folded[0]]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean “{nearest[0]}”?" if nearest else f"There are: {', '.join(sorted(known)[:20])}."
    raise QueryRefused(f"There is no {what} “{name[:60]}”.", remedy=hint)


def _is_name(node: exp.Expression, name: str) -> bool:
    return (
        isinstance(node, exp.Column)
        and not node.args.get("table")
        and node.name.casefold() == name.casefold()
    )


def _conjuncts(node: exp.Expression | None) -> Iterator[exp.Expression]:
    """The conditions that all have to hold."""
    match node:
        case None:
            return
        case exp.And():
            yield from _conjuncts(node.this)
            yield from _conjuncts(node.expression)
        case exp.Paren():
            yield from _conjuncts(node.this)
        case _:
            yield node
