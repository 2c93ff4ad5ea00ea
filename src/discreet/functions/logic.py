"""Comparisons, three-valued logic, and functions that choose one of their arguments.

Texts compare by their bytes: a collation, of the engine or of a column, could take two people's keys for one.
"""

from collections.abc import Callable, Sequence

from discreet.dialects.dialect import EmitScope, Operand
from discreet.errors import QueryRefused
from discreet.functions.definition import (
    ArgumentCheck,
    Arguments,
    Function,
    fixed,
    is_null_literal,
    refuse_types,
    unified,
)
from discreet.model import interval_arithmetic as intervals
from discreet.model.expression import Call, Expression, Literal
from discreet.model.interval_arithmetic import ValueInterval
from discreet.model.policy import ValueType

MOST_ARGUMENTS = 1000
MOST_CHOICES = 8

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from", "between")


def compares_values(expression: Expression) -> bool:
    """Whether two values are compared in it that are no constants."""
    if not isinstance(expression, Call):
        return False
    known = expression.known.get("compares")
    if not isinstance(known, bool):
        values = [each for each in expression.arguments if not isinstance(each, Literal)]
        known = (expression.function in _COMPARISONS and len(values) > 1) or any(map(compares_values, values))
        expression.known["compares"] = known
    return known


def binary(operand: Operand, scope: EmitScope) -> str:
    """The operand's SQL, compared by bytes if it is a text."""
    return scope.dialect.binary(operand.sql) if operand.expression.type is ValueType.TEXT else operand.sql


def _comparable(usage: str, ordered: bool) -> ArgumentCheck:
    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        converted, common = unified(usage, arguments)
        if ordered and common is ValueType.BOOLEAN and not all(map(is_null_literal, arguments)):
            raise refuse_types(usage, arguments, "Compare booleans with = or <> only.")
        return converted, ValueType.BOOLEAN

    return check


def _comparison(name: str, ordered: bool, symbol: str | None = None) -> Function:
    sql_symbol = symbol or name
    usage = f"x {sql_symbol} y"

    def compared(operands: Sequence[Operand], scope: EmitScope) -> str:
        left, right = (binary(operand, scope) for operand in operands)
        return f"({left} {sql_symbol} {right})"

    return Function(
        name=name,
        usage=usage,
        fewest=2,
        most=2,
        check=_comparable(usage, ordered),
        emit=compared,
    )


def _null_test(name: str, symbol: str) -> Function:
    return Function(
        name=name,
        usage=f"x {symbol}",
        fewest=1,
        most=1,
        check=lambda arguments: (arguments, ValueType.BOOLEAN),
        emit=lambda operands, _: f"({operands[0].sql} {symbol})",
    )


def _between(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Databases make two comparisons of it."""
    text = operands[0].expression.type is ValueType.TEXT

    def compared(names: Sequence[str]) -> str:
        value, low, high = (scope.dialect.binary(each) if text else each for each in names)
        return f"({value} BETWEEN {low} AND {high})"

    return scope.once(operands, compared)


def _check_in(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if not all(isinstance(argument, Literal) for argument in arguments[1:]):
        raise QueryRefused(
            "x IN (…) takes constants only.", remedy="Compare with other columns by =, joined with OR."
        )
    return unified("x IN (…)", arguments)[0], ValueType.BOOLEAN


def _in(operands: Sequence[Operand], scope: EmitScope) -> str:
    """DuckDB makes as many comparisons of a short list."""
    value, *members = operands
    listed = [each.expression for each in members if isinstance(each.expression, Literal)]
    text = value.expression.type is ValueType.TEXT

    def compared(names: Sequence[str]) -> str:
        return f"({scope.dialect.is_in(scope.dialect.binary(names[0]) if text else names[0], listed)})"

    return scope.once([value], compared)


def _connective(name: str) -> Function:
    usage = f"a {name.upper()} b"

    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        return fixed(usage, [ValueType.BOOLEAN] * len(arguments), ValueType.BOOLEAN)(arguments)

    def emit(operands: Sequence[Operand], _: EmitScope) -> str:
        return "(" + f" {name.upper()} ".join(operand.sql for operand in operands) + ")"

    return Function(name=name, usage=usage, fewest=2, most=MOST_ARGUMENTS, check=check, emit=emit)


def _check_case(arguments: Arguments) -> tuple[Arguments, ValueType]:
    """Condition, value, condition, value, … and, if their number is odd, the ELSE value."""
    usage = "CASE WHEN a THEN x ELSE y END"
    pairs = len(arguments) // 2 * 2
    values = arguments[1:pairs:2] + arguments[pairs:]
    conditions = arguments[0:pairs:2]
    booleans, _ = fixed(usage, [ValueType.BOOLEAN] * len(conditions), ValueType.BOOLEAN)(conditions)
    converted, common = unified(usage, values)
    interleaved = [each for pair in zip(booleans, converted, strict=False) for each in pair]
    return (*interleaved, *converted[len(booleans) :]), common


def _case_values(operands: Sequence[Operand]) -> list[Operand]:
    pairs = len(operands) // 2 * 2
    return [*operands[1:pairs:2], *operands[pairs:]]


def _case(operands: Sequence[Operand], _: EmitScope) -> str:
    pairs = len(operands) // 2 * 2
    whens = [f"WHEN {operands[index].sql} THEN {operands[index + 1].sql}" for index in range(0, pairs, 2)]
    otherwise = [f"ELSE {operand.sql}" for operand in operands[pairs:]]
    return f"(CASE {' '.join([*whens, *otherwise])} END)"


def _hull(operands: Sequence[Operand]) -> ValueInterval:
    return intervals.hull(each.interval for each in operands if not is_null_literal(each.expression))


def _same_type(usage: str) -> ArgumentCheck:
    return lambda arguments: unified(usage, arguments)


def _extreme(name: str, rule: Callable[[Sequence[ValueInterval]], ValueInterval]) -> Function:
    """least or greatest. NULL if any argument is NULL, as in standard SQL, so that a person without an income
    does not get the other argument for one; DuckDB and PostgreSQL would skip the NULL."""
    usage = f"{name}(x, y, …)"

    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        return unified(usage, _comparable(usage, ordered=True)(arguments)[0])

    def emit(operands: Sequence[Operand], scope: EmitScope) -> str:
        return scope.let_all([operand.sql for operand in operands], chosen)

    def chosen(names: Sequence[str]) -> str:
        known = " AND ".join(f"{value} IS NOT NULL" for value in names)
        return f"(CASE WHEN {known} THEN {name}({', '.join(names)}) END)"

    return Function(
        name=name,
        usage=usage,
        fewest=2,
        most=MOST_CHOICES,
        check=check,
        emit=emit,
        range=lambda operands: rule([each.interval for each in operands]),
    )


def _nullif(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Both are named at once: in each other's second argument, names would be within names."""
    x, y = operands
    text = x.expression.type is ValueType.TEXT

    def chosen(names: Sequence[str]) -> str:
        left, right = (scope.dialect.binary(each) if text else each for each in names)
        return f"(CASE WHEN {left} = {right} THEN NULL ELSE {names[0]} END)"

    return scope.let_all([x.sql, y.sql], chosen)


LOGIC = (
    _comparison("=", ordered=False),
    _comparison("<>", ordered=False),
    _comparison("<", ordered=True),
    _comparison("<=", ordered=True),
    _comparison(">", ordered=True),
    _comparison(">=", ordered=True),
    _comparison("is_distinct_from", ordered=False, symbol="IS DISTINCT FROM"),
    _comparison("is_not_distinct_from", ordered=False, symbol="IS NOT DISTINCT FROM"),
    _null_test("is_null", "IS NULL"),
    _null_test("is_not_null", "IS NOT NULL"),
    Function(
        name="between",
        usage="x BETWEEN y AND z",
        fewest=3,
        most=3,
        check=_comparable("x BETWEEN y AND z", ordered=True),
        emit=_between,
    ),
    Function(
        name="in",
        usage="x IN (…)",
        fewest=2,
        most=MOST_ARGUMENTS,
        check=_check_in,
        emit=_in,
        constants=frozenset(range(1, MOST_ARGUMENTS)),
    ),
    _connective("and"),
    _connective("or"),
    Function(
        name="not",
        usage="NOT a",
        fewest=1,
        most=1,
        check=fixed("NOT a", [ValueType.BOOLEAN], ValueType.BOOLEAN),
        emit=lambda operands, _: f"(NOT {operands[0].sql})",
    ),
    Function(
        name="case",
        usage="CASE WHEN a THEN x ELSE y END",
        fewest=2,
        most=MOST_ARGUMENTS,
        check=_check_case,
        emit=_case,
        range=lambda operands: _hull(_case_values(operands)),
    ),
    Function(
        name="coalesce",
        usage="coalesce(x, y, …)",
        fewest=1,
        most=MOST_ARGUMENTS,
        check=_same_type("coalesce(x, y, …)"),
        emit=lambda operands, _: f"coalesce({', '.join(each.sql for each in operands)})",
        range=_hull,
    ),
    _extreme("least", intervals.least),
    _extreme("greatest", intervals.greatest),
    Function(
        name="nullif",
        usage="nullif(x, y)",
        fewest=2,
        most=2,
        check=_same_type("nullif(x, y)"),
        emit=_nullif,
        range=lambda operands: operands[0].interval,
    ),
)
