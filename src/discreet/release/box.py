"""Interval arithmetic on the columns of an answer: where an expression lies, given where its parts lie.

The same rules as `model.interval_arithmetic`, on arrays of doubles with an entry for each group. They also
follow what can be missing: a part that may be NULL, such as the root of what may be negative, is NULL or in
its interval.
What has no rule here may be anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.model.expression import Call, Expression, Literal

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Where a number lies in each group; NaN where it can only be NULL."""

    low: Floats
    high: Floats
    missing: Flags
    """Whether it may be NULL."""

    @classmethod
    def points(cls, values: Floats) -> "Box":
        return cls(values, values, np.isnan(values))

    @classmethod
    def between(cls, low: float, high: float, groups: int) -> "Box":
        """The same in each group, and never NULL."""
        return cls(np.full(groups, low), np.full(groups, high), np.zeros(groups, dtype=np.bool_))

    @classmethod
    def joined(cls, boxes: "Sequence[Box]") -> "Box":
        """Of the groups of several, one after the other."""
        return cls(
            *(np.concatenate([getattr(each, end) for each in boxes]) for end in ("low", "high", "missing"))
        )

    def at(self, groups: slice) -> "Box":
        return Box(self.low[groups], self.high[groups], self.missing[groups])

    @classmethod
    def anything(cls, groups: int) -> "Box":
        return cls(np.full(groups, -np.inf), np.full(groups, np.inf), np.ones(groups, dtype=np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What a condition may be in each group."""

    true: Flags
    false: Flags
    null: Flags

    @classmethod
    def points(cls, values: Floats) -> "Truth":
        return cls(values > 0, values == 0, np.isnan(values))


BoxOrTruth: TypeAlias = Box | Truth
Known: TypeAlias = Callable[[Expression], BoxOrTruth | None]
"""Where the parts lie that need no rule: constants, and what has an interval already."""


def push(expression: Expression, known: Known, groups: int) -> BoxOrTruth:
    """Where an expression lies, or what it may be."""
    found = known(expression)
    if found is not None:
        return found
    if not isinstance(expression, Call):
        return Box.anything(groups)
    arguments = [push(argument, known, groups) for argument in expression.arguments]
    with np.errstate(all="ignore"):
        return _applied(expression, arguments, groups)


def _applied(call: Call, arguments: list[BoxOrTruth], groups: int) -> BoxOrTruth:
    boxes = [each for each in arguments if isinstance(each, Box)]
    numbers = len(boxes) == len(arguments) and all(each.type.numeric for each in call.arguments)
    if numbers and call.function == "*" and call.arguments[0] == call.arguments[1]:
        return _power(boxes[0], 2)
    if numbers and call.function in ("power", "round") and len(boxes) == 2:
        return {"power": _power, "round": _rounded}[call.function](boxes[0], _constant(call.arguments[1]))
    if numbers and call.function in _NUMBERS:
        return _NUMBERS[call.function](boxes)
    if numbers and call.function in _COMPARISONS:
        return _COMPARISONS[call.function](boxes)
    truths = [each for each in arguments if isinstance(each, Truth)]
    if len(truths) == len(arguments) and call.function in _LOGIC:
        return _LOGIC[call.function](truths)
    if call.function == "case" and call.type.numeric:
        return _case(arguments, groups)
    unsure = np.ones(groups, dtype=np.bool_)
    return Box.anything(groups) if call.type.numeric else Truth(unsure, unsure, unsure)


def _constant(expression: Expression) -> int:
    return int(str(expression.value)) if isinstance(expression, Literal) else 0


# Numbers


def _missing(boxes: Sequence[Box]) -> Flags:
    return reduce(np.logical_or, [each.missing for each in boxes])


def _add(boxes: Sequence[Box]) -> Box:
    left, right = boxes
    return Box(left.low + right.low, left.high + right.high, _missing(boxes))


def _negate(boxes: Sequence[Box]) -> Box:
    (only,) = boxes
    return Box(-only.high, -only.low, only.missing)


def _subtract(boxes: Sequence[Box]) -> Box:
    return _add([boxes[0], _negate(boxes[1:])])


def _multiply(boxes: Sequence[Box]) -> Box:
    left, right = boxes
    products = [_product(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Box(reduce(np.minimum, products), reduce(np.maximum, products), _missing(boxes))


def _product(left: Floats, right: Floats) -> Floats:
    """An unknown number times zero is zero."""
    return np.where((left == 0) & ~np.isnan(right) | (right == 0) & ~np.isnan(left), 0.0, left * right)


def _divide(boxes: Sequence[Box]) -> Box:
    """By what may be on both sides of zero, anything; by what may be near it, no bound on that side."""
    left, right = boxes
    both = (right.low < 0) & (right.high > 0)
    near = (right.low <= 0) & (right.high >= 0)
    low = np.where(right.high == 0, -np.inf, 1 / right.high)
    high = np.where(right.low == 0, np.inf, 1 / right.low)
    found = _multiply([left, Box(low, high, right.missing)])
    return Box(np.where(both, -np.inf, found.low), np.where(both, np.inf, found.high), found.missing | near)


def _modulo(boxes: Sequence[Box]) -> Box:
    """The remainder has the sign of the dividend, and is no larger than either."""
    left, right = boxes
    size = np.minimum(*(np.maximum(np.abs(each.low), np.abs(each.high)) for each in boxes))
    may_be_null = _missing(boxes) | (right.low <= 0) & (right.high >= 0)
    return Box(np.where(left.low >= 0, 0.0, -size), np.where(left.high <= 0, 0.0, size), may_be_null)


def _absolute(boxes: Sequence[Box]) -> Box:
    (only,) = boxes
    nearest = np.maximum(0.0, np.maximum(only.low, -only.high))
    return Box(nearest, np.maximum(np.abs(only.low), np.abs(only.high)), only.missing)


def _power(box: Box, exponent: int) -> Box:
    inside = _absolute([box]) if exponent % 2 == 0 else box
    return Box(inside.low**exponent, inside.high**exponent, inside.missing)


def _rounded(box: Box, digits: int) -> Box:
    """Half away from zero."""
    unit = 10.0**digits

    def rounded(end: Floats) -> Floats:
        return np.copysign(np.floor(np.abs(end) * unit + 0.5) / unit, end)

    return Box(rounded(box.low), rounded(box.high), box.missing)


def _growing(function: Callable[[Floats], Floats], least: float = -np.inf) -> "NumberRule":
    """Of a function that never falls; NULL below `least`."""

    def rule(boxes: Sequence[Box]) -> Box:
        (only,) = boxes
        low, high = (function(np.maximum(end, least)) for end in (only.low, only.high))
        return Box(low, high, only.missing | (only.low < least) | ~np.isfinite(low) | ~np.isfinite(high))

    return rule


def _least(boxes: Sequence[Box]) -> Box:
    low, high = (reduce(np.minimum, [getattr(each, end) for each in boxes]) for end in ("low", "high"))
    return Box(low, high, _missing(boxes))


def _greatest(boxes: Sequence[Box]) -> Box:
    return _negate([_least([_negate([each]) for each in boxes])])


# What is chosen


def _hull(choices: Sequence[tuple[Flags, Box]], missing: Flags) -> Box:
    """Of a value that comes from any of the boxes, each where its flag is set."""
    low = reduce(np.fmin, [np.where(chosen, box.low, np.nan) for chosen, box in choices])
    high = reduce(np.fmax, [np.where(chosen, box.high, np.nan) for chosen, box in choices])
    null = reduce(np.logical_or, [chosen & box.missing for chosen, box in choices], missing)
    return Box(low, high, null)


def _case(arguments: Sequence[BoxOrTruth], groups: int) -> BoxOrTruth:
    """Each value whose condition may be true, until one is for certain."""
    still, choices = np.ones(groups, dtype=np.bool_), []
    pairs = len(arguments) // 2 * 2
    for condition, value in zip(arguments[0:pairs:2], arguments[1:pairs:2], strict=True):
        if not isinstance(condition, Truth) or not isinstance(value, Box):
            return Box.anything(groups)
        choices.append((still & condition.true, value))
        still = still & (condition.false | condition.null)
    for otherwise in arguments[pairs:]:
        if not isinstance(otherwise, Box):
            return Box.anything(groups)
        choices.append((still, otherwise))
        still = np.zeros(groups, dtype=np.bool_)
    return _hull(choices, still)


def _coalesce(boxes: Sequence[Box]) -> Box:
    still, choices = np.ones(len(boxes[0].low), dtype=np.bool_), []
    for box in boxes:
        choices.append((still, Box(box.low, box.high, np.zeros_like(still))))
        still = still & box.missing
    return _hull(choices, still)


def _nullif(boxes: Sequence[Box]) -> Box:
    left, _ = boxes
    return Box(left.low, left.high, left.missing | _equal(boxes).true)


# Conditions


def _less(boxes: Sequence[Box]) -> Truth:
    left, right = boxes
    return Truth(left.low < right.high, left.high >= right.low, _missing(boxes))


def _at_most(boxes: Sequence[Box]) -> Truth:
    left, right = boxes
    return Truth(left.low <= right.high, left.high > right.low, _missing(boxes))


def _equal(boxes: Sequence[Box]) -> Truth:
    left, right = boxes
    same = (left.low == right.high) & (left.high == right.low)
    return Truth((left.low <= right.high) & (right.low <= left.high), ~same, _missing(boxes))


def _not(truths: Sequence[Truth]) -> Truth:
    (only,) = truths
    return Truth(only.false, only.true, only.null)


def _and(truths: Sequence[Truth]) -> Truth:
    return Truth(
        reduce(np.logical_and, [each.true for each in truths]),
        reduce(np.logical_or, [each.false for each in truths]),
        reduce(np.logical_or, [each.null for each in truths]),
    )


def _or(truths: Sequence[Truth]) -> Truth:
    return _not([_and([_not([each]) for each in truths])])


def _between(boxes: Sequence[Box]) -> Truth:
    value, low, high = boxes
    return _and([_at_most([low, value]), _at_most([value, high])])


def _is_null(boxes: Sequence[Box]) -> Truth:
    (only,) = boxes
    return Truth(only.missing, ~np.isnan(only.low), np.zeros_like(only.missing))


NumberRule: TypeAlias = Callable[[Sequence[Box]], Box]
_NUMBERS: Mapping[str, NumberRule] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
    "negate": _negate,
    "abs": _absolute,
    "sign": _growing(np.sign),
    "floor": _growing(np.floor),
    "ceil": _growing(np.ceil),
    "round": lambda boxes: _rounded(boxes[0], 0),
    "cast_integer": lambda boxes: _rounded(boxes[0], 0),
    "cast_number": lambda boxes: boxes[0],
    "sqrt": _growing(np.sqrt, 0.0),
    "ln": _growing(np.log, 0.0),
    "log10": _growing(np.log10, 0.0),
    "exp": _growing(np.exp),
    "least": _least,
    "greatest": _greatest,
    "coalesce": _coalesce,
    "nullif": _nullif,
}
_COMPARISONS: Mapping[str, Callable[[Sequence[Box]], Truth]] = {
    "<": _less,
    "<=": _at_most,
    ">": lambda boxes: _less(boxes[::-1]),
    ">=": lambda boxes: _at_most(boxes[::-1]),
    "=": _equal,
    "<>": lambda boxes: _not([_equal(boxes)]),
    "between": _between,
    "is_null": _is_null,
    "is_not_null": lambda boxes: _not([_is_null(boxes)]),
}
_LOGIC: Mapping[str, Callable[[Sequence[Truth]], Truth]] = {"and": _and, "or": _or, "not": _not}
