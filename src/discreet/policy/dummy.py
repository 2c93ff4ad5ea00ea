"""Made-up rows from the policy alone, to write and try questions without the data. They tell nothing of it.

Every value is drawn evenly from what the policy allows: keys, bounds, types. Ids of people are the same
numbers in all tables, so that joins on the person find something.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import duckdb

from discreet.errors import InvalidInput
from discreet.model.policy import (
    Column,
    Dataset,
    KeyValue,
    PersonColumn,
    PrivateTable,
    PublicTable,
    Table,
    Through,
    ValueType,
)
from discreet.policy.draft_columns import toml_key, toml_text

MadeUpValue: TypeAlias = KeyValue | float
PEOPLE = 1_000
MOST_PEOPLE = 1_000_000
_ROWS_OF_PUBLIC_TABLES = 20
_DAYS = 730
_FIRST_DAY = datetime(2024, 1, 1)
_SQL_TYPES = {
    ValueType.INTEGER: "BIGINT",
    ValueType.NUMBER: "DOUBLE",
    ValueType.TEXT: "VARCHAR",
    ValueType.BOOLEAN: "BOOLEAN",
    ValueType.DATE: "DATE",
    ValueType.TIMESTAMP: "TIMESTAMP",
}


def dummy_rows(table: Table, people: int, *, seed: int = 0) -> list[dict[str, MadeUpValue]]:
    """Rows of one table. The same seed gives the same rows."""
    chance = random.Random(f"{seed} {table.name}")  # noqa: S311  nothing rests on it
    draws = {name: _draw(column, chance) for name, column in _own_columns(table).items()}
    if not isinstance(table, PrivateTable):
        return [{name: draw() for name, draw in draws.items()} for _ in range(_ROWS_OF_PUBLIC_TABLES)]
    most = 1 if table.one_row_a_person else table.max_rows
    rows = []
    for person in range(1, people + 1):
        for _ in range(chance.randint(1, min(most, 20))):
            row = {name: draw() for name, draw in draws.items()}
            if isinstance(table.person, PersonColumn) and table.through is None:
                row[table.person.name] = _id(person, table.columns.get(table.person.name))
            rows.append(row)
    return rows


def write_dummy(dataset: Dataset, folder: Path, *, people: int = PEOPLE, seed: int = 0) -> Path:
    """A folder with made-up tables, and a policy for them with a budget of its own. Returns the policy."""
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidInput(f"1 to {MOST_PEOPLE:,} people can be made up.", remedy="Give another number.")
    if folder.exists():
        raise InvalidInput(f"“{folder}” exists already.", remedy="Name a folder that does not.")
    folder.mkdir(parents=True)
    for table in dataset.tables.values():
        _write_table(table, dummy_rows(table, people, seed=seed), folder / f"{_file(table)}.parquet")
    policy = folder / "discreet.toml"
    policy.write_text(_policy_text(dataset), encoding="utf-8")
    return policy


def _draw(column: Column, chance: random.Random) -> Callable[[], MadeUpValue]:
    keys = column.keys
    if keys is not None:
        return lambda: chance.choice(keys)
    low, high = (
        (0.0, 100.0) if column.bounds is None else (float(column.bounds.low), float(column.bounds.high))
    )
    first, days = _FIRST_DAY, _DAYS
    if column.days is not None:
        first = datetime.combine(column.days.low, time.min)
        days = (column.days.high - column.days.low).days + 1
    match column.type:
        case ValueType.INTEGER:
            return lambda: chance.randint(int(low), int(high))
        case ValueType.NUMBER:
            return lambda: round(chance.uniform(low, high), 2)
        case ValueType.BOOLEAN:
            return lambda: chance.random() < 0.5
        case ValueType.DATE:
            return lambda: (first + timedelta(days=chance.randrange(days))).date()
        case ValueType.TIMESTAMP:
            return lambda: first + timedelta(minutes=chance.randrange(days * 24 * 60))
        case ValueType.TEXT:
            return lambda: f"{column.name} {chance.randint(1, 9)}"


def _own_columns(table: Table) -> dict[str, Column]:
    """Without the person whom another table knows. A key has values that its column there may have."""
    through = table.through if isinstance(table, PrivateTable) else None
    if through is None:
        return dict(table.columns)
    columns = {name: column for name, column in table.columns.items() if name != through.person}
    return columns | {through.key: replace(columns[through.key], name=through.other)}


def _id(person: int, column: Column | None) -> MadeUpValue:
    if column is not None and column.type is ValueType.TEXT:
        return f"p{person}"
    return person


def _write_table(table: Table, rows: Sequence[Mapping[str, MadeUpValue]], path: Path) -> None:
    """As Parquet, with the types of the policy."""
    types = {name: _SQL_TYPES[column.type] for name, column in _own_columns(table).items()}
    if isinstance(table, PrivateTable) and isinstance(table.person, PersonColumn) and table.through is None:
        types.setdefault(table.person.name, "BIGINT")
    names = {name: '"' + name.replace('"', '""') + '"' for name in types}
    with duckdb.connect() as connection:
        columns = ", ".join(f"{names[name]} {kind}" for name, kind in types.items())
        connection.execute(f"CREATE TABLE made_up ({columns})")
        text = "\n".join(json.dumps({n: _plain(v) for n, v in row.items()}) for row in rows)
        spool = path.with_suffix(".jsonl")
        spool.write_text(text, encoding="utf-8")
        kinds = "{" + ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in types.items()) + "}"
        connection.execute(
            f"INSERT INTO made_up SELECT {', '.join(names.values())} FROM read_json({_quoted(str(spool))},"  # noqa: S608
            f" format = 'newline_delimited', columns = {kinds})"
        )
        connection.execute(f"COPY made_up TO {_quoted(str(path))} (FORMAT parquet)")
        spool.unlink()


def _plain(value: MadeUpValue) -> str | int | float | bool:
    return value.isoformat() if isinstance(value, date) else value


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _file(table: Table) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in table.name)


def _policy_text(dataset: Dataset) -> str:
    lines = [
        "# Made-up rows, to try questions on. Nothing in this folder is about anybody.",
        "",
        "[dataset]",
        f"name = {toml_text(f'{dataset.name} (made up)')}",
        f'neighbours = "{dataset.neighbours.value}"',
        f"budget = {{ epsilon = 900, delta = {float(dataset.delta) if dataset.delta else 0} }}",
        "least_price = 1e-9",
    ]
    for table in dataset.tables.values():
        lines += [
            "",
            f"[tables.{toml_key(table.name)}]",
            f'source = "{_file(table)}.parquet"',
            *_limits(table),
        ]
        for name in _own_columns(table):
            lines += _column_lines(table, table.columns[name])
    return "\n".join(lines) + "\n"


def _limits(table: Table) -> list[str]:
    if isinstance(table, PublicTable):
        return ["public = true"]
    person = table.person.name if isinstance(table.person, PersonColumn) else "row"
    lines = [f"person = {toml_text(person)}" if table.through is None else _through_text(table.through)]
    if table.unique:
        return [*lines, "unique = true"]
    if table.one_row_a_person:
        return lines
    facts = ['limits = "facts"'] if table.limits_are_facts else []
    return [*lines, f"max_rows = {table.max_rows}", f"max_groups = {table.max_groups}", *facts]


def _through_text(through: Through) -> str:
    on = f"{{ {toml_key(through.key)} = {toml_text(through.other)} }}"
    return f"person = {{ through = {toml_text(through.table)}, on = {on} }}"


def _column_lines(table: Table, column: Column) -> list[str]:
    facts = [f'type = "{column.type.value}"']
    if column.bounds is not None:
        facts.append(f"bounds = [{_number(column.bounds.low)}, {_number(column.bounds.high)}]")
    if column.days is not None:
        facts.append(f"bounds = [{column.days.low}, {column.days.high}]")
    if column.keys is not None:
        facts.append(f"keys = [{', '.join(_toml_value(key) for key in column.keys)}]")
    if column.unit is not None:
        facts.append(f"unit = {_number(column.unit)}")
    return ["", f"[tables.{toml_key(table.name)}.columns.{toml_key(column.name)}]", *facts]


def _number(value: Fraction) -> str:
    exact = float(value)
    return str(int(exact)) if exact.is_integer() else repr(exact)


def _toml_value(key: KeyValue) -> str:
    match key:
        case bool():
            return "true" if key else "false"
        case str():
            return toml_text(key)
        case date():
            return key.isoformat()
    return str(key)
