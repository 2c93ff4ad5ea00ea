"""The one reader of policies. Every mistake is a PolicyError: where it is, and what to write instead."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

from discreet.errors import InvalidInput, PolicyError
from discreet.ledger.postgres_address import is_postgres, read_address
from discreet.model.declaration import ColumnDeclaration, Policy, nearest
from discreet.model.exact import exact_fraction, positive_count, positive_epsilon
from discreet.model.neighbours import Neighbours
from discreet.model.policy import (
    Bounds,
    Dataset,
    EachRow,
    KeyValue,
    Person,
    PersonColumn,
    PrivateTable,
    PublicTable,
    Table,
    ValueType,
    budget_delta,
    type_of_key,
)

T = TypeVar("T")

SETTINGS = {
    "": ("dataset", "tables"),
    "dataset": ("name", "neighbours", "budget", "per_analyst", "per_question", "ledger"),
    "budget": ("epsilon", "delta"),
    "per_analyst": ("epsilon",),
    "per_question": ("epsilon",),
    "table": ("source", "person", "unique", "max_rows", "max_groups", "public", "columns"),
    "column": ("type", "bounds", "keys", "unit"),
}
"""Every setting there is, by kind of section."""

_PRIVATE_ONLY = ("person", "unique", "max_rows", "max_groups")
_LONGEST_NAME = 200
_LARGEST_FILE = 4 * 2**20


def read_policy(path: str | Path) -> Policy:
    """Read a policy. The sources that it names are not opened."""
    file = Path(path)
    text = _text_of(file)
    root = _Section(file=file.name, lines=_lines(text), path=(), values=_parse(file.name, text))
    root.allow_only(SETTINGS[""])
    sections = {name: root.section("tables").section(name) for name in root.section("tables").values}
    _check_names(root.section("tables"))
    tables = {name: _table(name, section) for name, section in sections.items()}
    return Policy(
        dataset=_dataset(root.section("dataset"), tables),
        columns={name: _columns(section) for name, section in sections.items()},
        places={name: section.place() for name, section in sections.items()},
        ledger=_ledger(root.section("dataset")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """A table of TOML that knows where it stands, so that every error can say so."""

    file: str
    lines: Mapping[tuple[str, ...], int]
    path: tuple[str, ...]
    values: Mapping[str, object]

    def place(self, setting: str = "") -> str:
        full = (*self.path, setting) if setting else self.path
        known = (full[:length] for length in range(len(full), 0, -1))
        line = next((f", line {self.lines[place]}" for place in known if place in self.lines), "")
        heading = f": [{'.'.join(self.path)}]" if self.path else ":"
        return f"{self.file}{line}{heading}" + (f" {setting}" if setting else "")

    def refuse(self, setting: str, problem: str, remedy: str) -> NoReturn:
        raise PolicyError(f"{self.place(setting)}: {problem}", remedy=remedy) from None

    def checked(self, setting: str, read: Callable[[], T]) -> T:
        """What `read` finds wrong with a value is wrong at this setting."""
        try:
            return read()
        except InvalidInput as error:
            self.refuse(setting, error.problem, error.remedy)

    def allow_only(self, known: tuple[str, ...]) -> None:
        for setting in self.values:
            if setting not in known:
                self.refuse(setting, f"there is no setting “{setting}” here.", nearest(setting, list(known)))

    def required(self, setting: str, example: str) -> object:
        if setting not in self.values:
            self.refuse("", f"“{setting}” is missing.", f"Write {example}.")
        return self.values[setting]

    def section(self, name: str) -> "_Section":
        example = f"a section [{'.'.join((*self.path, name))}]"
        values = self.required(name, example)
        if not isinstance(values, dict):
            self.refuse(name, "this must be a section.", f"Write {example}.")
        return _Section(file=self.file, lines=self.lines, path=(*self.path, name), values=values)

    def text(self, setting: str, example: str) -> str:
        value = self.required(setting, example)
        if not isinstance(value, str):
            self.refuse(setting, "this must be text in quotes.", f"Write {example}.")
        if not value.strip() or not value.isprintable() or len(value) > _LONGEST_NAME * 10:
            self.refuse(
                setting, "this is empty, too long, or holds signs that cannot be seen.", f"Write {example}."
            )
        return value

    def flag(self, setting: str) -> bool:
        value = self.values.get(setting, False)
        if not isinstance(value, bool):
            self.refuse(setting, "this must be true or false, without quotes.", f"Write {setting} = true.")
        return value

    def count(self, setting: str) -> int:
        value = self.required(setting, f"{setting} = 5")
        return self.checked(setting, lambda: positive_count(value, setting))

    def epsilon(self) -> Fraction:
        value = self.required("epsilon", "epsilon = 0.5")
        return self.checked("epsilon", lambda: positive_epsilon(value))


def _dataset(section: _Section, tables: Mapping[str, Table]) -> Dataset:
    section.allow_only(SETTINGS["dataset"])
    budget = section.section("budget")
    budget.allow_only(SETTINGS["budget"])
    epsilon = budget.epsilon()
    delta = budget.required("delta", "delta = 1e-6, or delta = 0 to spend pure ε only")
    exact_delta = budget.checked("delta", lambda: budget_delta(delta))
    return section.checked(
        "",
        lambda: Dataset(
            name=section.text("name", 'name = "clinic"'),
            neighbours=_neighbours(section),
            epsilon=epsilon,
            delta=exact_delta,
            analyst_epsilon=_cap(section, "per_analyst", epsilon),
            question_epsilon=_cap(section, "per_question", epsilon),
            tables=tables,
        ),
    )


def _neighbours(section: _Section) -> Neighbours:
    known = [relation.value for relation in Neighbours]
    value = section.text("neighbours", 'neighbours = "add_remove" or "replace_one"')
    if value not in known:
        section.refuse("neighbours", f"“{value}” is not a relation of neighbours.", nearest(value, known))
    return Neighbours(value)


def _ledger(section: _Section) -> str | None:
    """Where the ledger is, if the policy says so. Analysts may read it, so that no password is in it."""
    if "ledger" not in section.values:
        return None
    example = 'ledger = "postgresql://HOST/DATABASE#SCHEMA", or the path of a file'
    location = section.text("ledger", example)
    if not is_postgres(location):
        if "://" in location:
            section.refuse("ledger", "no ledger can be kept there.", f"Write {example}.")
        return location
    if section.checked("ledger", lambda: read_address(location)).has_password:
        section.refuse(
            "ledger",
            "everybody who reads the policy would read the password in it.",
            "Keep it in the file that PGPASSFILE names, in the one of PGSERVICEFILE, or as PGPASSWORD.",
        )
    return location


def _cap(section: _Section, name: str, budget: Fraction) -> Fraction:
    if name not in section.values:
        return budget
    cap = section.section(name)
    cap.allow_only(SETTINGS[name])
    epsilon = cap.epsilon()
    if epsilon > budget:
        cap.refuse("epsilon", "this is more than the whole budget.", "Lower it, or leave the cap out.")
    return epsilon


def _table(name: str, section: _Section) -> Table:
    section.allow_only(SETTINGS["table"])
    source = section.text("source", 'source = "visits.parquet"')
    if section.flag("public"):
        for setting in _PRIVATE_ONLY:
            if setting in section.values:
                section.refuse(
                    setting, "a public table has no people in it.", f"Drop {setting}, or drop public = true."
                )
        return PublicTable(name=name, source=source, columns={})
    person = _person(section)
    unique = section.flag("unique")
    if unique or isinstance(person, EachRow):
        for setting in ("max_rows", "max_groups"):
            if setting in section.values:
                section.refuse(setting, "here every person has one row.", f"Drop {setting}, it is 1.")
        max_rows = max_groups = 1
    else:
        max_rows = section.count("max_rows")
        max_groups = section.count("max_groups") if "max_groups" in section.values else max_rows
    return PrivateTable(
        name=name,
        source=source,
        person=person,
        unique=unique,
        max_rows=max_rows,
        max_groups=max_groups,
        columns={},
    )


def _person(section: _Section) -> Person:
    example = 'person = "COLUMN", person = "row" if every row is another person, or public = true'
    value = section.text("person", example)
    return EachRow() if value == "row" else PersonColumn(name=value)


def _columns(section: _Section) -> dict[str, ColumnDeclaration]:
    if "columns" not in section.values:
        return {}
    columns = section.section("columns")
    _check_names(columns)
    return {name: _column(name, columns.section(name)) for name in columns.values}


def _column(name: str, section: _Section) -> ColumnDeclaration:
    section.allow_only(SETTINGS["column"])
    declaration = ColumnDeclaration(
        name=name,
        place=section.place(),
        type=_type(section),
        bounds=_bounds(section),
        keys=_keys(section),
        unit=_unit(section),
    )
    kind = declaration.implied_type
    if kind is not None:
        declaration.over(kind)
    return declaration


def _type(section: _Section) -> ValueType | None:
    if "type" not in section.values:
        return None
    known = [kind.value for kind in ValueType]
    value = section.text("type", 'type = "number"')
    if value not in known:
        section.refuse("type", f"“{value}” is not a type.", nearest(value, known))
    return ValueType(value)


def _bounds(section: _Section) -> Bounds | None:
    if "bounds" not in section.values:
        return None
    value = section.values["bounds"]
    if not isinstance(value, list) or len(value) != 2:
        section.refuse("bounds", "this must be two numbers.", "Write bounds = [low, high].")
    return section.checked("bounds", lambda: Bounds(low=value[0], high=value[1]))


def _keys(section: _Section) -> tuple[KeyValue, ...] | None:
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


def _unit(section: _Section) -> Fraction | None:
    if "unit" not in section.values:
        return None
    return section.checked("unit", lambda: exact_fraction(section.values["unit"], "the unit"))


def _check_names(section: _Section) -> None:
    """Names that differ in case only are one name to a database."""
    seen: dict[str, str] = {}
    for name in section.values:
        if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
            section.refuse("", "a name is empty, too long, or holds signs that cannot be seen.", "Rename it.")
        if name.casefold() in seen:
            section.refuse(
                name,
                f"“{name}” and “{seen[name.casefold()]}” differ in upper and lower case only.",
                "Rename one.",
            )
        seen[name.casefold()] = name


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            raw = stream.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise PolicyError(
            f"There is no policy “{file}”.",
            remedy="Write one with “discreet init”, or point to it with --policy.",
        ) from None
    except (OSError, ValueError):
        raise PolicyError(
            f"The policy “{file}” cannot be opened.", remedy="Check that it is a file that you may read."
        ) from None
    if len(raw) > _LARGEST_FILE:
        raise PolicyError(
            f"The policy “{file}” is too large.", remedy="Put long key lists into a public table."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise PolicyError(
            f"{file.name}, line {line}: this is not UTF-8.", remedy="Save it as UTF-8."
        ) from None


def _parse(file: str, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text, parse_float=_number)
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except (ValueError, RecursionError):
        problem = "a number is too long, or brackets are nested too deeply"
    raise PolicyError(
        f"{file} is not TOML: {problem}.",
        remedy='Settings are NAME = VALUE, text is in "quotes", sections are [in.brackets].',
    )


def _number(text: str) -> Decimal:
    """Every digit as it is written; what not even a Decimal can hold is refused later, as infinite."""
    try:
        return Decimal(text.replace("_", ""))
    except InvalidOperation:
        return Decimal("Infinity")


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each section and setting: TOML itself reads each heading and each name."""
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        start = line.strip()
        if start.startswith("["):
            section = _names_in(start) or section
            for depth in range(1, len(section) + 1):
                lines.setdefault(section[:depth], number)
        elif "=" in start and not start.startswith("#"):
            names = _names_in(start.partition("=")[0] + " = 0")
            if names:
                lines.setdefault((*section, *names), number)
    return lines


def _names_in(statement: str) -> tuple[str, ...]:
    try:
        value: object = tomllib.loads(statement)
    except (ValueError, RecursionError):
        return ()
    names = []
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        names.append(name)
    return tuple(names)
