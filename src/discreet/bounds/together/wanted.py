"""What a vector adds up, told in one way for all aggregates.

It is a multiple of Σ (x − start)^power over the rows on which all of some conditions are true.

So count(*) FILTER (WHERE c), count(CASE WHEN c THEN 1 END), sum(CASE WHEN c THEN 1 ELSE 0 END) and
count_if(c) are the same, and so are sum(x) FILTER (WHERE c) and sum(CASE WHEN c THEN x ELSE 0 END).
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

from discreet.aggregates.vectors import WeightedSum
from discreet.functions.registry import build_call
from discreet.model.expression import Call, Expression, Literal, conditions_in
from discreet.model.policy import ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSum:
    """A vector that measures are computed from, and how much its noise matters."""

    place: int
    """Among the parts of the question."""
    part: WeightedSum
    matters: float
    """c², of all measures that are computed from it."""
    conditions: frozenset[Expression]
    value: Expression | None = None
    """None: rows are counted."""
    power: int = 0
    start: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)


def wanted(place: int, part: WeightedSum, matters: float) -> WantedSum | None:
    """None for a vector of which this cannot be told."""
    counted = WantedSum(
        place=place,
        part=part,
        matters=matters,
        conditions=frozenset(() if part.condition is None else conditions_in(part.condition)),
    )
    if part.value is None:
        return replace(counted, conditions=counted.conditions | _where_not_null(part.not_null))
    if part.not_null != part.value:
        return None
    return _summed(replace(counted, power=part.power, start=part.offset), part.value)


def _summed(found: WantedSum, value: Expression) -> WantedSum:
    """The conditions on which a value is something else than 0 are conditions of the sum."""
    match value:
        case Call(function="cast_integer", arguments=(condition,)) if condition.type is ValueType.BOOLEAN:
            if not found.start:
                return _counted(found, condition, Fraction(1))
        case Call(function="case", arguments=(condition, chosen, *otherwise)) if (
            not otherwise or _is_null(otherwise[0]) or (_is_zero(otherwise) and not found.start)
        ):
            if not isinstance(chosen, Literal):
                rows = found.conditions | {*conditions_in(condition), _not_null(chosen)}
                return replace(found, conditions=rows, value=chosen)
            if not found.start and isinstance(chosen.value, int | Fraction):
                grid = found.part.grid
                return _counted(found, condition, floor(chosen.value / grid + Fraction(1, 2)) * grid)
    return replace(found, conditions=found.conditions | {_not_null(value)}, value=value)


def _counted(found: WantedSum, condition: Expression, each: Fraction) -> WantedSum:
    """Of rows that add the same number, the number of rows."""
    rows = found.conditions | {*conditions_in(condition)}
    return replace(found, conditions=rows, power=0, start=Fraction(0), factor=each**found.power)


def _where_not_null(value: Expression | None) -> frozenset[Expression]:
    match value:
        case None:
            return frozenset()
        case Literal(value=constant) if constant is not None:
            return frozenset()
        case Call(function="case", arguments=(condition, chosen, *otherwise)) if not otherwise or _is_null(
            otherwise[0]
        ):
            return frozenset(conditions_in(condition)) | _where_not_null(chosen)
        case Call(function="case", arguments=(_, Literal(value=one), Literal(value=other))) if (
            one is not None and other is not None
        ):
            return frozenset()
        case Call(function="cast_integer", arguments=(condition,)) if condition.type is ValueType.BOOLEAN:
            return frozenset({_not_null(condition)})
    return frozenset({_not_null(value)})


def _not_null(value: Expression) -> Expression:
    return build_call("is_not_null", (value,))


def _is_null(value: Expression) -> bool:
    return isinstance(value, Literal) and value.value is None


def _is_zero(otherwise: list[Expression]) -> bool:
    (value,) = otherwise if len(otherwise) == 1 else (None,)
    return isinstance(value, Literal) and value.value == 0
