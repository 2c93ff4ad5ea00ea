"""What everybody may know of the tables of a dataset, from its policy."""

from discreet.answers.table_facts import ColumnFacts, TableFacts, TableList
from discreet.model.policy import Column, Dataset, PersonColumn, PrivateTable, Table


def tables_of(dataset: Dataset) -> TableList:
    return TableList(map(_table, dataset.tables.values()))


def _table(table: Table) -> TableFacts:
    columns = tuple(map(_column, table.columns.values()))
    if not isinstance(table, PrivateTable):
        return TableFacts(
            name=table.name, public=True, person="", max_rows=None, max_groups=None, columns=columns
        )
    return TableFacts(
        name=table.name,
        public=False,
        person=table.person.name if isinstance(table.person, PersonColumn) else "row",
        unique=table.one_row_a_person,
        max_rows=table.max_rows,
        max_groups=table.max_groups,
        columns=columns,
    )


def _column(column: Column) -> ColumnFacts:
    bounds: tuple[float, float] | tuple[str, str] | None = None
    if column.bounds is not None:
        bounds = float(column.bounds.low), float(column.bounds.high)
    if column.days is not None:
        bounds = column.days.low.isoformat(), column.days.high.isoformat()
    return ColumnFacts(
        name=column.name,
        type=column.type.value,
        bounds=bounds,
        keys=column.keys,
        unit=None if column.unit is None else float(column.unit),
    )
