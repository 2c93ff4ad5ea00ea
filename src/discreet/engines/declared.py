"""What a column may be read as, on every engine: its own type, or one that the owner declared."""

from collections.abc import Mapping

from discreet.errors import PolicyError
from discreet.model.policy import ValueType

_FITS = {
    (ValueType.INTEGER, ValueType.NUMBER),
    (ValueType.NUMBER, ValueType.INTEGER),
    (ValueType.INTEGER, ValueType.TEXT),
    (ValueType.DATE, ValueType.TIMESTAMP),
    (ValueType.TIMESTAMP, ValueType.DATE),
}


def fits(source: ValueType, declared: ValueType) -> bool:
    """Whether a column can be read as the declared type without losing what it means."""
    return source is declared or (source, declared) in _FITS


def declared_type(table: str, column: str, found: ValueType, declared: Mapping[str, ValueType]) -> ValueType:
    """The type that a column of a typed source is read as: the declared one, if it fits."""
    kind = declared.get(column, found)
    if not fits(found, kind):
        raise PolicyError(
            f"Column “{column}” of table “{table}” is {found.value} in its source, not {kind.value}.",
            remedy=f"Declare [tables.{table}.columns.{column}] as the source has it.",
        )
    return kind
