"""The SQL that computes parts of an answer for many draws of the noise at once.

All tables have a column `draw` more, which everything is partitioned by. Their other columns are the atoms of
definitions (`release.noisy.shape`). What noise decides, such as WHERE n > 100, is left out: each row that
might be there is there, in all draws, with the same `id` as in the answer.

Where a measure is known only from one end to another, because limits leave something out or because its
count passed a threshold narrowly, each noisy atom has both ends as columns, and so has what is computed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from discreet.aggregates.shape import Shape
from discreet.functions.registry import build_call
from discreet.model.expression import Call, Expression, Field, Literal, fields_of
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
    tables_within,
)
from discreet.model.policy import ValueType
from discreet.release.noisy.shape import Shapes, inlined
from discreet.release.noisy.sql import (
    Ids,
    joined_from,
    leaf_name,
    name_of,
    sql_of,
    written_aggregate,
    written_where,
    written_window,
)

_ZERO = Literal(value=0, type=ValueType.INTEGER)
_TRUE = Literal(value=True, type=ValueType.BOOLEAN)
ENDS = ("low", "high")


@dataclass(slots=True)
class DrawSql:
    """Writes the statement for some expressions of the atoms of a table."""

    shapes: Shapes
    ids: Ids
    sided: bool
    """Whether noisy atoms have two ends."""
    needed: set[str] = field(default_factory=set)

    def statement(self, table: NoisyTable, wanted: Sequence[Expression]) -> str:
        """id, and the ends of each expression: x0_low, x0_high, …; NULL where it may be anything."""
        self._find_needed(table, wanted)
        parts = [f"{name_of(each)} AS MATERIALIZED ({self._written(each)})" for each in tables_within(table)]
        columns = ["id"]
        for i, each in enumerate(wanted):
            sure = " AND ".join(f"({sql_of(one)})" for one in self.conditions(each)) or "TRUE"
            columns += [
                f"CASE WHEN {sure} THEN CAST({sql_of(self.end(each, end))} AS DOUBLE) END AS x{i}_{end}"
                for end in (ENDS if self.sided else ENDS[:1])
            ]
        return f"WITH {', '.join(parts)} SELECT {', '.join(columns)} FROM {name_of(table)} ORDER BY id, draw"

    # Which atoms are needed

    def _find_needed(self, table: NoisyTable, wanted: Sequence[Expression]) -> None:
        uses: dict[str, list[Expression | None]] = {}
        waiting: list[Expression | None] = list(wanted)
        for each in tables_within(table):
            waiting += self._structure(each)
            uses |= self._uses(each)
        while waiting:
            expression = waiting.pop()
            for atom in () if expression is None else fields_of(expression):
                if atom.name not in self.needed:
                    self.needed.add(atom.name)
                    waiting += uses.get(atom.name, [])

    def _defined(self, table: NoisyTable) -> Mapping[str, Expression | None]:
        return self.shapes.tables[table.number].defined

    def _structure(self, table: NoisyTable) -> list[Expression | None]:
        """What decides which rows there are, in definitions. None of it is noisy."""
        match table:
            case SelectFrom():
                inside = self._with_windows(table)
                found = [inlined(each, inside) for each in (table.where, table.qualify) if each is not None]
                found += [inlined(each.expression, inside) for each in table.order] if table.cuts else []
                found += [inlined(each, inside) for _, each in table.named] if table.distinct else []
            case Grouped():
                below = self._defined(table.source)
                found = [] if table.where is None else [inlined(table.where, below)]
                found += [inlined(each, below) for _, each in table.keys]
            case Joined(on=on) if on is not None:
                found = [inlined(on, self._defined(table))]
            case _:
                found = []
        return [each for each in found if not self.shapes.is_noisy(each)]

    def _uses(self, table: NoisyTable) -> dict[str, list[Expression | None]]:
        match table:
            case SelectFrom():
                inside = self._with_windows(table)
                return {
                    each.field.name: [
                        *(inlined(one, inside) for one in (*each.arguments, *each.partition)),
                        *(inlined(one.expression, inside) for one in each.order),
                        None if each.condition is None else inlined(each.condition, inside),
                    ]
                    for each in table.windows
                }
            case Grouped():
                below = self._defined(table.source)
                return {
                    each.field.name: [
                        *(inlined(one, below) for one in each.arguments),
                        None if each.condition is None else inlined(each.condition, below),
                    ]
                    for each in table.aggregates
                } | {made.name: [inlined(each, below)] for made, each in table.keys}
            case Stacked():
                return {
                    made.name: [
                        inlined(converted[i], self._defined(branch))
                        for branch, converted in zip(table.branches, table.converted, strict=True)
                    ]
                    for i, made in enumerate(table.columns)
                }
        return {}

    def _with_windows(self, table: SelectFrom) -> dict[str, Expression | None]:
        return {**self._defined(table.source), **{each.field.name: each.field for each in table.windows}}

    # Atoms as columns

    def _atoms(self, table: NoisyTable) -> Iterator[Field]:
        """The atoms that the rows of a table have, and that are needed."""
        match table:
            case LeafAnswer() | Stacked() | Grouped():
                found: Iterable[Field] = table.columns
            case SelectFrom():
                found = (*self._atoms(table.source), *(each.field for each in table.windows))
            case Joined():
                found = (*self._atoms(table.left), *self._atoms(table.right))
        for each in found:
            if each.name in self.needed and self._may_be_drawn(each):
                yield each

    def _may_be_drawn(self, atom: Field) -> bool:
        return self.shapes.atoms[atom.name].shape is not Shape.BENT

    def _columns(self, atom: Field) -> list[str]:
        if self.shapes.atoms[atom.name].shape is Shape.CONSTANT or not self.sided:
            ends = [atom.name]
        else:
            ends = [f"{atom.name}_{end}" for end in ENDS]
        return [*ends, f"{atom.name}_ok"] if self._is_checked(atom) else ends

    def _is_checked(self, atom: Field) -> bool:
        """Whether it is over rows of which some may be NULL because of noise."""
        known = self.shapes.atoms[atom.name]
        return known.shape is Shape.SMOOTH and known.measure is None

    def end(self, expression: Expression, end: str) -> Expression:
        """The low or the high end of what a definition may be."""
        if not self.sided or not self.shapes.is_noisy(expression):
            return expression
        if isinstance(expression, Field):
            return replace(expression, name=f"{expression.name}_{end}")
        if not isinstance(expression, Call):
            raise TypeError("A constant is not noisy.")
        other = ENDS[1 - ENDS.index(end)]
        match expression.function, expression.arguments:
            case "-", (left, right):
                return build_call("-", (self.end(left, end), self.end(right, other)))
            case "negate", (inner,):
                return build_call("negate", (self.end(inner, other),))
            case (("*" | "/"), (left, right)):
                return self._scaled(expression.function, left, right, end)
            case "nullif", (inner, _):
                return self.end(inner, end)
        return build_call(expression.function, tuple(self.end(each, end) for each in expression.arguments))

    def _scaled(self, function: str, left: Expression, right: Expression, end: str) -> Expression:
        """The least, or the greatest, of what the ends of both sides make; a divisor is above 0."""
        lefts = [self.end(left, each) for each in (ENDS if self.shapes.is_noisy(left) else ENDS[:1])]
        rights = [self.end(right, each) for each in (ENDS if self.shapes.is_noisy(right) else ENDS[:1])]
        found = tuple(dict.fromkeys(build_call(function, (a, b)) for a in lefts for b in rights))
        return found[0] if len(found) == 1 else build_call("least" if end == "low" else "greatest", found)

    def conditions(self, expression: Expression) -> list[Expression]:
        """What has to hold for a definition to be known: nothing is divided by what may be 0."""
        return list(dict.fromkeys(self._conditions(expression)))

    def _conditions(self, expression: Expression) -> Iterator[Expression]:
        match expression:
            case Field() if self.shapes.is_noisy(expression) and self._is_checked(expression):
                known = Field(name=f"{expression.name}_ok", type=ValueType.INTEGER)
                yield build_call(">", (known, _ZERO))
            case Field() if self.shapes.atoms[expression.name].shape is Shape.SMOOTH:
                yield build_call("is_not_null", (self.end(expression, "low"),))
            case Call(function=function, arguments=arguments):
                if function == "/" and self.shapes.is_noisy(arguments[1]):
                    yield build_call(">", (self.end(arguments[1], "low"), _ZERO))
                for each in arguments:
                    yield from self._conditions(each)

    # Tables

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

    def _names(self, table: NoisyTable) -> list[str]:
        return [name for atom in self._atoms(table) for name in self._columns(atom)]

    def _leaf(self, table: LeafAnswer) -> str:
        names = {key.name: f"k{i}" for i, key in enumerate(table.keys)}
        names |= {made.name: name for made, name in table.measures}
        columns = ["draw", "row_number AS id"]
        for atom in self._atoms(table):
            for name in self._columns(atom):
                read = Field(name=name.replace(atom.name, names[atom.name], 1), type=atom.type)
                columns.append(f"{sql_of(read)} AS {name}")
        return f"SELECT {', '.join(columns)} FROM {leaf_name(table.leaf)}"

    def _select(self, table: SelectFrom) -> str:
        below, inside = self._defined(table.source), self._with_windows(table)
        columns = ["draw", "id", *self._names(table.source)]
        for window in table.windows:
            if window.field.name in self.needed and self._may_be_drawn(window.field):
                columns += self._windows(window, below)
        where = self._unless_noisy(table.where, below)
        sql = f"SELECT {', '.join(columns)} FROM {name_of(table.source)}{written_where(where)}"
        qualify = self._unless_noisy(table.qualify, inside)
        if qualify is not None:
            sql = f"SELECT * FROM ({sql}){written_where(qualify)}"
        named = [inlined(each, inside) for _, each in table.named]
        if table.distinct and not any(map(self.shapes.is_noisy, named)):
            partition = ", ".join(["draw", *(sql_of(each) for each in named if each is not None)])
            sql = (
                f"SELECT * FROM ({sql}) QUALIFY row_number() OVER (PARTITION BY {partition} ORDER BY id) = 1"
            )
        order = [(each, inlined(each.expression, inside)) for each in table.order]
        if table.cuts and not any(self.shapes.is_noisy(each) for _, each in order):
            first, last = table.offset, table.offset + (2**40 if table.limit is None else table.limit)
            by = [_ordered(each, known) for each, known in order if known is not None]
            place = f"row_number() OVER (PARTITION BY draw ORDER BY {', '.join([*by, 'id'])})"
            sql = f"SELECT * FROM ({sql}) QUALIFY {place} > {first} AND {place} <= {last}"
        return sql

    def _unless_noisy(
        self, condition: Expression | None, defined: Mapping[str, Expression | None]
    ) -> Expression | None:
        """A condition that decides which rows there are; what noise decides is left out."""
        found = None if condition is None else inlined(condition, defined)
        return None if found is None or self.shapes.is_noisy(found) else found

    def _windows(self, window: NoisyWindow, below: Mapping[str, Expression | None]) -> list[str]:
        known = replace(
            window,
            partition=tuple(_sure(inlined(each, below)) for each in window.partition),
            order=tuple(
                replace(each, expression=_sure(inlined(each.expression, below))) for each in window.order
            ),
            condition=None if window.condition is None else _sure(inlined(window.condition, below)),
            arguments=tuple(_sure(inlined(each, below)) for each in window.arguments),
        )
        found = []
        for name, end in self._ends(window.field):
            given = [sql_of(self.end(each, end)) for each in known.arguments]
            found.append(f"{written_window(known, 'draw', given)} AS {name}")
        if self._is_checked(window.field):
            sure = self._all_sure(known.arguments[0])
            partition = ", ".join(["draw", *map(sql_of, known.partition)])
            found.append(f"min({sure}) OVER (PARTITION BY {partition}) AS {window.field.name}_ok")
        return found

    def _ends(self, atom: Field) -> list[tuple[str, str]]:
        """The columns of an atom, and which end each is."""
        if self.shapes.atoms[atom.name].shape is Shape.CONSTANT or not self.sided:
            return [(atom.name, "low")]
        return [(f"{atom.name}_{end}", end) for end in ENDS]

    def _all_sure(self, argument: Expression) -> str:
        sure = " AND ".join(f"({sql_of(each)})" for each in self.conditions(argument)) or "TRUE"
        return f"CASE WHEN {sure} THEN 1 ELSE 0 END"

    def _grouped(self, table: Grouped) -> str:
        below = self._defined(table.source)
        keys = [
            f"{sql_of(_sure(inlined(each, below)))} AS {made.name}"
            for made, each in table.keys
            if made.name in self.needed
        ]
        by = ["draw", *(sql_of(_sure(inlined(each, below))) for _, each in table.keys)]
        columns = ["draw", "min(id) AS id", *keys]
        for aggregate in table.aggregates:
            if aggregate.field.name in self.needed and self._may_be_drawn(aggregate.field):
                columns += self._aggregates(aggregate, below)
        where = written_where(self._unless_noisy(table.where, below))
        return f"SELECT {', '.join(columns)} FROM {name_of(table.source)}{where} GROUP BY {', '.join(by)}"

    def _aggregates(self, aggregate: NoisyAggregate, below: Mapping[str, Expression | None]) -> list[str]:
        arguments = tuple(_sure(inlined(each, below)) for each in aggregate.arguments)
        condition = None if aggregate.condition is None else _sure(inlined(aggregate.condition, below))
        known = replace(aggregate, arguments=arguments, condition=condition)
        found = [
            f"{written_aggregate(known, [sql_of(self.end(each, end)) for each in arguments])} AS {name}"
            for name, end in self._ends(aggregate.field)
        ]
        if self._is_checked(aggregate.field):
            found.append(f"min({self._all_sure(arguments[0])}) AS {aggregate.field.name}_ok")
        return found

    def _joined(self, table: Joined) -> str:
        on = None if table.on is None else inlined(table.on, self._defined(table))
        known = replace(table, on=on)
        columns = ["coalesce(l.draw, r.draw) AS draw", f"{self.ids.joined(table)} AS id", *self._names(table)]
        return f"SELECT {', '.join(columns)} FROM {joined_from(known, 'l.draw = r.draw')}"

    def _stacked(self, table: Stacked) -> str:
        sides, first = [], 0
        for branch, converted in zip(table.branches, table.converted, strict=True):
            columns = ["draw", f"id + {first} AS id"]
            for made, each in zip(table.columns, converted, strict=True):
                if made.name in self.needed and self._may_be_drawn(made):
                    columns += self._stacked_column(made, _sure(inlined(each, self._defined(branch))))
            sides.append(f"SELECT {', '.join(columns)} FROM {name_of(branch)}")
            first += self.ids.of(branch)
        return " UNION ALL ".join(sides)

    def _stacked_column(self, made: Field, definition: Expression) -> list[str]:
        found = [f"{sql_of(self.end(definition, end))} AS {name}" for name, end in self._ends(made)]
        if self._is_checked(made):
            found.append(f"{self._all_sure(definition)} AS {made.name}_ok")
        return found


def _sure(expression: Expression | None) -> Expression:
    if expression is None:
        raise TypeError("Only what has a definition is drawn.")
    return expression


def _ordered(sorting: Sorting, expression: Expression) -> str:
    way = "DESC" if sorting.descending else "ASC"
    return f"{sql_of(expression)} {way} NULLS {'FIRST' if sorting.nulls_first else 'LAST'}"
