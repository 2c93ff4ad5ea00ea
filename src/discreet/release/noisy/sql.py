"""The SQL of noisy tables, for the database of outputs: written anew, from our own tree alone.

Each table is a part of WITH. Beside its columns it has `id`, by which its rows are sorted where nothing else
says how, and for each leaf's answer in it the row of that answer, r0, r1, … The names of columns, functions
and tables are ours, and constants are encoded again (`functions.registry`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet.functions.registry import emit_duckdb
from discreet.model.expression import Call, Expression, Field, Literal
from discreet.model.noisy_table import (
    Grouped,
    Joined,
    LeafAnswer,
    NoisyAggregate,
    NoisyTable,
    NoisyWindow,
    SelectFrom,
    Sorting,
    Stacked,
    WindowFrame,
    tables_within,
)
from discreet.model.policy import ValueType

_LARGEST_ID = 2**55
"""Of a join. All tables of a question one below the other have ids of 64 bits then."""
_BY_ID = ("row_number", "ntile", "lag", "lead", "first_value")
"""Functions that depend on the order of rows which are equal: the id decides then."""


def leaf_name(leaf: int) -> str:
    """The table of the database that holds the answer of a leaf."""
    return f"leaf{leaf}"


def row_name(number: int) -> str:
    """The column that says which row of a leaf's answer a row holds."""
    return f"r{number}"


def name_of(table: NoisyTable) -> str:
    return f"t{table.number}"


def answers_in(table: NoisyTable) -> list[int]:
    """The leaves' answers of which each row of a table holds one row."""
    match table:
        case LeafAnswer():
            return [table.number]
        case SelectFrom():
            return answers_in(table.source)
        case Joined():
            return answers_in(table.left) + answers_in(table.right)
    return []


def sql_of(expression: Expression) -> str:
    return emit_duckdb(expression)


@dataclass(slots=True)
class Ids:
    """How many ids the rows of each table may have, given how many rows leaves have."""

    rows: Sequence[int]
    """Of the answer of each leaf."""

    def of(self, table: NoisyTable) -> int:
        match table:
            case LeafAnswer():
                return max(1, self.rows[table.leaf])
            case SelectFrom() | Grouped():
                return self.of(table.source)
            case Joined():
                pairs = self._pairs(table)
                return pairs if pairs <= _LARGEST_ID else self.rows_of(table) + 1
            case Stacked():
                return sum(self.of(branch) for branch in table.branches)

    def numbered(self, table: NoisyTable) -> bool:
        """Whether rows are numbered anew somewhere, so that their ids depend on which others there are."""
        return any(
            isinstance(each, Joined) and self._pairs(each) > _LARGEST_ID for each in tables_within(table)
        )

    def _pairs(self, table: Joined) -> int:
        return (self.of(table.left) + 1) * (self.of(table.right) + 1)

    def rows_of(self, table: NoisyTable) -> int:
        """The most rows that a table has if noise leaves none out."""
        match table:
            case LeafAnswer():
                return max(1, self.rows[table.leaf])
            case SelectFrom():
                return self.rows_of(table.source)
            case Grouped():
                return self.rows_of(table.source) if table.keys else 1
            case Joined():
                return table.rows(self.rows_of(table.left), self.rows_of(table.right))
            case Stacked():
                return sum(self.rows_of(branch) for branch in table.branches)

    def joined(self, table: Joined) -> str:
        """The id of a pair of rows. Where one side is missing, its id is the first that it cannot have.

        Where these would not fit 64 bits, pairs are numbered in the same order.
        """
        left, right = self.of(table.left), self.of(table.right)
        if self._pairs(table) > _LARGEST_ID:
            return f"row_number() OVER (ORDER BY coalesce(l.id, {left}), coalesce(r.id, {right}))"
        return f"coalesce(l.id, {left}) * {right + 1} + coalesce(r.id, {right})"


@dataclass(slots=True)
class NoisySql:
    """Writes the statement that computes a table."""

    ids: Ids
    parts: list[str] = field(default_factory=list)

    def statement(self, table: NoisyTable) -> str:
        """All rows of the table, in order."""
        for each in tables_within(table):
            self.parts.append(f"{name_of(each)} AS MATERIALIZED ({self._written(each)})")
        order = [f"o{i}" for i in range(len(table.order))] if isinstance(table, SelectFrom) else []
        sorting = table.order if isinstance(table, SelectFrom) else ()
        by = [_sorted(name, each) for name, each in zip(order, sorting, strict=True)]
        return (
            f"WITH {', '.join(self.parts)} SELECT * FROM {name_of(table)} ORDER BY {', '.join([*by, 'id'])}"
        )

    def _written(self, table: NoisyTable) -> str:
        match table:
            case LeafAnswer():
                return self._leaf(table)
            case SelectFrom():
                return self._select(table)
            case Grouped():
                return self._grouped(table)
            case Joined():
                return self._joined(table)
            case Stacked():
                return self._stacked(table)

    def _leaf(self, table: LeafAnswer) -> str:
        keys = [_as(Field(name=f"k{i}", type=key.type), key) for i, key in enumerate(table.keys)]
        measures = [_as(Field(name=name, type=made.type), made) for made, name in table.measures]
        columns = ["row_number AS id", f"row_number AS {row_name(table.number)}", *keys, *measures]
        return f"SELECT {', '.join(columns)} FROM {leaf_name(table.leaf)}"

    def _select(self, table: SelectFrom) -> str:
        windows, where = written_windows(table.windows), written_where(table.where)
        rows = f"SELECT *{windows} FROM {name_of(table.source)}{where}"
        kept = ["id", *map(row_name, answers_in(table))]
        order = [f"{sql_of(each.expression)} AS o{i}" for i, each in enumerate(table.order)]
        named = [f"{sql_of(each)} AS {made.name}" for made, each in table.named]
        sql = f"SELECT {', '.join([*kept, *named, *order])} FROM ({rows}){written_where(table.qualify)}"
        if table.distinct:
            others = [*kept[1:], *(f"o{i}" for i in range(len(order)))]
            columns = ["min(id) AS id", *(f"arg_min({name}, id) AS {name}" for name in others)]
            names = [made.name for made, _ in table.named]
            sql = f"SELECT {', '.join([*columns, *names])} FROM ({sql}) GROUP BY {', '.join(names)}"
        if table.cuts:
            by = [_sorted(f"o{i}", each) for i, each in enumerate(table.order)]
            limit = "" if table.limit is None else f" LIMIT {table.limit}"
            sql = f"SELECT * FROM ({sql}) ORDER BY {', '.join([*by, 'id'])}{limit} OFFSET {table.offset}"
        return sql

    def _grouped(self, table: Grouped) -> str:
        keys = [f"{sql_of(each)} AS {made.name}" for made, each in table.keys]
        aggregates = [f"{written_aggregate(each)} AS {each.field.name}" for each in table.aggregates]
        by = f" GROUP BY {', '.join(str(2 + i) for i in range(len(keys)))}" if keys else ""
        columns = ["coalesce(min(id), 0) AS id", *keys, *aggregates]
        return f"SELECT {', '.join(columns)} FROM {name_of(table.source)}{written_where(table.where)}{by}"

    def _joined(self, table: Joined) -> str:
        rows = [*map(row_name, answers_in(table))]
        columns = [f"{self.ids.joined(table)} AS id", *rows, *(each.name for each in table.columns)]
        return f"SELECT {', '.join(columns)} FROM {joined_from(table, '')}"

    def _stacked(self, table: Stacked) -> str:
        sides, first = [], 0
        for branch, converted in zip(table.branches, table.converted, strict=True):
            columns = [
                f"{sql_of(each)} AS {made.name}" for made, each in zip(table.columns, converted, strict=True)
            ]
            sides.append(f"SELECT {', '.join([f'id + {first} AS id', *columns])} FROM {name_of(branch)}")
            first += self.ids.of(branch)
        return " UNION ALL ".join(sides)


def joined_from(table: Joined, same: str) -> str:
    """FROM of a join; `same` is a condition that always holds between the rows of a pair."""
    match table.on:
        case None:
            on: tuple[Expression, ...] = ()
        case Call(function="and", arguments=parts):  # side by side, so that the database joins by hash
            on = parts
        case _:
            on = (table.on,)
    conditions = " AND ".join([*(f"({sql_of(each)})" for each in on), *([same] if same else [])]) or "TRUE"
    return f"{name_of(table.left)} AS l {table.kind.upper()} JOIN {name_of(table.right)} AS r ON {conditions}"


def written_windows(windows: Iterable[NoisyWindow], first: str = "") -> str:
    """The columns of windows; `first` is a column that each is partitioned by."""
    return "".join(f", {written_window(each, first)} AS {each.field.name}" for each in windows)


def written_window(window: NoisyWindow, first: str = "", arguments: Sequence[str] | None = None) -> str:
    """One window, over other arguments if they are given."""
    given = [sql_of(each) for each in window.arguments] if arguments is None else arguments
    filtered = "" if window.condition is None else f" FILTER (WHERE ({sql_of(window.condition)}) IS TRUE)"
    function = f"{window.function}({', '.join(given) or _nothing(window.function)}){filtered}"
    partition = [*([first] if first else []), *map(sql_of, window.partition)]
    by = [_sorted(sql_of(each.expression), each) for each in window.order]
    by_rows = window.frame is not None and window.frame.rows
    if window.function in _BY_ID or by_rows:
        by.append("id")
    over = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    over += [f"ORDER BY {', '.join(by)}"] if by else []
    over += [_frame(window.frame)] if window.frame is not None and by else []
    return _finite(f"{function} OVER ({' '.join(over)})", window.field.type)


def written_aggregate(aggregate: NoisyAggregate, arguments: Sequence[str] | None = None) -> str:
    """One aggregate, over other arguments if they are given."""
    given = [sql_of(each) for each in aggregate.arguments] if arguments is None else list(arguments)
    inside = ", ".join(given) or _nothing(aggregate.function)
    distinct = "DISTINCT " if aggregate.distinct else ""
    filtered = (
        "" if aggregate.condition is None else f" FILTER (WHERE ({sql_of(aggregate.condition)}) IS TRUE)"
    )
    return _finite(f"{aggregate.function}({distinct}{inside}){filtered}", aggregate.field.type)


def written_where(condition: Expression | None) -> str:
    return "" if condition is None else f" WHERE ({sql_of(condition)}) IS TRUE"


def _nothing(function: str) -> str:
    return "*" if function == "count" else ""


def _finite(sql: str, kind: ValueType) -> str:
    """Each column has the type that is known of it."""
    types: Mapping[ValueType, str] = {ValueType.INTEGER: "BIGINT", ValueType.NUMBER: "DOUBLE"}
    return f"TRY_CAST({sql} AS {types[kind]})" if kind in types else sql


def _sorted(sql: str, sorting: Sorting) -> str:
    way = "DESC" if sorting.descending else "ASC"
    return f"{sql} {way} NULLS {'FIRST' if sorting.nulls_first else 'LAST'}"


def _frame(frame: WindowFrame) -> str:
    def end(rows: int | None, side: str) -> str:
        if rows is None:
            return f"UNBOUNDED {side}"
        if rows == 0:
            return "CURRENT ROW"
        return f"{abs(rows)} {'PRECEDING' if rows < 0 else 'FOLLOWING'}"

    kind = "ROWS" if frame.rows else "RANGE"
    return f"{kind} BETWEEN {end(frame.start, 'PRECEDING')} AND {end(frame.end, 'FOLLOWING')}"


def _as(read: Field | Literal, made: Field) -> str:
    return f"{sql_of(read)} AS {made.name}"
