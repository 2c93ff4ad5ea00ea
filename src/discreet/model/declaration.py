"""What the owner wrote down, before the sources were looked at: column types may still be open.

The reader of the policy makes a `Policy`, an engine opens its `sources` and knows their schemas, and
`complete_with_schema` joins the two into the `Dataset` that questions are asked of. None of it reads a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import InvalidInput, PolicyError
from discreet.model.date_format import read_format
from discreet.model.policy import (
    Bounds,
    Column,
    Dataset,
    DateBounds,
    KeyValue,
    PersonColumn,
    PrivateTable,
    PublicTable,
    Table,
    Through,
    ValueType,
    type_of_key,
)

Schema: TypeAlias = Mapping[str, ValueType]

_IDS = (ValueType.INTEGER, ValueType.TEXT)
USUAL_TIME_LIMIT = 600
"""In seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDeclaration:
    """What the owner says of a column; its source says the rest."""

    name: str
    place: str
    """Where it is declared, in the owner's words, for errors."""
    type: ValueType | None
    bounds: Bounds | None
    keys: tuple[KeyValue, ...] | None
    unit: Fraction | None
    format: str | None = None
    per_person: bool = False
    days: DateBounds | None = None
    complete: bool = False

    @property
    def implied_type(self) -> ValueType | None:
        """What the declaration says about the type, without looking at any data."""
        if self.type is None and self.format is not None:
            return ValueType.TIMESTAMP if read_format(self.format).has_time else ValueType.DATE
        if self.type is None and self.days is not None:
            return ValueType.DATE
        if self.type is None and self.keys:
            return type_of_key(self.keys[0])
        if self.type is None and self.bounds is not None:
            return ValueType.NUMBER
        return self.type

    def over(self, type_in_source: ValueType) -> Column:
        try:
            return Column(
                name=self.name,
                type=type_in_source,
                bounds=self.bounds,
                keys=self.keys,
                unit=self.unit,
                format=self.format,
                per_person=self.per_person,
                days=self.days,
                complete=self.complete,
            )
        except InvalidInput as error:
            raise PolicyError(f"{self.place}: {error.problem}", remedy=error.remedy) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """Where a table is, and how its columns are to be read."""

    location: str
    """A file, a pattern of files, FILE.duckdb#TABLE, or an address in PostgreSQL or Spark."""
    public: bool
    person: str | None
    """The column that identifies a person, if one does."""
    types: Schema
    """Declared types; other columns keep the type that the source has."""
    implied_types: Schema
    """Declared types, and those that bounds and keys imply: for CSV files, which have no types."""
    well_formed: bool = False
    """Whether the owner vouches for every cell of the file."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """How columns of texts write dates, where not as ISO does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A dataset whose tables have no columns yet, and what was declared of the columns."""

    dataset: Dataset
    columns: Mapping[str, Mapping[str, ColumnDeclaration]]
    """By table, then by column."""
    places: Mapping[str, str]
    """Where each table is declared, in the owner's words, for errors."""
    ledger: str | None = None
    """Where the ledger is, if not beside the policy: a file, or an address in PostgreSQL."""
    time_limit: int = USUAL_TIME_LIMIT
    """A question is stopped after so many seconds."""
    answer_times: tuple[float, ...] | None = None
    """The seconds after a charge at which answers leave; at once, if there are none. None if the policy
    does not say."""

    @property
    def sources(self) -> dict[str, TableSource]:
        return {name: self._source(name) for name in self.dataset.tables}

    def _source(self, name: str) -> TableSource:
        table, declared = self.dataset.tables[name], self.columns[name].values()
        return TableSource(
            location=table.source,
            public=isinstance(table, PublicTable),
            person=_person_column(table),
            types={
                column.name: kind
                for column in declared
                if (kind := column.implied_type if column.format else column.type)
            },
            implied_types={column.name: column.implied_type for column in declared if column.implied_type},
            well_formed=isinstance(table, PrivateTable) and table.well_formed,
            formats={column.name: column.format for column in declared if column.format},
        )


def complete_with_schema(policy: Policy, schemas: Mapping[str, Schema]) -> Dataset:
    """The dataset, with every column that a source has: declared or not, undeclared ones without bounds."""
    tables = {
        name: replace(table, columns=_columns(policy, name, schemas[name]))
        for name, table in policy.dataset.tables.items()
    }
    tables = {name: _with_person(table, tables, policy.places[name]) for name, table in tables.items()}
    for name, table in tables.items():
        if isinstance(table, PrivateTable):
            _check_person(table, policy.places[name])
            _check_cached(table, policy.places[name])
    _check_one_kind_of_id([table for table in tables.values() if isinstance(table, PrivateTable)])
    return replace(policy.dataset, tables=tables)


def nearest(name: str, known: Mapping[str, object] | list[str]) -> str:
    """A remedy for a name that does not exist: the one that was probably meant, or all."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    if close:
        return f"Did you mean “{close[0]}”?"
    return f"There are: {', '.join(known)}." if known else "There are none."


def _person_column(table: Table) -> str | None:
    """The column of the source that tells people apart, if there is one."""
    if isinstance(table, PrivateTable) and isinstance(table.person, PersonColumn) and table.through is None:
        return table.person.name
    return None


def _columns(policy: Policy, table: str, schema: Schema) -> dict[str, Column]:
    declared = policy.columns[table]
    for name, declaration in declared.items():
        if name not in schema:
            raise PolicyError(
                f"{declaration.place}: the source of table “{table}” has no usable column “{name}”.",
                remedy=nearest(name, schema),
            )
    return {
        name: declared[name].over(kind) if name in declared else Column(name=name, type=kind)
        for name, kind in schema.items()
    }


def _with_person(table: Table, tables: Mapping[str, Table], place: str) -> Table:
    """A table whose people another one knows, with their column."""
    if not isinstance(table, PrivateTable) or table.through is None:
        return table
    step, through = table.through, _as_read(table.through, table, tables)
    owner = tables[step.table]
    _check_keys(table.columns.get(step.key), owner.columns.get(step.other), step, place)
    while step.further is not None:  # whose keys are checked where that table is
        step = step.further
    column = tables[step.table].columns.get(step.person)
    if column is None:  # its own table is refused for it
        return table
    if column.name.casefold() in {name.casefold() for name in table.columns}:
        raise PolicyError(
            f"{place} person: the table has a column “{column.name}” of its own.",
            remedy=f'Write person = "{column.name}" if it is the person, and rename it otherwise.',
        )
    columns = {**table.columns, column.name: Column(name=column.name, type=column.type)}
    return replace(table, columns=columns, through=through)


def _as_read(through: Through, table: Table, tables: Mapping[str, Table]) -> Through:
    """The way to the people, with how its keys and files are read: that decides who they are."""
    owner, key = tables[through.table], table.columns.get(through.key)
    return replace(
        through,
        type=None if key is None else key.type,
        well_formed=isinstance(owner, PrivateTable) and owner.well_formed,
        further=None if through.further is None else _as_read(through.further, owner, tables),
    )


def _check_keys(key: Column | None, other: Column | None, step: Through, place: str) -> None:
    """Refuse keys that are not there, or that can match nothing."""
    for column, name, where in ((key, step.key, "the source"), (other, step.other, f"“{step.table}”")):
        if column is None:
            raise PolicyError(
                f"{place} person: {where} has no usable column “{name}”.",
                remedy='Write on = "KEY", or on = { KEY_HERE = "KEY_THERE" }.',
            )
    if key is None or other is None or key.type is not other.type or key.type not in _IDS:
        raise PolicyError(
            f"{place} person: “{step.key}” and “{step.other}” are not both integers, or both text.",
            remedy="Declare the same type for both columns, integer or text.",
        )


def _check_person(table: PrivateTable, place: str) -> None:
    if not isinstance(table.person, PersonColumn):
        return
    column = table.columns.get(table.person.name)
    if column is None:
        raise PolicyError(
            f"{place} person: the source has no usable column “{table.person.name}”.",
            remedy=nearest(table.person.name, table.columns),
        )
    if column.type not in _IDS:
        raise PolicyError(
            f"{place} person: “{column.name}” is {column.type.value}, which does not identify a person.",
            remedy="Name a column of integers or text, or declare the column's type as integer.",
        )


def _check_cached(table: PrivateTable, place: str) -> None:
    """The values of cached columns must be known one by one, before any data is read."""
    for name in table.cached:
        column = table.columns.get(name)
        if column is None:
            raise PolicyError(
                f"{place} cached_columns: there is no usable column “{name}”.",
                remedy=nearest(name, table.columns),
            )
        whole = column.type is ValueType.INTEGER and column.bounds is not None
        if column.keys is None and column.type is not ValueType.BOOLEAN and not whole:
            raise PolicyError(
                f"{place} cached_columns: nobody knows which values “{name}” has.",
                remedy=f"Declare keys = […] for it, bounds for whole numbers, or leave “{name}” out.",
            )


def _check_one_kind_of_id(tables: list[PrivateTable]) -> None:
    """The number 1 and the text "1" do not match, so that one person would be counted as two."""
    kinds = {
        table.name: table.columns[table.person.name].type
        for table in tables
        if isinstance(table.person, PersonColumn)
    }
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{kind.value} in “{name}”" for name, kind in kinds.items())
        raise PolicyError(
            f"The column that identifies a person has different types: {told}.",
            remedy='Declare the same type for all, such as type = "text".',
        )
