"""What a row adds to a question, as SQL: integers, bins, and how far values lie beyond their bounds."""

from dataclasses import replace
from fractions import Fraction

from discreet.aggregates.vectors import BEYOND_STEPS, Clamped, Histogram, LeftOut, WeightedSum
from discreet.dialects.dialect import Dialect
from discreet.functions.registry import emit, emit_steps, range_of
from discreet.model.expression import Expression, Field, Literal, Range
from discreet.model.policy import ValueType
from discreet.model.query import GroupKey
from discreet.sql.relation import clamped

EmittedColumn = tuple[str, str, str]
"""A column of the rows: its name, its SQL in the first step, and its SQL in the second, from that name."""
_ROOM = 256
"""Values are read up to so many times the width of their bounds beyond them."""

_HALF = Fraction(1, 2)
ONE = ("1", "1")
_EXACT_IN_DOUBLE = 2**52
"""Whole numbers below it are the same in integers and in doubles, also after ½ is added."""


def beyond_columns(part: LeftOut, dialect: Dialect) -> list[EmittedColumn]:
    """How far values lie beyond their bounds, in steps, as doubles; 0 where they do not. They are read
    within bounds that are much wider, so that no value is too large to compute with.

    Doubles add up faster than integers, and as exactly: up to 2³² rows of one person. With more, the person
    is still in one bin.
    """
    columns = []
    for i, each in enumerate(part.clamped):
        low, high = each.bounds
        room = _ROOM * (high - low)
        value = replace(each.value, range=Range(low=low - room, high=high + room))
        grid = (high - low) / BEYOND_STEPS
        steps = emit_steps(value, dialect, offset=low, grid=grid, half=Fraction(0))
        only = "" if each.condition is None else f" AND ({emit(each.condition, dialect)}) IS TRUE"
        below, above = _is_outside(each, dialect)
        far = f"WHEN {above} THEN greatest({steps} - {BEYOND_STEPS}, 0) ELSE least({steps} + 1, 0)"
        outside = f"CASE WHEN ({above} OR {below}){only} THEN CASE {far} END ELSE 0 END"
        columns.append((f"beyond{i}", outside, f"beyond{i}"))
    return columns


def _is_outside(clamped: Clamped, dialect: Dialect) -> tuple[str, str]:
    """Whether a value is below its bounds, and above. Most are not, so this is as simple as possible."""
    read = dialect.read(dialect.identifier(clamped.value.name), clamped.value.type)
    whole = clamped.value.type is ValueType.INTEGER and all(end.denominator == 1 for end in clamped.bounds)
    low, high = (str(end) if whole else dialect.double(float(end)) for end in clamped.bounds)
    return f"{read} < {low}", f"{read} > {high}"


def integer_column(part: WeightedSum, name: str, dialect: Dialect) -> tuple[str, str]:
    """What a row adds before its weight: an integer of at most `largest` in size, whatever the row holds.

    It is NULL, which adds nothing, where the value is NULL. If it is `ONE`, every row adds 1.
    """
    conditions = []
    if part.condition is not None:
        conditions.append(f"({emit(part.condition, dialect)}) IS TRUE")
    if part.not_null is not None and part.not_null != part.value:
        conditions.append(f"({emit(part.not_null, dialect)}) IS NOT NULL")
    if part.value is None and not conditions:
        return ONE
    value, finished = ("1", name) if part.value is None else _quantised(part, part.value, name, dialect)
    return (
        f"CASE WHEN {' AND '.join(conditions)} THEN {value} ELSE 0 END" if conditions else value,
        finished,
    )


def _quantised(part: WeightedSum, value: Expression, name: str, dialect: Dialect) -> tuple[str, str]:
    """⌊(x − offset)/grid + ½⌋, clamped again: the sensitivity holds whatever floats and ranges do."""
    steps, rounded = part.most_steps, _rounded(value, part.offset, part.grid, dialect)
    inside = name if _is_clamped(part, value) else clamped(name, -steps, steps)
    return rounded, inside if part.power == 1 else f"({inside}) * ({inside})"


def steps_column(
    value: Expression, name: str, offset: Fraction, grid: Fraction, steps: int, dialect: Dialect
) -> tuple[str, str]:
    """How many steps a value is above a point, from 0 to so many, whatever the row holds."""
    return _rounded(value, offset, grid, dialect), clamped(name, 0, steps)


def _rounded(value: Expression, offset: Fraction, grid: Fraction, dialect: Dialect) -> str:
    """⌊(x − offset)/grid + ½⌋, which is x − offset itself where that is whole."""
    if not _is_whole(value, offset, grid):
        return emit_steps(value, dialect, offset=offset, grid=grid, half=_HALF)
    return f"({emit(value, dialect)}) - ({offset})" if offset else emit(value, dialect)


def leaf_column(part: Histogram, dialect: Dialect) -> tuple[str, str]:
    """The bin of a row, NULL where it has no value."""
    half = _HALF if part.points else Fraction(0)
    place = emit_steps(part.value, dialect, offset=part.low, grid=part.width, half=half)
    if part.condition is not None:
        place = f"CASE WHEN ({emit(part.condition, dialect)}) IS TRUE THEN {place} END"
    return place, clamped("leaf", 0, part.leaves - 1)


def known_key(key: GroupKey, name: str, dialect: Dialect) -> str:
    """Rows whose key is not among the public ones belong to no group, and use up no weight."""
    known = _known_value(key, name, dialect)
    return f"{known} OR {name} IS NULL" if None in (key.values or ()) else known


def _known_value(key: GroupKey, name: str, dialect: Dialect) -> str:
    values = [value for value in key.values or () if value is not None]
    numbers = [value for value in values if type(value) is int]
    if len(numbers) == len(values) > 1 and max(numbers) - min(numbers) == len(numbers) - 1:
        span = range_of(key.expression)
        if span is not None and min(numbers) <= span.low and span.high <= max(numbers):
            return f"{name} IS NOT NULL"
        return f"{name} BETWEEN {min(numbers)} AND {max(numbers)}"
    listed = [Literal(value=value, type=key.expression.type) for value in values]
    return dialect.is_key(name, listed) if listed else "FALSE"


def _is_whole(value: Expression, offset: Fraction, grid: Fraction) -> bool:
    """Whether x − offset is the integer already, and the same in integers as in doubles."""
    span = range_of(value)
    if value.type is not ValueType.INTEGER or grid != 1 or offset.denominator != 1 or span is None:
        return False
    return max(abs(span.low), abs(span.high)) < _EXACT_IN_DOUBLE


def _is_clamped(part: WeightedSum, value: Expression) -> bool:
    """Whether it is a column of whole numbers that is clamped to narrow enough bounds already."""
    span = range_of(value)
    if (
        not isinstance(value, Field)
        or span is None
        or part.offset != 0
        or not _is_whole(value, part.offset, part.grid)
    ):
        return False
    return -part.most_steps <= span.low and span.high <= part.most_steps


def used_by(part: LeftOut) -> list[Expression]:
    """What its columns are computed from."""
    conditions = [each.condition for each in part.clamped if each.condition is not None]
    return [*(each.value for each in part.clamped), *conditions]
