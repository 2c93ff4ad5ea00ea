"""Functions of numbers.

INTEGER is 64 bits; what does not fit is NULL. NUMBER is a double; what is not finite is NULL. Nothing raises.
Where the ranges of the columns show that nothing can go wrong, the plain operator is written.
"""

import math
from collections.abc import Callable, Sequence

from discreet.dialects.dialect import EmitScope, Operand
from discreet.functions.definition import (
    ArgumentCheck,
    Arguments,
    Emit,
    Function,
    RangeRule,
    fixed,
    is_null_literal,
    literal_integer,
    refuse_types,
    unified,
)
from discreet.model import interval_arithmetic as intervals
from discreet.model.expression import Expression, Literal
from discreet.model.interval_arithmetic import ValueInterval, or_zero, outward
from discreet.model.policy import ValueType

LARGEST_EXPONENT = 6
MOST_DIGITS = 12

_ZERO = "CAST(0 AS BIGINT)"
_NUMBERS_ONLY = "It takes numbers; convert with CAST(x AS DOUBLE)."


def _numeric(usage: str) -> ArgumentCheck:
    """Numbers, all INTEGER or all NUMBER, and a result of the same type."""

    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        if not all(argument.type.numeric or is_null_literal(argument) for argument in arguments):
            raise refuse_types(usage, arguments, _NUMBERS_ONLY)
        converted, common = unified(usage, arguments)
        if not common.numeric:  # nothing but NULL
            return tuple(Literal(value=None, type=ValueType.INTEGER) for _ in converted), ValueType.INTEGER
        return converted, common

    return check


def _to_integer(usage: str) -> ArgumentCheck:
    numeric = _numeric(usage)
    return lambda arguments: (numeric(arguments)[0], ValueType.INTEGER)


def _exact_integers(operator: str, range_rule: RangeRule) -> Emit:
    """Plainly where the result is known to fit 64 bits, else checked."""

    def emit(operands: Sequence[Operand], scope: EmitScope) -> str:
        narrowed = [
            Operand(sql=each.sql, interval=each.interval.within_integers(), expression=each.expression)
            for each in operands
        ]
        *left, right = [each.sql for each in operands]
        if range_rule(narrowed).fits_integer():
            return f"({''.join(left)} {operator} {right})"
        return scope.dialect.checked_integers(operator, left[0] if left else _ZERO, right, scope)

    return emit


def _operator(
    symbol: str, name: str, rule: Callable[[ValueInterval, ValueInterval], ValueInterval]
) -> Function:
    """+, - or *: one rule for exact integers, the same rounded outward for doubles."""
    usage = f"x {symbol} y"

    def range_rule(operands: Sequence[Operand]) -> ValueInterval:
        exact = rule(*(or_zero(each.interval) for each in operands))
        return exact if operands[0].integer else outward(exact)

    integers = _exact_integers(symbol, range_rule)

    def emit(operands: Sequence[Operand], scope: EmitScope) -> str:
        if operands[0].integer:
            return integers(operands, scope)
        return scope.dialect.arithmetic(symbol, operands[0], operands[1], range_rule(operands), scope)

    return Function(
        name=name, usage=usage, fewest=2, most=2, check=_numeric(usage), emit=emit, range=range_rule
    )


def _negate_range(operands: Sequence[Operand]) -> ValueInterval:
    return intervals.negate(operands[0].interval)


def _negate(operands: Sequence[Operand], scope: EmitScope) -> str:
    if operands[0].integer:
        return _exact_integers("-", _negate_range)(operands, scope)
    return f"(- {operands[0].sql})"


def _absolute(operands: Sequence[Operand], scope: EmitScope) -> str:
    (x,) = operands
    if not x.integer or intervals.absolute(x.interval.within_integers()).fits_integer():
        return f"abs({x.sql})"
    return scope.let(
        x.sql,
        lambda value: (
            f"(CASE WHEN {value} < 0 THEN {scope.dialect.checked_integers('-', _ZERO, value, scope)}"
            f" ELSE {value} END)"
        ),
    )


def _divide_range(operands: Sequence[Operand]) -> ValueInterval:
    return outward(intervals.divide(*(or_zero(each.interval) for each in operands)))


def _divide(operands: Sequence[Operand], scope: EmitScope) -> str:
    return scope.dialect.quotient(operands[0], operands[1], _divide_range(operands), scope)


def _modulo_range(operands: Sequence[Operand]) -> ValueInterval:
    return intervals.modulo(operands[0].interval, operands[1].interval, 1 if operands[0].integer else 0)


def _modulo(operands: Sequence[Operand], scope: EmitScope) -> str:
    left, right = operands
    if left.integer:
        return scope.dialect.integer_remainder(left.sql, scope.not_zero(right))
    return scope.dialect.remainder(left, right, scope)


def _to_whole(function: str) -> Emit:
    def emit(operands: Sequence[Operand], scope: EmitScope) -> str:
        if operands[0].integer:
            return operands[0].sql
        return scope.dialect.to_integer(function, operands[0].sql, scope)

    return emit


def _whole(name: str, rule: Callable[[ValueInterval], ValueInterval]) -> Function:
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


def _round_range(operands: Sequence[Operand]) -> ValueInterval:
    digits = _round_digits(operands)
    if operands[0].integer:
        return operands[0].interval
    if digits == 0:
        return intervals.each_end(operands[0].interval, intervals.half_away_from_zero)
    return intervals.rounded(operands[0].interval, digits)


def _round(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Half away from zero."""
    digits = _round_digits(operands)
    if operands[0].integer or digits == 0:
        return _to_whole("round")(operands, scope)
    return scope.dialect.rounded_to(operands[0], digits, _round_range(operands), scope)


_POWER = "power(x, exponent)"


def _exponent(expression: Expression) -> int:
    return literal_integer(_POWER, expression, 1, LARGEST_EXPONENT)


def _check_power(arguments: Arguments) -> tuple[Arguments, ValueType]:
    _exponent(arguments[1])
    base, _ = fixed(_POWER, [ValueType.NUMBER], ValueType.NUMBER)(arguments[:1])
    return (*base, arguments[1]), ValueType.NUMBER


def _power_range(operands: Sequence[Operand]) -> ValueInterval:
    return or_zero(intervals.power(operands[0].interval, _exponent(operands[1].expression)))


def _power(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Products, which IEEE rounds correctly; pow() is rounded as each C library likes."""
    base, exponent = operands[0], _exponent(operands[1].expression)

    def product(value: str) -> str:
        factor = Operand(sql=value, interval=base.interval, expression=base.expression)
        result = factor
        for i in range(2, exponent + 1):
            span = or_zero(intervals.power(base.interval, i))
            sql = scope.dialect.arithmetic("*", result, factor, span, scope)
            result = Operand(sql=sql, interval=span, expression=operands[0].expression)
        return result.sql

    return scope.let(base.sql, product)


def _guarded(name: str, rule: Callable[[ValueInterval], ValueInterval], condition: str) -> Function:
    """A function of one NUMBER that is NULL where the condition does not hold."""
    usage = f"{name}(x)"

    def range_rule(operands: Sequence[Operand]) -> ValueInterval:
        return rule(operands[0].interval)

    def emit(operands: Sequence[Operand], scope: EmitScope) -> str:
        (x,) = operands
        inside = x.sql
        if not x.interval.ends[0] > 0:
            inside = scope.let(x.sql, lambda value: f"(CASE WHEN {value} {condition} THEN {value} END)")
        return f"{name}({inside})"

    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=fixed(usage, [ValueType.NUMBER], ValueType.NUMBER),
        emit=emit,
        range=range_rule,
    )


def _exp_range(operands: Sequence[Operand]) -> ValueInterval:
    return or_zero(intervals.exponential(operands[0].interval))


def _exp(operands: Sequence[Operand], scope: EmitScope) -> str:
    return scope.dialect.exponential(operands[0], _exp_range(operands), scope)


def _one(
    name: str, check: ArgumentCheck, emit: Emit, rule: Callable[[ValueInterval], ValueInterval], usage: str
) -> Function:
    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=check,
        emit=emit,
        range=lambda operands: rule(operands[0].interval),
    )


def _sign(operands: Sequence[Operand], _: EmitScope) -> str:
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
    _guarded("sqrt", intervals.square_root, ">= 0"),
    _guarded("ln", lambda x: intervals.logarithm(x, math.log), "> 0"),
    _guarded("log10", lambda x: intervals.logarithm(x, math.log10), "> 0"),
    Function(
        name="exp",
        usage="exp(x)",
        fewest=1,
        most=1,
        check=fixed("exp(x)", [ValueType.NUMBER], ValueType.NUMBER),
        emit=_exp,
        range=_exp_range,
    ),
)
