"""The meaning of the simple functions a second time, in plain Python on one row. None is NULL."""

import math
from collections.abc import Callable, Mapping

from discreet.dialects.quoting import number_of
from discreet.model.expression import Call, Expression, Field, Literal
from discreet.model.policy import ValueType

Row = Mapping[str, object]

SIMPLE = (
    "+", "-", "*", "/", "%", "negate", "abs", "sign", "floor", "ceil", "round", "power", "sqrt", "=", "<>",
    "<", "<=", ">", ">=", "is_null", "is_not_null", "is_distinct_from", "is_not_distinct_from", "between",
    "in", "and", "or", "not", "case", "coalesce", "least", "greatest", "nullif", "length", "left", "right",
    "concat", "starts_with", "ends_with", "contains", "substring", "cast_number", "cast_integer",
)  # fmt: skip


def is_simple(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return expression.type not in (ValueType.DATE, ValueType.TIMESTAMP)
    if expression.function == "cast_integer" and expression.arguments[0].type is ValueType.TEXT:
        return False
    if expression.function == "cast_number" and expression.arguments[0].type is ValueType.TEXT:
        return False
    return expression.function in SIMPLE and all(map(is_simple, expression.arguments))


def evaluate(expression: Expression, row: Row) -> object:
    match expression:
        case Field():
            return read(expression, row[expression.name])
        case Literal():
            if expression.value is None or not expression.type.numeric:
                return expression.value
            exact = number_of(expression)
            return float(exact) if expression.type is ValueType.NUMBER else int(exact)
        case Call(function="and", arguments=arguments):
            return not_(or_([not_(evaluate(each, row)) for each in arguments]))
        case Call(function="or", arguments=arguments):
            return or_([evaluate(each, row) for each in arguments])
        case Call(function="case", arguments=arguments):
            return case([evaluate(each, row) for each in arguments])
        case Call(function=name, arguments=arguments):
            values = [evaluate(each, row) for each in arguments]
            if name in KEEPS_NULL:
                return KEEPS_NULL[name](values)
            if any(value is None for value in values):
                return None
            return fitting(FUNCTIONS[name](*values), expression.type)
    raise AssertionError


def read(field: Field, value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if field.range is None or value is None:
        return value
    if field.type is ValueType.INTEGER:
        return min(max(value, math.ceil(field.range.low)), math.floor(field.range.high))
    low, high = float(field.range.low), float(field.range.high)  # 0.1 ≥ 1/10 and 10.1 ≤ 101/10 as doubles
    return min(max(value, low), high)


def fitting(value: object, kind: ValueType) -> object:
    if kind is ValueType.INTEGER and value is not None:
        return int(value) if -(2**63) <= value < 2**63 else None
    if kind is ValueType.NUMBER and value is not None:
        return float(value) if math.isfinite(value) else None
    return value


def not_(value: object) -> object:
    return None if value is None else not value


def or_(values: list[object]) -> object:
    return True if any(values) else (None if None in values else False)


def case(values: list[object]) -> object:
    pairs = len(values) // 2 * 2
    for index in range(0, pairs, 2):
        if values[index]:
            return values[index + 1]
    return values[pairs] if pairs < len(values) else None


def within(values: list[object]) -> object:
    value, *members = values
    if value is None:
        return None
    return (
        True
        if any(value == each for each in members if each is not None)
        else (None if None in members else False)
    )


def between(values: list[object]) -> object:
    value, low, high = values
    above = None if value is None or low is None else value >= low
    below = None if value is None or high is None else value <= high
    return not_(or_([not_(above), not_(below)]))


def remainder(left: object, right: object) -> object:
    if right == 0:
        return None
    if isinstance(left, float):
        return math.fmod(left, right)
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


def half_away(value: float, digits: int = 0) -> object:
    if isinstance(value, int):
        return value
    if digits == 0:
        whole = math.floor(abs(value))
        return int(math.copysign(1, value)) * (whole + (abs(value) - whole >= 0.5))
    scaled = value * 10.0**digits
    return value if math.isinf(scaled) else half_away(scaled) / 10.0**digits


def product(value: float, exponent: int) -> float:
    result = value
    for _ in range(exponent - 1):
        result *= value
    return result


def substring(text: str, start: int, length: int = 10**9) -> str:
    return "".join(each for at, each in enumerate(text, 1) if start <= at < start + length)[:4096]


KEEPS_NULL: dict[str, Callable[[list[object]], object]] = {
    "is_null": lambda values: values[0] is None,
    "is_not_null": lambda values: values[0] is not None,
    "is_distinct_from": lambda values: values[0] != values[1],
    "is_not_distinct_from": lambda values: values[0] == values[1],
    "in": within,
    "between": between,
    "coalesce": lambda values: next((value for value in values if value is not None), None),
    "nullif": lambda values: None if values[0] == values[1] else values[0],
}

FUNCTIONS: dict[str, Callable[..., object]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: None if y == 0 else x / y,
    "%": remainder,
    "negate": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "round": half_away,
    "cast_integer": half_away,
    "cast_number": float,
    "power": product,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "not": lambda x: not x,
    "least": min,
    "greatest": max,
    "length": len,
    "left": lambda text, count: text[:count],
    "right": lambda text, count: text[len(text) - min(count, len(text)) :],
    "concat": lambda *parts: concat(*parts),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
    "substring": substring,
}


def concat(first: str, *others: str) -> str:
    for other in others:
        first = (first + other)[:4096]
    return first
