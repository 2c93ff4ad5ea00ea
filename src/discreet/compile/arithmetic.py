"""Functions of numbers.

INTEGER is 64 bits. What might not fit is computed in 128 bits, where two 64-bit factors always fit, and is
NULL if the result does not fit 64 again. NUMBER is a double; what is not finite is NULL. Neither can raise.
Where the ranges of the columns show that nothing can go wrong, the plain operator is written.
"""

import math
from collections.abc import Callable, Sequence

from discreet.compile import intervals
from discreet.compile.definition import (
    Arguments,
    Check,
    Emit,
    Function,
    Operand,
    RangeRule,
    Scope,
    fixed,
    is_null_literal,
    literal_integer,
    refuse_types,
    unified,
)
from discreet.compile.intervals import Interval, outward
from discreet.model.expression import Expression, Literal
from discreet.model.policy import ValueType

LARGEST_EXPONENT = 6
MOST_DIGITS = 12

_NUMBERS_ONLY = "It takes numbers; convert with CAST(x AS DOUBLE)."


def _numeric(usage: str) -> Check:
    """Numbers, all INTEGER or all NUMBER, and a result of the same type."""

    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        if not all(argument.type.numeric or is_null_literal(argument) for argument in arguments):
            raise refuse_types(usage, arguments, _NUMBERS_ONLY)
        converted, common = unified(usage, arguments)
        if not common.numeric:  # nothing but NULL
            return tuple(Literal(value=None, type=ValueType.INTEGER) for _ in converted), ValueType.INTEGER
        return converted, common

    return check


def _to_integer(usage: str) -> Check:
    numeric = _numeric(usage)
    return lambda arguments: (numeric(arguments)[0], ValueType.INTEGER)


def _exact_integers(operator: str, range_rule: RangeRule) -> Emit:
    """In 64 bits where the result is known to fit, else in 128 and back."""

    def emit(operands: Sequence[Operand], _: Scope) -> str:
        narrowed = [
            Operand(sql=each.sql, interval=each.interval.within_integers(), expression=each.expression)
            for each in operands
        ]
        *left, right = [each.sql for each in operands]
        if range_rule(narrowed).fits_integer():
            return f"({''.join(left)} {operator} {right})"
        wide = f"CAST({left[0]} AS HUGEINT) " if left else ""
        return f"TRY_CAST({wide}{operator} CAST({right} AS HUGEINT) AS BIGINT)"

    return emit


def _operator(symbol: str, name: str, rule: Callable[[Interval, Interval], Interval]) -> Function:
    """+, - or *: one rule for exact integers, the same rounded outward for doubles."""
    usage = f"x {symbol} y"

    def range_rule(operands: Sequence[Operand]) -> Interval:
        exact = rule(operands[0].interval, operands[1].interval)
        return exact if operands[0].integer else outward(exact)

    integers = _exact_integers(symbol, range_rule)

    def emit(operands: Sequence[Operand], scope: Scope) -> str:
        if operands[0].integer:
            return integers(operands, scope)
        return scope.finite(f"({operands[0].sql} {symbol} {operands[1].sql})", range_rule(operands))

    return Function(
        name=name, usage=usage, fewest=2, most=2, check=_numeric(usage), emit=emit, range=range_rule
    )


def _negate_range(operands: Sequence[Operand]) -> Interval:
    return intervals.negate(operands[0].interval)


def _negate(operands: Sequence[Operand], scope: Scope) -> str:
    if operands[0].integer:
        return _exact_integers("-", _negate_range)(operands, scope)
    return f"(- {operands[0].sql})"


def _absolute(operands: Sequence[Operand], _: Scope) -> str:
    (x,) = operands
    if not x.integer or intervals.absolute(x.interval.within_integers()).fits_integer():
        return f"abs({x.sql})"
    return f"TRY_CAST(abs(CAST({x.sql} AS HUGEINT)) AS BIGINT)"


def _divide_range(operands: Sequence[Operand]) -> Interval:
    return outward(intervals.divide(operands[0].interval, operands[1].interval))


def _not_zero(divisor: Operand, zero: str, scope: Scope) -> str:
    if divisor.interval.excludes_zero():
        return divisor.sql
    return scope.let(divisor.sql, lambda value: f"(CASE WHEN {value} <> {zero} THEN {value} END)")


def _divide(operands: Sequence[Operand], scope: Scope) -> str:
    divisor = _not_zero(operands[1], "0e0", scope)
    return scope.finite(f"({operands[0].sql} / {divisor})", _divide_range(operands))


def _modulo_range(operands: Sequence[Operand]) -> Interval:
    return intervals.modulo(operands[0].interval, operands[1].interval, 1 if operands[0].integer else 0)


def _modulo(operands: Sequence[Operand], scope: Scope) -> str:
    """In 128 bits, because -2⁶³ % -1 raises in 64. The remainder of doubles is exact and finite."""
    left, right = operands
    if left.integer:
        divisor = _not_zero(right, "0", scope)
        return f"TRY_CAST(CAST({left.sql} AS HUGEINT) % CAST({divisor} AS HUGEINT) AS BIGINT)"
    return f"({left.sql} % {_not_zero(right, '0e0', scope)})"


def _to_whole(function: str) -> Emit:
    def emit(operands: Sequence[Operand], _: Scope) -> str:
        if operands[0].integer:
            return operands[0].sql
        return f"TRY_CAST({function}({operands[0].sql}) AS BIGINT)"

    return emit


def _whole(name: str, rule: Callable[[Interval], Interval]) -> Function:
    """floor and ceil give INTEGER, so that floor(age / 10) is a key whose values are known."""
    usage = f"{name}(x)"
    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=_to_integer(usage),
        emit=_to_whole(name),
        range=lambda operands: rule(operands[0].interval),
    )


_ROUND = "round(x, digits)"


def _round_digits(arguments: Arguments | Sequence[Operand]) -> int:
    if len(arguments) == 1:
        return 0
    digits = arguments[1]
    expression = digits.expression if isinstance(digits, Operand) else digits
    return literal_integer(_ROUND, expression, 0, MOST_DIGITS)


def _check_round(arguments: Arguments) -> tuple[Arguments, ValueType]:
    digits = _round_digits(arguments)
    (value,), kind = _numeric(_ROUND)(arguments[:1])
    return (value, *arguments[1:]), ValueType.INTEGER if digits == 0 else kind


def _round_range(operands: Sequence[Operand]) -> Interval:
    digits = _round_digits(operands)
    if operands[0].integer:
        return operands[0].interval
    if digits == 0:
        return intervals.each_end(operands[0].interval, intervals.half_away_from_zero)
    return intervals.rounded(operands[0].interval, digits)


def _round(operands: Sequence[Operand], scope: Scope) -> str:
    """Half away from zero. DuckDB rounds x·10^digits, a double, and divides again."""
    digits = _round_digits(operands)
    if operands[0].integer or digits == 0:
        return _to_whole("round")(operands, scope)
    return scope.finite(f"round({operands[0].sql}, {digits})", _round_range(operands))


_POWER = "power(x, exponent)"


def _exponent(expression: Expression) -> int:
    return literal_integer(_POWER, expression, 1, LARGEST_EXPONENT)


def _check_power(arguments: Arguments) -> tuple[Arguments, ValueType]:
    _exponent(arguments[1])
    base, _ = fixed(_POWER, [ValueType.NUMBER], ValueType.NUMBER)(arguments[:1])
    return (*base, arguments[1]), ValueType.NUMBER


def _power_range(operands: Sequence[Operand]) -> Interval:
    return intervals.power(operands[0].interval, _exponent(operands[1].expression))


def _power(operands: Sequence[Operand], scope: Scope) -> str:
    """Products, which IEEE rounds correctly; pow() is rounded as each C library likes."""
    exponent = _exponent(operands[1].expression)
    product = scope.let(operands[0].sql, lambda value: "(" + " * ".join([value] * exponent) + ")")
    return scope.finite(product, _power_range(operands))


def _guarded(name: str, rule: Callable[[Interval], Interval], condition: str | None) -> Function:
    """A function of one NUMBER that is NULL where the condition does not hold."""
    usage = f"{name}(x)"

    def range_rule(operands: Sequence[Operand]) -> Interval:
        return rule(operands[0].interval)

    def emit(operands: Sequence[Operand], scope: Scope) -> str:
        (x,) = operands
        inside = x.sql
        if condition is not None and not x.interval.ends[0] > 0:
            inside = scope.let(x.sql, lambda value: f"(CASE WHEN {value} {condition} THEN {value} END)")
        result = f"{name}({inside})"
        return scope.finite(result, range_rule(operands)) if condition is None else result

    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=fixed(usage, [ValueType.NUMBER], ValueType.NUMBER),
        emit=emit,
        range=range_rule,
    )


def _one(name: str, check: Check, emit: Emit, rule: Callable[[Interval], Interval], usage: str) -> Function:
    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=check,
        emit=emit,
        range=lambda operands: rule(operands[0].interval),
    )


def _sign(operands: Sequence[Operand], _: Scope) -> str:
    return f"CAST(sign({operands[0].sql}) AS BIGINT)"


ARITHMETIC = (
    _operator("+", "+", intervals.add),
    _operator("-", "-", intervals.subtract),
    _operator("*", "*", intervals.multiply),
    Function(
        name="/",
        usage="x / y",
        fewest=2,
        most=2,
        check=fixed("x / y", [ValueType.NUMBER, ValueType.NUMBER], ValueType.NUMBER),
        emit=_divide,
        range=_divide_range,
    ),
    Function(
        name="%", usage="x % y", fewest=2, most=2, check=_numeric("x % y"), emit=_modulo, range=_modulo_range
    ),
    _one("negate", _numeric("-x"), _negate, intervals.negate, "-x"),
    _one("abs", _numeric("abs(x)"), _absolute, intervals.absolute, "abs(x)"),
    _one("sign", _to_integer("sign(x)"), _sign, intervals.sign, "sign(x)"),
    _whole("floor", lambda x: intervals.each_end(x, math.floor)),
    _whole("ceil", lambda x: intervals.each_end(x, math.ceil)),
    Function(
        name="round", usage=_ROUND, fewest=1, most=2, check=_check_round, emit=_round, range=_round_range
    ),
    Function(
        name="power", usage=_POWER, fewest=2, most=2, check=_check_power, emit=_power, range=_power_range
    ),
    _guarded("sqrt", intervals.square_root, ">= 0e0"),
    _guarded("ln", lambda x: intervals.logarithm(x, math.log), "> 0e0"),
    _guarded("log10", lambda x: intervals.logarithm(x, math.log10), "> 0e0"),
    _guarded("exp", intervals.exponential, None),
)
