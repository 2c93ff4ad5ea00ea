"""What the groups of an answer hold, and which rows are in none of them, in words that go with the answer."""

import re
from collections.abc import Iterator

from discreet.dialects.quoting import quote_identifier
from discreet.functions.day_ranges import has_bounds
from discreet.functions.registry import range_of
from discreet.model.expression import Call, Expression, Field, Literal, conditions_in, fields_of, title
from discreet.model.person_value import PersonAggregate
from discreet.model.policy import ValueType
from discreet.model.query import (
    FewRows,
    Filter,
    GroupKey,
    Lookup,
    PerPerson,
    Query,
    Relation,
    Scan,
)
from discreet.release.notes.key_ends import ends_of, within

_NULL_OF_NULL_ALONE = (
    *("+", "-", "*", "negate", "abs", "floor", "ceil", "round", "cast_number"),
    *("=", "<>", "<", "<=", ">", ">=", "in", "between", "and", "or", "not"),
)
"""Unless a number is beyond 64 bits."""
_COUNTS = (PersonAggregate.COUNT, PersonAggregate.DISTINCT)
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NEVER_NULL = ("is_null", "is_not_null", "is_distinct_from", "is_not_distinct_from")


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
    if key.values is None or key.total or _is_listed(key.expression, source):
        return
    seen = _Rows(source, key)
    missing, unlisted = seen.can_be_missing(key.expression), seen.can_be_unlisted(key.expression)
    if unlisted:
        rows = f"Rows whose {key.name} is {'missing or ' if missing else ''}not listed are in no group."
        yield rows + _to_count(_or_other(key, seen))
    elif missing:
        yield f"Rows without {key.name} are in no group." + _to_count(_or_none(key, seen))


def _to_count(by: str | None) -> str:
    return "" if by is None else f" To count them: GROUP BY {by}."


def _or_none(key: GroupKey, seen: "_Rows") -> str | None:
    """The key, with a value for what is missing that no other row has."""
    name, other = seen.name_of(key), _other(key, "none")
    if name is not None and key.expression.type is ValueType.BOOLEAN:
        return f"CASE WHEN {name} THEN 'yes' WHEN NOT {name} THEN 'no' ELSE 'none' END"
    return None if name is None or other is None else f"coalesce({name}, {other})"


def _or_other(key: GroupKey, seen: "_Rows") -> str | None:
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


def _is_listed(expression: Expression, source: Relation) -> bool:
    """Whether WHERE lists the values of a key."""
    while isinstance(source, Filter | FewRows | Lookup):
        if isinstance(source, Filter) and any(
            _lists(each, expression) for each in conditions_in(source.predicate)
        ):
            return True
        source = source.source
    return False


def _lists(condition: Expression | None, expression: Expression) -> bool:
    match condition:
        case Call(function="in" | "=", arguments=(compared, *listed)):
            return compared == expression and all(isinstance(value, Literal) for value in listed)
    return False


class _Rows:
    """Which values of a key the rows of a relation can have."""

    def __init__(self, source: Relation, key: GroupKey) -> None:
        self._values = frozenset(key.values or ())
        self._columns: set[str] = set()
        self._public: set[str] = set()
        self._counts: set[str] = set()
        for relation in within(source):
            match relation:
                case Scan():
                    self._columns |= {f"{relation.alias}.{column}" for column in relation.table.columns}
                case Lookup():
                    self._public |= {f"{relation.alias}.{column}" for column in relation.table.columns}
                case PerPerson():
                    self._counts |= {
                        value.field.name for value in relation.values if value.aggregate in _COUNTS
                    }

    def name_of(self, key: GroupKey) -> str | None:
        """What a question can call it; None if it is computed."""
        if not isinstance(key.expression, Field):
            return None
        known = self._columns | self._public
        name = title(key.expression.name) if key.expression.name in known else key.name
        return name if _PLAIN.fullmatch(name) else quote_identifier(name)

    def can_be_missing(self, expression: Expression) -> bool:
        match expression:
            case Literal(value=value):
                return value is None
            case Field(name=name):
                return name not in self._counts
            case Call(function="coalesce", arguments=arguments):
                return all(map(self.can_be_missing, arguments))
            case Call(function="case", arguments=arguments):
                chosen = [
                    choice for condition, choice in _choices(arguments) if not _lists(condition, choice)
                ]
                return len(arguments) % 2 == 0 or any(map(self.can_be_missing, chosen))
            case Call(function="/", arguments=(inner, Literal(value=divisor))) if divisor:
                return self.can_be_missing(inner)
            case Call(function=function, arguments=arguments):
                some = function not in _NULL_OF_NULL_ALONE or any(map(self.can_be_missing, arguments))
                return function not in _NEVER_NULL and some

    def can_be_unlisted(self, expression: Expression) -> bool:
        """Whether a row can have a value that is not among the keys, other than NULL."""
        match expression:
            case Field(type=ValueType.BOOLEAN) | Literal():
                return False
            case Field(name=name) if name in self._public:
                return False
            case Field():
                span = range_of(expression)
                return span is None or span.high - span.low >= len(self._values)
            case Call(function="coalesce", arguments=arguments):
                return any(map(self.can_be_unlisted, arguments))
            case Call(function="case", arguments=arguments):
                return any(
                    self.can_be_unlisted(choice)
                    for condition, choice in _choices(arguments)
                    if not self._is_among_keys(condition, choice)
                )
        return False

    def _is_among_keys(self, condition: Expression | None, choice: Expression) -> bool:
        """WHEN ward IN (…) THEN ward, where the keys hold all that are listed."""
        if condition is None or not _lists(condition, choice) or not isinstance(condition, Call):
            return False
        return all(
            isinstance(each, Literal) and each.value in self._values for each in condition.arguments[1:]
        )


def _choices(arguments: tuple[Expression, ...]) -> list[tuple[Expression | None, Expression]]:
    """What a CASE gives, each with its condition; ELSE has none."""
    pairs = len(arguments) // 2 * 2
    chosen: list[tuple[Expression | None, Expression]] = list(
        zip(arguments[:pairs:2], arguments[1:pairs:2], strict=True)
    )
    return [*chosen, *((None, otherwise) for otherwise in arguments[pairs:])]
