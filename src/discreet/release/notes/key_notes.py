"""What the groups of an answer hold, and which rows are in none of them, in words that go with the answer."""

from collections.abc import Iterator

from discreet.functions.day_ranges import has_bounds
from discreet.functions.registry import range_of
from discreet.model.expression import Field, fields_of, title
from discreet.model.policy import ValueType
from discreet.model.query import (
    GroupKey,
    Query,
    Relation,
)
from discreet.release.notes.key_ends import ends_of
from discreet.release.notes.key_rows import KeyRows, is_listed


def key_notes(query: Query) -> list[str]:
    """One sentence for each key that is clamped, and one for each that some rows do not have."""
    notes = [note for key in query.keys for note in _clamped(key, query.source)]
    return [*notes, *(note for key in query.keys for note in _in_no_group(key, query.source))]


def _clamped(key: GroupKey, source: Relation) -> Iterator[str]:
    bounded = {field.name: field for field in fields_of(key.expression) if field.range or field.days}
    if not bounded:
        return
    low, high = ends_of(key, source) or (None, None)
    if low is None and high is None:
        if not isinstance(key.expression, Field):
            told = [f"{title(name)} is taken within {_range(field)}" for name, field in bounded.items()]
            yield f"{key.name}: {', '.join(told)}."
        return
    words = ("later", "earlier") if has_bounds(key.expression) else ("more", "less")
    means = [
        f"{end} means {end} or {more}"
        for end, more in zip((high, low), words, strict=True)
        if end is not None
    ]
    yield f"{key.name}: {', and '.join(means)}, as values are clamped."


def _range(field: Field) -> str:
    if field.days is not None:
        return f"{field.days.low} … {field.days.high}"
    span = range_of(field)
    return "its bounds" if span is None else f"{float(span.low):g} … {float(span.high):g}"


def _in_no_group(key: GroupKey, source: Relation) -> Iterator[str]:
    """Of keys that are listed by the policy. What WHERE lists, the question leaves out by itself."""
    if key.values is None or key.total or is_listed(key.expression, source):
        return
    seen = KeyRows(source, key)
    missing, unlisted = seen.can_be_missing(key.expression), seen.can_be_unlisted(key.expression)
    if unlisted:
        rows = f"Rows whose {key.name} is {'missing or ' if missing else ''}not listed are in no group."
        yield rows + _to_count(_or_other(key, seen))
    elif missing:
        yield f"Rows without {key.name} are in no group." + _to_count(_or_none(key, seen))


def _to_count(by: str | None) -> str:
    return "" if by is None else f" To count them: GROUP BY {by}."


def _or_none(key: GroupKey, seen: KeyRows) -> str | None:
    """The key, with a value for what is missing that no other row has."""
    name, other = seen.name_of(key), _other(key, "none")
    if name is not None and key.expression.type is ValueType.BOOLEAN:
        return f"CASE WHEN {name} THEN 'yes' WHEN NOT {name} THEN 'no' ELSE 'none' END"
    return None if name is None or other is None else f"coalesce({name}, {other})"


def _or_other(key: GroupKey, seen: KeyRows) -> str | None:
    name, other = seen.name_of(key), _other(key, "other")
    if name is None or other is None:
        return None
    return f"CASE WHEN {name} IN (…) THEN {name} ELSE {other} END"


def _other(key: GroupKey, word: str) -> str | None:
    match key.expression.type:
        case ValueType.INTEGER:
            return str(min((value for value in key.values or () if isinstance(value, int)), default=0) - 1)
        case ValueType.TEXT:
            return f"'{word}'"
    return None
