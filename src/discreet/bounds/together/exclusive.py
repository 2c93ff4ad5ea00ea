"""Which conditions can be true of one row together, as far as it shows in what they say.

A condition is a list of demands, each of which says which values one expression has: col = 'a', x BETWEEN 0
AND 9, y IS NOT NULL. Two conditions exclude each other if some expression cannot have values of both. One
implies another if each demand of the other follows from one of its own.

No privacy rests on this. If two conditions were true together that seemed to exclude each other, the row
would be in no cell, and would not be counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from math import inf
from typing import TypeAlias

from discreet.model.expression import Call, Constant, Expression, Literal, conditions_in

SetEnd: TypeAlias = tuple[Constant, bool]
"""A value, and whether it is among the values."""

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_NEGATED |= {"is_null": "is_not_null", "is_not_null": "is_null"}


class Listed:
    """Constants in which others are looked up: lists may be long, and each is compared with all others."""

    __slots__ = ("_doubles", "_kinds", "_known")

    def __init__(self, values: Iterable[Constant]) -> None:
        self._known = {(_kind(each), each) for each in values}
        self._kinds = {kind for kind, _ in self._known}
        self._doubles = {_double(each) for _, each in self._known}

    def __iter__(self) -> Iterator[Constant]:
        return (each for _, each in self._known)

    def may_hold(self, value: Constant) -> bool:
        """Whether one may be the same: what cannot be compared may be."""
        return bool(self._kinds - {_kind(value)}) or _double(value) in self._doubles

    def surely_holds(self, value: Constant) -> bool:
        return (_kind(value), value) in self._known


_NOTHING = Listed(())


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSet:
    """Values that an expression can have, NULL aside; or NULL alone."""

    values: Listed | None = None
    """None: any that nothing else excludes."""
    excluded: Listed = _NOTHING
    low: SetEnd | None = None
    high: SetEnd | None = None
    null: bool = False

    def excludes(self, other: "ValueSet") -> bool:
        """Whether no value is in both, for certain."""
        if self.null or other.null:
            return self.null is not other.null
        for one, two in ((self, other), (other, self)):
            if one.values is not None and not any(map(two.may_hold, one.values)):
                return True
            if _is_between(one.high, two.low):
                return True
        return False

    def is_within(self, other: "ValueSet") -> bool:
        """Whether all its values are in the other, for certain."""
        if self.null or other.null:
            return self.null and other.null
        if self.values is not None:
            return all(map(other.surely_holds, self.values))
        if other.values is not None or any(map(self.may_hold, other.excluded)):
            return False
        return _is_inside(self.low, other.low, 1) and _is_inside(self.high, other.high, -1)

    def may_hold(self, value: Constant) -> bool:
        if self.values is not None and not self.values.may_hold(value):
            return False
        if self.excluded.surely_holds(value):
            return False
        at = (value, True)
        return not _is_between(at, self.low) and not _is_between(self.high, at)

    def surely_holds(self, value: Constant) -> bool:
        if self.values is not None and not self.values.surely_holds(value):
            return False
        if self.excluded.may_hold(value):
            return False
        at = (value, True)
        return _is_inside(at, self.low, 1) and _is_inside(at, self.high, -1)

    def met_by(self, other: "ValueSet") -> "ValueSet":
        """Values that are in both, or a little more."""
        if self.values is not None or self.null:
            return self
        if other.values is not None or other.null:
            return other
        return ValueSet(
            excluded=Listed([*self.excluded, *other.excluded]),
            low=other.low if _is_inside(other.low, self.low, 1) else self.low,
            high=other.high if _is_inside(other.high, self.high, -1) else self.high,
        )


Demand: TypeAlias = tuple[Expression, ValueSet]
"""Which values an expression has to have."""


def patterns_of(conditions: Sequence[Expression], most: int) -> list[int] | None:
    """Which of the conditions may be true together: bit i stands for condition i. None if they are too many.

    The pattern in which none is true is among them.
    """
    said = [[_demand(each) for each in conditions_in(condition)] for condition in conditions]
    met = [_met(each) for each in said]
    found = [0]
    for i, one in enumerate(met):
        excluded = sum(1 << j for j in range(i) if _exclude(one, met[j]))
        implied = sum(1 << j for j in range(i) if _implies(one, said[j]))
        implying = sum(1 << j for j in range(i) if _implies(met[j], said[i]))
        true = [each | 1 << i for each in found if not each & excluded and each & implied == implied]
        false = [each for each in found if not each & implying]
        found = [*false, *true]
        if len(found) > most:
            return None
    return found


def _met(demands: Iterable[Demand]) -> dict[Expression, ValueSet]:
    """The values that each expression can have where all demands are met, or a few more."""
    found: dict[Expression, ValueSet] = {}
    for about, values in demands:
        found[about] = found[about].met_by(values) if about in found else values
    return found


def _exclude(one: Mapping[Expression, ValueSet], other: Mapping[Expression, ValueSet]) -> bool:
    return any(values.excludes(other[about]) for about, values in one.items() if about in other)


def _implies(met: Mapping[Expression, ValueSet], said: Iterable[Demand]) -> bool:
    """Each demand follows by itself: where several are put together, they seem to ask for less."""
    return all(about in met and met[about].is_within(values) for about, values in said)


def _demand(condition: Expression) -> Demand:
    """What one condition demands. Of what is not known here: that it is true."""
    match condition:
        case Call(function="not", arguments=(Call() as inner,)):
            about, values = _demand(inner)
            if inner.function in _NEGATED and about != inner:
                return _demand(replace(inner, function=_NEGATED[inner.function]))
            if inner.function == "in" and values.values is not None and about != inner:
                return about, ValueSet(excluded=values.values)
            return inner, ValueSet(values=Listed([False]))
        case Call(function="not", arguments=(inner,)):
            return inner, ValueSet(values=Listed([False]))
        case Call(function="is_not_null" | "is_null" as function, arguments=(about,)):
            return about, ValueSet(null=function == "is_null")
        case Call(function="between", arguments=(about, Literal(value=low), Literal(value=high))):
            if low is not None and high is not None:
                return about, ValueSet(low=(low, True), high=(high, True))
        case Call(function="in", arguments=(about, *members)):
            listed = [each.value for each in members if isinstance(each, Literal)]
            if len(listed) == len(members) and None not in listed:
                return about, ValueSet(values=Listed(listed))
        case Call(function=function, arguments=(about, Literal(value=value))) if function in _FLIPPED:
            if value is not None:
                return about, _compared(function, value)
        case Call(function=function, arguments=(Literal(value=value), about)) if function in _FLIPPED:
            if value is not None:
                return about, _compared(_FLIPPED[function], value)
    return condition, ValueSet(values=Listed([True]))


def _compared(function: str, value: Constant) -> ValueSet:
    match function:
        case "=":
            return ValueSet(values=Listed([value]))
        case "<>":
            return ValueSet(excluded=Listed([value]))
        case "<" | "<=":
            return ValueSet(high=(value, function == "<="))
    return ValueSet(low=(value, function == ">="))


# Values. A number may be compared as a double: so two that are one double may be the same.


def _alike(one: Constant, other: Constant) -> bool:
    """Whether they can be compared: 1 and TRUE are equal in Python, a day and a moment are not comparable."""
    return _kind(one) == _kind(other)


def _kind(value: Constant) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | Fraction):
        return "number"
    if isinstance(value, datetime):
        return "timestamp"
    return "date" if isinstance(value, date) else "text"


def _double(value: Constant) -> Constant | float:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _is_less(one: Constant, other: Constant) -> bool:
    """For certain, also as doubles. Texts have no order here."""
    if not _alike(one, other) or isinstance(one, str | bool):
        return False
    return bool(_double(one) < _double(other))  # type: ignore[operator]


def _is_between(high: SetEnd | None, low: SetEnd | None) -> bool:
    """Whether what ends at one lies below what begins at the other."""
    if high is None or low is None:
        return False
    if _is_less(high[0], low[0]):
        return True
    same = _alike(high[0], low[0]) and high[0] == low[0] and not isinstance(high[0], str)
    return same and not (high[1] and low[1])


def _is_inside(end: SetEnd | None, other: SetEnd | None, side: int) -> bool:
    """Whether an end is not further out than another: of lower ends if the side is 1, of upper ones if −1."""
    if other is None:
        return True
    if end is None or not _alike(end[0], other[0]):
        return False
    if end[0] == other[0]:
        return other[1] or not end[1]
    return _is_less(other[0], end[0]) if side > 0 else _is_less(end[0], other[0])
