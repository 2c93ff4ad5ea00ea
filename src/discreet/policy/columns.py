"""The columns of a policy: type, bounds, keys, unit, format, and what a person has one of."""

from datetime import date, datetime
from fractions import Fraction

from discreet.model.date_format import read_format
from discreet.model.declaration import ColumnDeclaration, nearest
from discreet.model.exact import exact_fraction
from discreet.model.policy import (
    Bounds,
    DateBounds,
    KeyValue,
    PersonColumn,
    PublicTable,
    Table,
    ValueType,
    type_of_key,
)
from discreet.policy.toml_file import LONGEST_NAME, Section

COLUMN_SETTINGS = ("type", "bounds", "keys", "unit", "format", "per_person", "complete")


def read_columns(section: Section, table: Table) -> dict[str, ColumnDeclaration]:
    """All that are declared in the section of a table."""
    if "columns" not in section.values:
        return {}
    columns = section.section("columns")
    check_names(columns)
    return {name: _column(name, columns.section(name), table) for name in columns.values}


def _column(name: str, section: Section, table: Table) -> ColumnDeclaration:
    section.allow_only(COLUMN_SETTINGS)
    declaration = ColumnDeclaration(
        name=name,
        place=section.place(),
        type=_type(section),
        bounds=_bounds(section),
        days=_days(section),
        keys=_keys(section),
        unit=_unit(section),
        format=_format(section),
        per_person=_per_person(name, section, table),
        complete=_complete(section, table),
    )
    kind = declaration.implied_type
    if kind is not None:
        declaration.over(kind)
    return declaration


def _type(section: Section) -> ValueType | None:
    if "type" not in section.values:
        return None
    known = [kind.value for kind in ValueType]
    value = section.text("type", 'type = "number"')
    if value not in known:
        section.refuse("type", f"“{value}” is not a type.", nearest(value, known))
    return ValueType(value)


def _bounds(section: Section) -> Bounds | None:
    if "bounds" not in section.values:
        return None
    value = section.values["bounds"]
    if not isinstance(value, list) or len(value) != 2:
        section.refuse("bounds", "this must be two numbers, or two dates.", "Write bounds = [low, high].")
    if any(isinstance(each, str | date) for each in value):
        return None  # two dates
    return section.checked("bounds", lambda: Bounds(low=value[0], high=value[1]))


def _days(section: Section) -> DateBounds | None:
    """Bounds of a date or timestamp: dates of TOML, or texts as ISO has them."""
    value = section.values.get("bounds")
    if not isinstance(value, list) or not any(isinstance(each, str | date) for each in value):
        return None
    days = [_day(each) for each in value]
    low, high = days
    if low is None or high is None:
        section.refuse("bounds", "these are not two dates.", "Write bounds = [2024-01-01, 2025-12-31].")
    return section.checked("bounds", lambda: DateBounds(low=low, high=high))


def _day(value: object) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value) if len(value) == len("2024-01-31") else None
        except ValueError:
            return None
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _keys(section: Section) -> tuple[KeyValue, ...] | None:
    if "keys" not in section.values:
        return None
    value = section.values["keys"]
    if not isinstance(value, list) or not value:
        section.refuse("keys", "this must be a list of values.", 'Write keys = ["north", "south"].')
    keys: list[KeyValue] = []
    for key in value:
        if not isinstance(key, str | int | bool | date) or type_of_key(key) is not type_of_key(value[0]):
            section.refuse(
                "keys",
                "keys must be all text, all whole numbers, all dates, or all true or false.",
                'Write keys = ["north", "south"].',
            )
        keys.append(key)
    if type_of_key(keys[0]) is None:
        section.refuse(
            "keys", "a key is out of range, or has a time zone.", "Write keys as the column holds them."
        )
    return tuple(keys)


def _unit(section: Section) -> Fraction | None:
    if "unit" not in section.values:
        return None
    return section.checked("unit", lambda: exact_fraction(section.values["unit"], "the unit"))


def _format(section: Section) -> str | None:
    if "format" not in section.values:
        return None
    text = section.text("format", 'format = "%d.%m.%Y"')
    section.checked("format", lambda: read_format(text))
    return text


def _per_person(name: str, section: Section, table: Table) -> bool:
    """Whether a person has one value of the column."""
    if not section.flag("per_person"):
        return False
    drop = "Drop per_person here."
    if isinstance(table, PublicTable):
        section.refuse("per_person", "a public table has no people in it.", drop)
    if table.one_row_a_person:
        section.refuse("per_person", "here every person has one row, so one value of every column.", drop)
    if table.person == PersonColumn(name=name):
        section.refuse("per_person", "this column says who the person is, so it holds anyway.", drop)
    return True


def _complete(section: Section, table: Table) -> bool:
    """Whether every row has a value of the column."""
    if not section.flag("complete"):
        return False
    if isinstance(table, PublicTable):
        section.refuse("complete", "a public table is read as it is.", "Drop complete here.")
    return True


def check_names(section: Section) -> None:
    """Refuse names that differ only in case: to a database they are one."""
    seen: dict[str, str] = {}
    for name in section.values:
        if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            section.refuse("", "a name is empty, too long, or holds signs that cannot be seen.", "Rename it.")
        if name.casefold() in seen:
            section.refuse(
                name,
                f"“{name}” and “{seen[name.casefold()]}” differ in upper and lower case only.",
                "Rename one.",
            )
        seen[name.casefold()] = name
