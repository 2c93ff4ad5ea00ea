"""FROM public LEFT JOIN private: all rows of the public table, also those that nobody matches.

Such a row belongs to nobody, and whether it is there depends on everybody. So it is left out, and the
question is taken for a plain JOIN. That is the same answer if such a row would add nothing to any aggregate,
and if it is grouped by public columns, whose values all have a row anyway. Anything else is refused.
"""

from collections.abc import Iterable

from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.weights import Unit
from discreet.errors import QueryRefused
from discreet.model.expression import Call, Expression, Field, Literal, owners
from discreet.model.query import Filter, Query, Relation

_IF_ALL = ("coalesce", "and", "or")
_NEVER = ("is_null", "is_not_null", "is_distinct_from", "is_not_distinct_from")
_FIRST = ("in", "between", "nullif")


def check_rows_of_nobody(query: Query, kept: str, public: frozenset[str]) -> None:
    """Refuse a question that rows without people would count in.

    `kept` is the alias of the table that they are from; columns of all `public` ones may be there.
    """
    if any(is_missing(each, public) for each in _conditions(query.source)):
        return  # a condition leaves such rows out
    measured = [(measure.aggregate, measure.expressions) for measure in query.measures]
    if query.picks is not None:
        by = query.picks.condition
        measured.append((query.picks.aggregate, () if by is None else (by,)))
    for aggregate, expressions in measured:
        left_out = any(is_missing(each, public) for each in expressions)
        if AGGREGATES[aggregate].counts is not Unit.PEOPLE and not left_out:
            raise QueryRefused(
                "LEFT JOIN after a public table keeps rows that belong to nobody, and they would count here.",
                remedy="Count a column of the private table: count(v.PERSON), not count(*); or write JOIN.",
            )
    for key in query.keys:
        if not owners(key.expression) <= {kept}:
            raise QueryRefused(
                f"LEFT JOIN after a public table keeps rows that belong to nobody, which have no {key.name}.",
                remedy="Group by columns of the public table, or write JOIN.",
            )


def is_missing(expression: Expression, present: frozenset[str]) -> bool:
    """Whether it is NULL if all columns are, but for those of the relations that are present."""
    match expression:
        case Field():
            return not owners(expression) <= present
        case Literal():
            return expression.value is None
        case Call(function="case", arguments=arguments):
            return _case_is_missing(arguments, present)
        case Call(function=name, arguments=arguments) if name in _IF_ALL:
            return all(is_missing(each, present) for each in arguments)
        case Call(function=name) if name in _NEVER:
            return False
        case Call(function=name, arguments=arguments) if name in _FIRST:
            return is_missing(arguments[0], present)
    return any(is_missing(each, present) for each in expression.arguments)


def _case_is_missing(arguments: tuple[Expression, ...], present: frozenset[str]) -> bool:
    """If no condition can be true, it is the ELSE; or else all of its values are NULL."""
    pairs = len(arguments) // 2 * 2
    otherwise = all(is_missing(each, present) for each in arguments[pairs:])
    conditions, values = arguments[0:pairs:2], arguments[1:pairs:2]
    return otherwise and (_all(conditions, present) or _all(values, present))


def _all(expressions: Iterable[Expression], present: frozenset[str]) -> bool:
    return all(is_missing(each, present) for each in expressions)


def _conditions(relation: Relation) -> Iterable[Expression]:
    """The conditions of WHERE, above all joins."""
    while isinstance(relation, Filter):
        yield relation.predicate
        relation = relation.source
