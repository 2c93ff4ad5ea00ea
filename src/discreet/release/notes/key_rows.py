"""Which rows are in no group: those whose key is missing, or is none of the public values."""

from discreet.dialects.quoting import as_typed
from discreet.functions.registry import range_of
from discreet.model.expression import Call, Expression, Field, Literal, conditions_in, title
from discreet.model.person_value import PersonAggregate
from discreet.model.policy import ValueType
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    GroupKey,
    Lookup,
    PerPerson,
    PersonJoin,
    Query,
    Relation,
    Scan,
)
from discreet.release.notes.key_ends import within

_NULL_OF_NULL_ALONE = (
    *("+", "-", "*", "negate", "abs", "floor", "ceil", "round", "cast_number", "least", "greatest"),
    *("=", "<>", "<", "<=", ">", ">=", "in", "between", "and", "or", "not", "lower", "upper"),
    *("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear", "hour", "minute", "second"),
    "date_trunc",
)
"""Unless a number is beyond 64 bits."""
_COUNTS = (PersonAggregate.COUNT, PersonAggregate.DISTINCT)
_NEVER_NULL = ("is_null", "is_not_null", "is_distinct_from", "is_not_distinct_from")


def has_complete_keys(query: Query) -> bool:
    """Whether every row is in a group of each grouping set, by what is computed and by the owner's word.

    Then questions with other keys count the same rows. No privacy rests on it.
    """
    return all(_is_complete(key, query.source) for key in query.keys)


def _is_complete(key: GroupKey, source: Relation) -> bool:
    if key.values is None or key.total or is_listed(key.expression, source):
        return key.values is not None
    rows = KeyRows(source, key)
    return not rows.can_be_missing(key.expression) and not rows.can_be_unlisted(key.expression)


def _complete_columns(relation: Relation) -> set[str]:
    """Those that have a value in all rows. A LEFT JOIN leaves gaps in those of its right side."""
    match relation:
        case Scan(table=table, alias=alias):
            return {f"{alias}.{name}" for name, column in table.columns.items() if column.complete}
        case FollowKey(child=child, parent=parent):
            return _complete_columns(child) | _complete_columns(parent)
        case Filter(source=source) | Lookup(source=source) | FewRows(source=source):
            return _complete_columns(source)
        case PersonJoin(left=left, right=right, keep_unmatched=keep):
            return _complete_columns(left) | (set() if keep else _complete_columns(right))
    return set()


def is_listed(expression: Expression, source: Relation) -> bool:
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


class KeyRows:
    """Which values of a key the rows of a relation can have."""

    def __init__(self, source: Relation, key: GroupKey) -> None:
        self._values = frozenset(key.values or ())
        self._columns: set[str] = set()
        self._public: set[str] = set()
        self._counts: set[str] = set()
        self._complete = _complete_columns(source)
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
        return as_typed(name)

    def can_be_missing(self, expression: Expression) -> bool:
        match expression:
            case Literal(value=value):
                return value is None
            case Field(name=name):
                return name not in self._counts | self._complete
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
            case Field(name=name) if name in self._public | self._complete:
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
            case Call(arguments=arguments) if expression.type is ValueType.TEXT:
                return any(self.can_be_unlisted(each) for each in arguments if each.type is ValueType.TEXT)
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
