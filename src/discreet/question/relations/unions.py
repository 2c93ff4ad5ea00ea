"""UNION ALL: rows of several relations about the same people, column by column."""

from dataclasses import replace
from functools import partial

from discreet.errors import QueryRefused
from discreet.functions.day_ranges import bounded_days
from discreet.functions.registry import build_call, range_of
from discreet.model.expression import DayRange, Expression, Field, Range
from discreet.model.policy import KeyValue, ValueType
from discreet.model.query import Branch, Relation, UnionAll
from discreet.question.expressions.scope import Keys, Scope


def united(parts: list[tuple[Relation, Scope]], name: str, alias: str) -> tuple[Relation, Scope]:
    """All of them as one relation, and what is known of its columns: what holds in every part."""
    lists = [list(scope.sources[0].columns.items()) for _, scope in parts]
    if len({len(columns) for columns in lists}) != 1:
        raise QueryRefused(
            "Both sides of UNION ALL need the same columns.", remedy="Select as many on each, in one order."
        )
    scope = Scope()
    fields: list[Field] = []
    branches: list[list[Expression]] = [[] for _ in parts]
    for entries in zip(*lists, strict=True):
        expressions = _one_type([expression for _, expression in entries], entries[0][0])
        field = _united_field(f"{alias}.{entries[0][0]}", expressions)
        fields.append(field)
        if all(part.is_person(e) for (_, part), e in zip(parts, expressions, strict=True)):
            scope.persons.add(field.name)
        known = [
            part.keys.get(e.name) if isinstance(e, Field) else None
            for (_, part), e in zip(parts, expressions, strict=True)
        ]
        listed = [keys for keys in known if keys is not None]
        if len(listed) == len(known):
            scope.keys[field.name] = partial(_all_keys, listed)
        for branch, expression in zip(branches, expressions, strict=True):
            branch.append(expression)
    relation = UnionAll(
        branches=tuple(
            Branch(source=source, columns=tuple(columns))
            for (source, _), columns in zip(parts, branches, strict=True)
        ),
        fields=tuple(fields),
    )
    columns = {column: field for (column, _), field in zip(lists[0], fields, strict=True)}
    return relation, scope.named(name, columns)


def _all_keys(known: list[Keys]) -> tuple[KeyValue, ...] | None:
    found: dict[KeyValue, None] = {}
    for keys in known:
        values = keys()
        if values is None:
            return None
        found |= dict.fromkeys(values)
    return tuple(found)


def _one_type(expressions: list[Expression], name: str) -> list[Expression]:
    kinds = {expression.type for expression in expressions}
    if kinds == {ValueType.INTEGER, ValueType.NUMBER}:
        return [build_call("cast_number", (expression,)) for expression in expressions]
    if len(kinds) > 1:
        raise QueryRefused(
            f"“{name}” has different types on the two sides of UNION ALL.", remedy="Use CAST on one of them."
        )
    return expressions


def _united_field(name: str, expressions: list[Expression]) -> Field:
    ranges = [range_of(expression) for expression in expressions]
    known = [span for span in ranges if span is not None]
    span = None
    if len(known) == len(ranges):
        span = Range(low=min(r.low for r in known), high=max(r.high for r in known))
    units = {expression.unit if isinstance(expression, Field) else None for expression in expressions}
    days = [bounded_days(expression) for expression in expressions]
    both = [each for each in days if each is not None]
    within = None
    if len(both) == len(days):
        within = DayRange(low=min(each.low for each in both), high=max(each.high for each in both))
    field = Field(name=name, type=expressions[0].type, range=span, days=within)
    return replace(field, unit=units.pop()) if len(units) == 1 else field
