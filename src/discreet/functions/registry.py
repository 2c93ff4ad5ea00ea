"""The allow-list of row-wise functions: what a question may compute from one row, and nothing else.

    build_call      a checked call, the only way in for the SQL parser and for the Python front-end
    range_of        where all values of a numeric expression lie
    emit            the expression as SQL of a dialect that cannot raise on any row

The public keys of an expression are in `functions.public_values`. Every function is defined once, in the file
of its subject. A new one needs a line in docs/reference/sql-functions.md, or a test fails.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from discreet.dialects.dialect import Dialect, EmitScope, Operand
from discreet.dialects.duckdb import DUCKDB
from discreet.dialects.quoting import build_literal, check_literal, number_of
from discreet.errors import QueryRefused
from discreet.functions.arithmetic import ARITHMETIC
from discreet.functions.casts import CASTS
from discreet.functions.columns import field_interval, field_sql
from discreet.functions.dates import DATES
from discreet.functions.definition import Arguments, Function, is_null_literal
from discreet.functions.logic import LOGIC
from discreet.functions.texts import TEXTS
from discreet.model.expression import Call, Expression, Field, Literal, Range, fields_of, size_of
from discreet.model.interval_arithmetic import UNKNOWN, ValueInterval, point
from discreet.model.policy import ValueType

__all__ = ["FUNCTIONS", "build_call", "build_literal", "check_size", "emit", "emit_duckdb", "range_of"]

FUNCTIONS: Mapping[str, Function] = {
    function.name: function for function in (*ARITHMETIC, *LOGIC, *TEXTS, *DATES, *CASTS)
}

MOST_NODES = 10_000
MOST_CALLS = 1_000
"""A database plans a call in about 3 ms, and constants in far less."""
MOST_LEVELS = 64
"""DuckDB binds names level by level: 64 levels take it a fraction of a second, 200 take seconds."""

_FLATTENED = ("and", "or")

FieldSql: TypeAlias = Mapping[str, str] | Callable[[str], str]


def build_call(name: str, arguments: Arguments) -> Call:
    """Call a function, if it is on the allow-list and takes these arguments."""
    function = _function(name)
    check_size(*arguments)
    if name in _FLATTENED:  # a chain of ORs becomes one list, not a deep tree
        arguments = tuple(each for argument in arguments for each in _chain(name, argument))
    if not function.fewest <= len(arguments) <= function.most:
        raise QueryRefused(f"{function.usage} was given {len(arguments)} arguments.", remedy=_arity(function))
    for argument in arguments:
        if isinstance(argument, Literal):
            check_literal(argument)
    converted, result = function.check(arguments)
    call = Call(function=name, arguments=converted, type=result)
    check_size(call)
    return call


def check_size(*expressions: Expression) -> None:
    """Refuse what is nested too deep, or too large all together, before anything walks it.

    A part that is used twice counts twice, as it is written twice.
    """
    sizes = [size_of(expression) for expression in expressions]
    nodes, calls = sum(size.nodes for size in sizes), sum(size.calls for size in sizes)
    if nodes > MOST_NODES or calls > MOST_CALLS or any(size.levels > MOST_LEVELS for size in sizes):
        raise _too_large()


def calls_in(expressions: Iterable[Expression]) -> int:
    """How many operations these are, all together."""
    return sum(size_of(expression).calls for expression in expressions)


def _too_large() -> QueryRefused:
    return QueryRefused(
        "The question is too large, or nested too deep, once its names are put in.",
        remedy=f"Stay below {MOST_CALLS:,} operations, {MOST_NODES:,} constants and {MOST_LEVELS} levels:"
        " what is used twice by its name counts twice. Use IN for long lists, or ask in several questions.",
    )


def range_of(expression: Expression) -> Range | None:
    """Where all values of a numeric expression lie, NULL aside; None if nothing bounds them."""
    if not expression.type.numeric:
        return None
    found = _interval(expression)
    if found.low is None or found.high is None:
        return None
    return Range(low=found.low, high=found.high)


def emit(expression: Expression, dialect: Dialect, fields: FieldSql | None = None) -> str:
    """The expression as SQL. It cannot raise on any row, and gives the same under any setting.

    A text is grouped and joined by its bytes, whatever the collation of its column.
    ``fields`` says how a column is read, such as ``{"age": 't."age"'}``; by default by its quoted name.
    """
    sql = _emitted(expression, *_reading(expression, dialect, fields)).sql
    return dialect.binary(sql) if expression.type is ValueType.TEXT else sql


def emit_duckdb(expression: Expression, fields: FieldSql | None = None) -> str:
    return emit(expression, DUCKDB, fields)


def emit_steps(
    expression: Expression, dialect: Dialect, *, offset: Fraction, grid: Fraction, half: Fraction
) -> str:
    """⌊(x − offset)/grid + half⌋ of a number with a range, as SQL: its distance from the offset in steps."""
    read, scope = _reading(expression, dialect, None)
    number = _emitted(expression, read, scope).sql
    if expression.type is not ValueType.NUMBER:
        number = dialect.convert(number, expression.type, ValueType.NUMBER)
    return dialect.steps(number, float(offset), float(grid), float(half), scope)


def _reading(
    expression: Expression, dialect: Dialect, fields: FieldSql | None
) -> tuple[Callable[[str], str], EmitScope]:
    check_size(expression)
    read = dialect.identifier if fields is None else fields if callable(fields) else fields.__getitem__
    return read, EmitScope(dialect=dialect, prefix=_fresh_prefix(expression, read))


def _emitted(expression: Expression, read: Callable[[str], str], scope: EmitScope) -> Operand:
    match expression:
        case Field():
            sql = field_sql(expression, read(expression.name), scope)
        case Literal():
            sql = scope.dialect.literal(expression)
        case Call():
            function = _function(expression.function)
            if function.check(expression.arguments) != (expression.arguments, expression.type):
                raise QueryRefused(
                    f"A call of {expression.function} was not checked.", remedy="Build calls with build_call."
                )
            operands = [
                _unwritten(argument) if i in function.constants else _emitted(argument, read, scope)
                for i, argument in enumerate(expression.arguments)
            ]
            sql = function.emit(operands, scope)
            return Operand(sql=sql, interval=function.range(operands), expression=expression)
    return Operand(sql=sql, interval=_leaf_interval(expression), expression=expression)


def _interval(expression: Expression) -> ValueInterval:
    if not isinstance(expression, Call):
        return _leaf_interval(expression)
    known = expression.known.get("interval")
    if not isinstance(known, ValueInterval):
        operands = [_unwritten(argument) for argument in expression.arguments]
        known = expression.known["interval"] = _function(expression.function).range(operands)
    return known


def _unwritten(expression: Expression) -> Operand:
    return Operand(sql="", interval=_interval(expression), expression=expression)


def _leaf_interval(leaf: Field | Literal) -> ValueInterval:
    if not leaf.type.numeric:
        return UNKNOWN
    if isinstance(leaf, Field):
        return field_interval(leaf)
    return point(0) if is_null_literal(leaf) else point(number_of(leaf))


def _function(name: str) -> Function:
    function = FUNCTIONS.get(name)
    if function is None:
        raise QueryRefused(
            "The question uses a function that is not on the list.",
            remedy=f"Use one of: {', '.join(FUNCTIONS)}.",
        )
    return function


def _chain(name: str, argument: Expression) -> Arguments:
    if isinstance(argument, Call) and argument.function == name:
        return argument.arguments
    return (argument,)


def _arity(function: Function) -> str:
    if function.fewest == function.most:
        return f"Give it {function.fewest}."
    return f"Give it {function.fewest} to {function.most}."


def _fresh_prefix(expression: Expression, read: Callable[[str], str]) -> str:
    columns = [read(field.name).lower() for field in fields_of(expression)]
    prefix = "let"
    while any(prefix in column for column in columns):
        prefix += "_"
    return prefix
