"""Subqueries that compute values of each person: SELECT person, count(*) … GROUP BY person.

They are exact, because one person's values depend on no other's; noise comes where people are put together.
A count or a sum of one person has no bounds of its own. Where it is summed, averaged or grouped by, and
nothing else bounds it, it is clamped to what max_rows rows can come to. In conditions it is not clamped.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from discreet.aggregates.grid import EXACT_STEPS, grid_of, steps
from discreet.aggregates.weights import too_large
from discreet.bounds.relation_tree import type_of_person
from discreet.errors import QueryRefused
from discreet.functions.day_ranges import bounded_days
from discreet.functions.registry import build_call, range_of
from discreet.model.expression import Expression, Field, Range
from discreet.model.person_value import PersonAggregate, PersonValue
from discreet.model.policy import ValueType
from discreet.model.query import Filter, PerPerson, Relation
from discreet.question.expressions.convert import convert
from discreet.question.expressions.grouping import MOST_KEYS, too_many_keys
from discreet.question.expressions.scope import Scope, position_of, predicate, row_expression
from discreet.question.mistakes.instead import plain_sql

_AGGREGATES: dict[type[exp.Expression], PersonAggregate] = {
    exp.Sum: PersonAggregate.SUM,
    exp.Avg: PersonAggregate.AVERAGE,
    exp.Min: PersonAggregate.MIN,
    exp.Max: PersonAggregate.MAX,
}


def per_person(
    select: exp.Select, source: Relation, scope: Scope, alias: str
) -> tuple[Relation, dict[str, Expression], Scope]:
    """The relation of a subquery that is grouped by person, its columns, and what is known of them."""
    return _PerPersonReader(select, source, scope, alias).read()


def keeps_people_apart(select: exp.Select, source: Relation, scope: Scope) -> bool:
    """Whether a subquery is grouped by person, so that it computes values of each."""
    group = select.args.get("group")
    reader = _PerPersonReader(select, source, scope, "")
    return any(reader.is_person(node) for node in (group.expressions if group is not None else ()))


@dataclass(slots=True)
class _PerPersonReader:
    select: exp.Select
    source: Relation
    scope: Scope
    alias: str
    keys: list[tuple[Field, Expression]] = field(default_factory=list)
    values: list[PersonValue] = field(default_factory=list)
    above: Scope = field(default_factory=Scope)
    columns: dict[str, Expression] = field(default_factory=dict)
    _known: dict[tuple[PersonAggregate, Expression | None, Expression | None], Field] = field(
        default_factory=dict
    )
    """The values so far, by what they are: there may be many."""

    def read(self) -> tuple[Relation, dict[str, Expression], Scope]:
        person = self._group()
        for item in self.select.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            name = item.alias_or_name or plain_sql(inner).lower()
            self.columns[name] = self._output(inner, person)
        having = self.select.args.get("having")
        condition = None if having is None else self._output(having.this, person)
        relation: Relation = PerPerson(
            source=self.source, person=person, keys=tuple(self.keys), values=tuple(self.values)
        )
        if condition is not None:
            if condition.type is not ValueType.BOOLEAN:
                raise QueryRefused("HAVING needs a condition.", remedy="Compare something: count(*) > 3.")
            relation = Filter(source=relation, predicate=condition)
        return relation, self.columns, self.above

    def _group(self) -> Field:
        """The person, and the other keys if there are any."""
        group = self.select.args.get("group")
        nodes = group.expressions if group is not None else []
        if group is not None and {name for name, value in group.args.items() if value} - {"expressions"}:
            raise _keep_people_apart()
        person: Field | None = None
        for node in nodes:
            expression = row_expression(self._selected(node), self.scope)
            if isinstance(expression, Field) and self.scope.is_person(expression):
                person = Field(name=f"{self.alias}.person", type=expression.type)
                self.above.persons.add(person.name)
                continue
            if len(self.keys) == MOST_KEYS:
                raise too_many_keys()
            key = Field(
                name=f"{self.alias}.key{len(self.keys)}",
                type=expression.type,
                range=range_of(expression),
                unit=expression.unit if isinstance(expression, Field) else None,
                days=bounded_days(expression),
            )
            owner = self.scope.owner_keys.get(expression.name) if isinstance(expression, Field) else None
            if owner is not None:
                self.above.owner_keys[key.name] = owner
            if isinstance(expression, Field) and expression.name in self.scope.keys:
                self.above.keys[key.name] = self.scope.keys[expression.name]
            self.keys.append((key, expression))
        if person is None and not self.above.owner_keys:
            raise _keep_people_apart()
        return person or Field(name=f"{self.alias}.person", type=type_of_person(self.source))

    def is_person(self, node: exp.Expression) -> bool:
        """Whether an item of GROUP BY is the person, or a key that leads to one."""
        try:
            found = row_expression(self._selected(node), self.scope)
        except QueryRefused:
            return False
        return self.scope.is_person(found) or (
            isinstance(found, Field) and found.name in self.scope.owner_keys
        )

    def _selected(self, node: exp.Expression) -> exp.Expression:
        """A GROUP BY item may be a position or an alias of the SELECT list."""
        items = self.select.expressions
        position = position_of(node)
        if 1 <= position <= len(items):
            node = items[position - 1]
        for item in items:
            if (
                isinstance(item, exp.Alias)
                and isinstance(node, exp.Column)
                and not node.args.get("table")
                and item.alias.casefold() == node.name.casefold()
            ):
                return _inner(item)
        return _inner(node)

    def _output(self, node: exp.Expression, person: Field) -> Expression:
        def leaf(inner: exp.Expression) -> Expression | None:
            value = self._value(inner)
            if value is not None:
                return value
            if isinstance(inner, exp.Literal | exp.Null | exp.Boolean):
                return None
            if isinstance(inner, exp.Column) and not inner.args.get("table"):
                named = {name.casefold(): column for name, column in self.columns.items()}
                known: Expression | None = named.get(inner.name.casefold())
                if known is not None:
                    return known
            if _has_aggregate(inner):
                return None
            expression = row_expression(inner, self.scope)
            if self.scope.is_person(expression):
                return person
            for key, grouped in self.keys:
                if grouped == expression:
                    return key
            if isinstance(inner, exp.Column):
                raise QueryRefused(
                    f"“{inner.name}” is neither grouped by nor aggregated in the subquery.",
                    remedy=f"Add it to GROUP BY, or take max({inner.name}).",
                )
            return None

        return convert(node, leaf)

    def _value(self, node: exp.Expression) -> Field | None:
        """An aggregate over the rows of one person."""
        condition: Expression | None = None
        if isinstance(node, exp.Filter):
            condition = predicate(node.expression.this, self.scope, "FILTER")
            node = node.this
        if isinstance(node, exp.Count):
            return self._count(node, condition)
        aggregate = _AGGREGATES.get(type(node))
        if aggregate is None:
            if isinstance(node, exp.AggFunc | exp.WithinGroup):
                raise QueryRefused(
                    f"{node.key.upper()} of one person cannot be asked.",
                    remedy="Use count, sum, avg, min or max in the subquery.",
                )
            return None
        argument = row_expression(node.this, self.scope)
        if argument.type is ValueType.BOOLEAN and isinstance(node, exp.Sum | exp.Avg):
            argument = build_call("cast_integer", (argument,))
        return self._add(aggregate, argument, condition)

    def _count(self, node: exp.Count, condition: Expression | None) -> Field:
        inner = node.this
        if isinstance(inner, exp.Star) or inner is None:
            return self._add(PersonAggregate.COUNT, None, condition)
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) != 1:
                raise QueryRefused("count(DISTINCT …) takes one thing.", remedy="Count one column.")
            argument = row_expression(inner.expressions[0], self.scope)
            return self._add(PersonAggregate.DISTINCT, argument, condition)
        return self._add(PersonAggregate.COUNT, row_expression(inner, self.scope), condition)

    def _add(
        self, aggregate: PersonAggregate, argument: Expression | None, condition: Expression | None
    ) -> Field:
        known = self._known.get((aggregate, argument, condition))
        if known is not None:
            return known
        made = self._known[aggregate, argument, condition] = self._field(aggregate, argument)
        grid = Fraction(1) if argument is None else grid_of_value(argument)
        self.values.append(
            PersonValue(field=made, aggregate=aggregate, argument=argument, condition=condition, grid=grid)
        )
        return made

    def _field(self, aggregate: PersonAggregate, argument: Expression | None) -> Field:
        name = f"{self.alias}.value{len(self.values)}"
        rows = self.source.max_rows
        if argument is None or aggregate in (PersonAggregate.COUNT, PersonAggregate.DISTINCT):
            self.above.limits[name] = Range(low=Fraction(0), high=Fraction(rows))
            return Field(name=name, type=ValueType.INTEGER)
        span = range_of(argument)
        if aggregate in (PersonAggregate.MIN, PersonAggregate.MAX):
            return Field(name=name, type=argument.type, range=span, days=bounded_days(argument))
        if span is None:
            raise QueryRefused(
                f"{aggregate.value.upper()} of one person needs a number with bounds.",
                remedy="Use a column with declared bounds, or clamp it: least(greatest(…, 0), 100).",
            )
        grid = _grid(argument)
        if max(steps(span.low, grid), steps(span.high, grid)) >= EXACT_STEPS:
            raise too_large()
        if aggregate is PersonAggregate.AVERAGE:
            return Field(name=name, type=ValueType.NUMBER, range=span)
        self.above.limits[name] = Range(
            low=rows * min(span.low, Fraction(0)), high=rows * max(span.high, Fraction(0))
        )
        whole = argument.type is ValueType.INTEGER and grid == 1
        return Field(name=name, type=ValueType.INTEGER if whole else ValueType.NUMBER)


def grid_of_value(argument: Expression) -> Fraction:
    """Of what is computed from a value of each person. Texts, days and the like have none."""
    return Fraction(1) if argument.type is ValueType.TEXT else _grid(argument)


def _grid(argument: Expression) -> Fraction:
    span = range_of(argument)
    return Fraction(1) if span is None else grid_of(argument, span)


def _inner(node: exp.Expression) -> exp.Expression:
    inner: exp.Expression = node.this if isinstance(node, exp.Alias) else node
    return inner


def _has_aggregate(node: exp.Expression) -> bool:
    return node.find(exp.AggFunc) is not None


def _keep_people_apart() -> QueryRefused:
    return QueryRefused(
        "A subquery that aggregates must keep people apart, or it would be an answer without noise.",
        remedy="Write GROUP BY the person column in it; or use HAVING, on noisy values.",
    )
