"""The values that an expression can take, when they are few and public: public keys to group by."""

import math
from collections.abc import Callable
from typing import TypeAlias

from discreet.functions.listing import Listing
from discreet.functions.registry import range_of
from discreet.model.expression import Call, Expression, Field, Literal
from discreet.model.interval_arithmetic import LARGEST_INTEGER, SMALLEST_INTEGER
from discreet.model.policy import KeyValue, ValueType

_LISTED_IN_A_STEP = 20

KeysOf: TypeAlias = Callable[[str], tuple[KeyValue, ...] | None]
"""The public values of a field, by its name."""


def integer_values(expression: Expression, limit: int, listing: Listing | None = None) -> list[int] | None:
    """All values of an INTEGER expression in order, NULL aside; None if unknown or more than the limit.

    floor(age / 10) * 10 has as many values as floor(age / 10): * 10 is computed for each of them.
    """
    if expression.type is not ValueType.INTEGER:
        return None
    listing = listing or Listing()
    stepped = _stepped(expression, limit, listing)
    if stepped is not None:
        return stepped
    known = range_of(expression)
    if known is None:
        return None
    low, high = math.ceil(known.low), math.floor(known.high)
    if high - low >= limit:
        return None
    listing.take(max(0, high - low) // _LISTED_IN_A_STEP)
    return list(range(low, high + 1))


def possible_values(
    expression: Expression, keys_of: KeysOf, listing: Listing | None = None
) -> tuple[KeyValue, ...] | None:
    """All values of a column with declared keys, of a BOOLEAN, or of a CASE that chooses among such.

    NULL aside. None if they are not public.
    """
    listing = listing or Listing()
    match expression:
        case Field(name=name) if (keys := keys_of(name)) is not None:
            return keys
        case Literal(value=None):
            return ()
        case Literal(value=str() | bool() | int() as value):
            return (value,)
        case Call(function="case", arguments=arguments):
            pairs = len(arguments) // 2 * 2
            return _union(arguments[1:pairs:2] + arguments[pairs:], keys_of, listing)
        case Call(function="coalesce", arguments=arguments):
            return _union(arguments, keys_of, listing)
    return (False, True) if expression.type is ValueType.BOOLEAN else None


def _union(choices: tuple[Expression, ...], keys_of: KeysOf, listing: Listing) -> tuple[KeyValue, ...] | None:
    found: dict[KeyValue, None] = {}
    for choice in choices:
        values = possible_values(choice, keys_of, listing)
        if values is None:
            return None
        listing.take(1 + len(values) // _LISTED_IN_A_STEP)
        found.update(dict.fromkeys(values))
    return tuple(found)


def _stepped(expression: Expression, limit: int, listing: Listing) -> list[int] | None:
    match expression:
        case Call(function="*" | "+" as function, arguments=(Literal(value=int() as constant), other)):
            pass
        case Call(function="*" | "+" | "-" as function, arguments=(other, Literal(value=int() as constant))):
            pass
        case _:
            return None
    values = integer_values(other, limit, listing)
    if values is None:
        return None
    listing.take(1 + len(values) // _LISTED_IN_A_STEP)
    step = {"*": constant.__mul__, "+": constant.__add__, "-": lambda value: value - constant}[function]
    return sorted({new for new in map(step, values) if SMALLEST_INTEGER <= new <= LARGEST_INTEGER})
