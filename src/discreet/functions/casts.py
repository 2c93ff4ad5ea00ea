"""Casts between the types. What cannot be converted is NULL.

A text is a number, date or timestamp only in its plain ISO form. DuckDB alone would also read '0x10',
'1_000', 'epoch' or 'infinity', and other engines other things.
"""

from collections.abc import Sequence

from discreet.dialects.dialect import EmitScope, Operand
from discreet.functions.dates import in_calendar
from discreet.functions.definition import (
    ArgumentCheck,
    Arguments,
    Emit,
    Function,
    RangeRule,
    as_type,
    constant_moment,
    refuse_types,
)
from discreet.model.interval_arithmetic import (
    UNKNOWN,
    ValueInterval,
    each_end,
    half_away_from_zero,
    interval,
    outward,
)
from discreet.model.policy import ValueType

INTEGER, NUMBER, TEXT = ValueType.INTEGER, ValueType.NUMBER, ValueType.TEXT
BOOLEAN, DATE, TIMESTAMP = ValueType.BOOLEAN, ValueType.DATE, ValueType.TIMESTAMP

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_SHAPES = {
    INTEGER: "[+-]?[0-9]{1,30}",
    NUMBER: "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,4})?",
    DATE: _DATE,
    TIMESTAMP: f"{_DATE}([ T]{_TIME})?",
}

_LONGEST_TRUTH = len("false")

_SOURCES = {
    INTEGER: (NUMBER, TEXT, BOOLEAN),
    NUMBER: (INTEGER, TEXT, BOOLEAN),
    TEXT: (INTEGER, BOOLEAN, DATE, TIMESTAMP),
    BOOLEAN: (INTEGER, TEXT),
    DATE: (TEXT, TIMESTAMP),
    TIMESTAMP: (TEXT, DATE),
}

_OTHERWISE = {
    (NUMBER, TEXT): "Cast it to integer first; engines write decimals differently.",
    (NUMBER, BOOLEAN): "Compare it: x <> 0.",
    (DATE, INTEGER): "Use year(x), or date_diff('day', DATE '2000-01-01', x).",
}


def _from_text(sql: str, kind: ValueType, scope: EmitScope) -> str:
    """The text in its plain form, or NULL."""
    converted = scope.dialect.parsed(sql, kind, _SHAPES[kind], scope)
    return converted if kind.numeric else in_calendar(converted, kind, scope)


def _truth(sql: str, scope: EmitScope) -> str:
    """Only the beginning is looked at: a longer text is none of these words, and slow to change."""
    return scope.let(
        scope.dialect.text_call("lower", [f"left({sql}, {_LONGEST_TRUTH + 1})"]),
        lambda value: (
            f"(CASE WHEN {scope.dialect.binary(value)} = 'true' THEN TRUE"
            f" WHEN {scope.dialect.binary(value)} = 'false' THEN FALSE END)"
        ),
    )


def _emit(target: ValueType) -> Emit:
    def emit(operands: Sequence[Operand], scope: EmitScope) -> str:
        (operand,) = operands
        known = constant_moment(operand.expression, target)
        if known is not None:
            return scope.dialect.literal(known)
        match operand.expression.type, target:
            case source, _ if source is target:
                return operand.sql
            case ValueType.TEXT, ValueType.BOOLEAN:
                return _truth(operand.sql, scope)
            case ValueType.TEXT, _:
                return _from_text(operand.sql, target, scope)
            case ValueType.NUMBER, ValueType.INTEGER:
                return scope.dialect.to_integer("round", operand.sql, scope)
            case ValueType.INTEGER, ValueType.BOOLEAN:
                return f"({operand.sql} <> 0)"
        return scope.dialect.convert(operand.sql, operand.expression.type, target)

    return emit


def _range(target: ValueType) -> RangeRule:
    def range_rule(operands: Sequence[Operand]) -> ValueInterval:
        (operand,) = operands
        match operand.expression.type, target:
            case ValueType.BOOLEAN, ValueType.INTEGER | ValueType.NUMBER:
                return interval(0, 1)
            case ValueType.NUMBER, ValueType.INTEGER:
                return each_end(operand.interval, half_away_from_zero)
            case ValueType.INTEGER, ValueType.NUMBER:
                return outward(operand.interval)
            case source, _ if source is target:
                return operand.interval
        return UNKNOWN

    return range_rule


def _check(target: ValueType, usage: str) -> ArgumentCheck:
    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        (argument,) = arguments
        if argument.type is target or argument.type in _SOURCES[target]:
            return arguments, target
        null = as_type(argument, target)
        if null is not None:
            return (null,), target
        remedy = _OTHERWISE.get((argument.type, target), "There is no such conversion.")
        raise refuse_types(usage, arguments, remedy)

    return check


def _cast(target: ValueType) -> Function:
    usage = f"CAST(x AS {'DOUBLE' if target is NUMBER else target.value.upper()})"
    return Function(
        name=f"cast_{target.value}",
        usage=usage,
        fewest=1,
        most=1,
        check=_check(target, usage),
        emit=_emit(target),
        range=_range(target),
    )


CASTS = tuple(_cast(target) for target in ValueType)
