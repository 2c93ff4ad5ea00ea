"""Functions of texts. Positions count characters (Unicode code points) from 1.

No function makes a text of more than 4,096 characters, or searches in more: a replacement inside of a
replacement would otherwise fill any memory. Positions, patterns and replacements are constants, so that
they do not depend on rows.
"""

from collections.abc import Sequence
from dataclasses import replace

from discreet.dialects.dialect import EmitScope, Operand
from discreet.errors import QueryRefused
from discreet.functions.definition import (
    Arguments,
    Function,
    fixed,
    literal_integer,
    literal_text,
    taking,
)
from discreet.model.expression import Call, Literal
from discreet.model.interval_arithmetic import ValueInterval, interval
from discreet.model.policy import ValueType

LONGEST_GROWN_TEXT = 4096
LONGEST_PATTERN = 256
LONGEST_REPLACEMENT = 16
LAST_POSITION = 1_000_000
_TIMES_GROWN = 4

_TEXT = ValueType.TEXT
_CUT = ("trim", "ltrim", "rtrim", "split_part", "substring", "left", "right", "concat", "replace")
_WITHOUT_LENGTH = 2


def _simple(name: str, result: ValueType, texts: int, low: int | None = None) -> Function:
    usage = f"{name}({', '.join(['text', 'part'][:texts])})"
    known = ValueInterval() if low is None else ValueInterval(low=interval(low, low).low)
    return Function(
        name=name,
        usage=usage,
        fewest=texts,
        most=texts,
        check=fixed(usage, [_TEXT] * texts, result),
        emit=lambda operands, scope: scope.dialect.text_call(name, [operand.sql for operand in operands]),
        range=lambda _: known,
    )


def _cut(operand: Operand) -> str:
    """The text, cut to what functions look at. Most functions make texts that are short enough already."""
    if isinstance(operand.expression, Call) and operand.expression.function in _CUT:
        return operand.sql
    return f"left({operand.sql}, {LONGEST_GROWN_TEXT})"


def _changed(name: str) -> Function:
    """lower, upper, trim, ltrim or rtrim."""
    usage = f"{name}(text)"
    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=fixed(usage, [_TEXT], _TEXT),
        emit=lambda operands, scope: scope.dialect.text_call(name, [_cut(operands[0])]),
    )


_CONTAINS = "contains(text, part)"


def _check_contains(arguments: Arguments) -> tuple[Arguments, ValueType]:
    found, result = fixed(_CONTAINS, [_TEXT] * 2, ValueType.BOOLEAN)(arguments)
    if isinstance(found[1], Literal) and found[1].value is not None:
        literal_text(_CONTAINS, found[1], LONGEST_PATTERN)
    return found, result


def _contains(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Databases may try a part at every place of the text, so its length is limited, too."""
    text, part = operands
    sought = part.sql if isinstance(part.expression, Literal) else f"left({part.sql}, {LONGEST_PATTERN})"
    return scope.dialect.text_call("contains", [_cut(text), sought])


def _concat(operands: Sequence[Operand], _: EmitScope) -> str:
    """NULL if any part is NULL, as || is. Parts are cut first: PostgreSQL fails on a gigabyte of text."""
    result, *others = (f"left({operand.sql}, {LONGEST_GROWN_TEXT})" for operand in operands)
    for other in others:
        result = f"left({result} || {other}, {LONGEST_GROWN_TEXT})"
    return result


_SUBSTRING = "substring(text, start, length)"


def _check_substring(arguments: Arguments) -> tuple[Arguments, ValueType]:
    literal_integer(_SUBSTRING, arguments[1], -LAST_POSITION, LAST_POSITION)
    if len(arguments) == 3:
        literal_integer(_SUBSTRING, arguments[2], 0, LAST_POSITION)
    return (*taking(_SUBSTRING, _TEXT)(arguments[:1]), *arguments[1:]), _TEXT


def _substring(operands: Sequence[Operand], _: EmitScope) -> str:
    """The characters at positions start … start + length - 1 that exist, as in standard SQL."""
    start = literal_integer(_SUBSTRING, operands[1].expression, -LAST_POSITION, LAST_POSITION)
    first = max(start, 1)
    length = LAST_POSITION
    if len(operands) > _WITHOUT_LENGTH:
        length = start + literal_integer(_SUBSTRING, operands[2].expression, 0, LAST_POSITION) - first
    return f"substring({operands[0].sql}, {first}, {min(max(length, 0), LONGEST_GROWN_TEXT)})"


def _end(name: str) -> Function:
    """left or right."""
    usage = f"{name}(text, count)"

    def check(arguments: Arguments) -> tuple[Arguments, ValueType]:
        literal_integer(usage, arguments[1], 0, LAST_POSITION)
        return (*taking(usage, _TEXT)(arguments[:1]), arguments[1]), _TEXT

    def emit(operands: Sequence[Operand], _: EmitScope) -> str:
        count = literal_integer(usage, operands[1].expression, 0, LAST_POSITION)
        return f"{name}({operands[0].sql}, {min(count, LONGEST_GROWN_TEXT)})"

    return Function(name=name, usage=usage, fewest=2, most=2, check=check, emit=emit)


_LIKE = "text LIKE 'pattern'"


def _check_like(arguments: Arguments) -> tuple[Arguments, ValueType]:
    literal_text(_LIKE, arguments[1], LONGEST_PATTERN)
    return (*taking(_LIKE, _TEXT)(arguments[:1]), arguments[1]), ValueType.BOOLEAN


def _like(operands: Sequence[Operand], scope: EmitScope) -> str:
    pattern = literal_text(_LIKE, operands[1].expression, LONGEST_PATTERN)
    searched = "%" in pattern[:-1]
    return scope.dialect.like(_cut(operands[0]) if searched else operands[0].sql, pattern, scope)


_POSITION = "position('part' IN text)"


def _check_position(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if not literal_text(_POSITION, arguments[1], LONGEST_PATTERN):
        raise QueryRefused("position needs a text to look for.", remedy="Write position('-' IN text).")
    return (*taking(_POSITION, _TEXT)(arguments[:1]), arguments[1]), ValueType.INTEGER


def _position(operands: Sequence[Operand], scope: EmitScope) -> str:
    return scope.dialect.text_call("strpos", [_cut(operands[0]), operands[1].sql])


_SPLIT_PART = "split_part(text, 'separator', number)"


def _check_split_part(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if not literal_text(_SPLIT_PART, arguments[1], LONGEST_REPLACEMENT):
        raise QueryRefused("split_part needs a separator.", remedy="Write split_part(text, '-', 1).")
    literal_integer(_SPLIT_PART, arguments[2], 1, LONGEST_GROWN_TEXT)
    return (*taking(_SPLIT_PART, _TEXT)(arguments[:1]), *arguments[1:]), _TEXT


def _split_part(operands: Sequence[Operand], scope: EmitScope) -> str:
    """An empty text where there are fewer parts. In DuckDB, a macro that repeats its argument."""
    text, separator, number = operands
    place = literal_integer(_SPLIT_PART, number.expression, 1, LONGEST_GROWN_TEXT)

    def part(names: Sequence[str]) -> str:
        return f"split_part({scope.dialect.binary(names[0])}, {separator.sql}, {place})"

    return scope.once([replace(text, sql=_cut(text))], part)


_REPLACE = "replace(text, 'from', 'to')"


def _check_replace(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if not literal_text(_REPLACE, arguments[1], LONGEST_PATTERN):
        raise QueryRefused("replace needs a text to look for.", remedy="Write replace(text, '-', '').")
    literal_text(_REPLACE, arguments[2], LONGEST_REPLACEMENT)
    return (*taking(_REPLACE, _TEXT)(arguments[:1]), *arguments[1:]), _TEXT


def _replace(operands: Sequence[Operand], _: EmitScope) -> str:
    """Cut before and after, so that no text in between is longer than `_TIMES_GROWN` times the limit."""
    text, old, new = (operand.sql for operand in operands)
    lengths = [len(literal_text(_REPLACE, operand.expression, LONGEST_PATTERN)) for operand in operands[1:]]
    replaced = f"replace(left({text}, {kept_of_replaced(*lengths)}), {old}, {new})"
    return f"left({replaced}, {LONGEST_GROWN_TEXT})" if lengths[1] > lengths[0] else replaced


def kept_of_replaced(old: int, new: int) -> int:
    """How many characters of a text are searched, to replace `old` characters by `new` ones at a time."""
    if new <= _TIMES_GROWN * old:
        return LONGEST_GROWN_TEXT
    return _TIMES_GROWN * LONGEST_GROWN_TEXT * old // new


def _check_concat(arguments: Arguments) -> tuple[Arguments, ValueType]:
    return fixed("x || y", [_TEXT] * len(arguments), _TEXT)(arguments)


TEXTS = (
    _changed("lower"),
    _changed("upper"),
    _changed("trim"),
    _changed("ltrim"),
    _changed("rtrim"),
    _simple("length", ValueType.INTEGER, 1, low=0),
    Function(name="substring", usage=_SUBSTRING, fewest=2, most=3, check=_check_substring, emit=_substring),
    _end("left"),
    _end("right"),
    Function(name="concat", usage="x || y", fewest=2, most=20, check=_check_concat, emit=_concat),
    _simple("starts_with", ValueType.BOOLEAN, 2),
    _simple("ends_with", ValueType.BOOLEAN, 2),
    Function(name="contains", usage=_CONTAINS, fewest=2, most=2, check=_check_contains, emit=_contains),
    Function(
        name="like", usage=_LIKE, fewest=2, most=2, check=_check_like, emit=_like, constants=frozenset({1})
    ),
    Function(
        name="position",
        usage=_POSITION,
        fewest=2,
        most=2,
        check=_check_position,
        emit=_position,
        range=lambda _: interval(0, LONGEST_GROWN_TEXT),
    ),
    Function(
        name="split_part",
        usage=_SPLIT_PART,
        fewest=3,
        most=3,
        check=_check_split_part,
        emit=_split_part,
        constants=frozenset({2}),
    ),
    Function(name="replace", usage=_REPLACE, fewest=3, most=3, check=_check_replace, emit=_replace),
)
