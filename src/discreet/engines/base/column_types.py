"""Which declared types a column of a source can be read as, the same on every engine."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

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


def fitting_type(
    table: str,
    column: str,
    found: ValueType,
    declared: Mapping[str, ValueType],
    formats: Mapping[str, str] = MappingProxyType({}),
) -> ValueType:
    """The type to read a column as: the declared one, or else the one that its source has."""
    kind = declared.get(column, found)
    if column in formats:
        check_format(table, column, found)
        return kind
    if not fits(found, kind):
        raise misfit(table, column, found, kind)
    return kind


def misfit(table: str, column: str, found: ValueType, declared: ValueType) -> PolicyError:
    return PolicyError(
        f"Column “{column}” of table “{table}” is {found.value} in its source, not {declared.value}.",
        remedy=f"Declare [tables.{table}.columns.{column}] as the source has it.",
    )


def check_format(table: str, column: str, found: ValueType) -> None:
    """Only texts are read by a format."""
    if found is not ValueType.TEXT:
        raise PolicyError(
            f"Column “{column}” of table “{table}” is {found.value} in its source: a format is for texts.",
            remedy=f"Drop the format of [tables.{table}.columns.{column}].",
        )


def no_format(table: str, column: str) -> PolicyError:
    """Where casts of a text can fail, as in PostgreSQL."""
    return PolicyError(
        f"Column “{column}” of table “{table}” has a format, which PostgreSQL cannot read: one text that"
        " does not fit would make every question about it fail.",
        remedy=f"Add a column of the type date to the table, filled by to_date({column}, 'DD.MM.YYYY'), and"
        " use that.",
    )


def may_fail(table: str, column: str) -> PolicyError:
    """For a column that is declared, and that a reader of Parquet may fail on."""
    return PolicyError(
        f"Column “{column}” of table “{table}” has moments in milliseconds: one that is out of range would"
        " make every question about it fail.",
        remedy="Write the file with moments in microseconds. If a program wrote it that checks them,"
        f" declare well_formed = true in [tables.{table}].",
    )


def left_out(columns: Iterable[str], used: Collection[str], unsafe: Collection[str]) -> tuple[str, ...]:
    """The columns of a source that cannot be used, for the owner: `unsafe` ones with the reason."""
    return tuple(
        f"{column} (milliseconds, see well_formed)" if column in unsafe else column
        for column in columns
        if column not in used
    )
