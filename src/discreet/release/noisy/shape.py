"""How the columns of noisy tables turn with the noise, row by row: what may be simulated, and what may not.

A column is told by its *definition*: an expression of *atoms*, which are the keys and measures of leaves,
windows, and aggregates over noisy rows. Each atom has a shape (`release.shape`):

key                   CONSTANT, as are ranks, counts and neighbours in an order of keys
measure               that of its aggregate
sum, avg, lag, …      that of its argument, if which rows it is over follows from keys alone: then it is a
                      fixed sum, with fixed factors, of what is in those rows
min, max, rank, …     of noisy numbers BENT: there is no interval

Which rows a table has may follow from noise too: by WHERE, HAVING, QUALIFY, LIMIT or DISTINCT on noisy
values. Such a table is *selected*. What is computed from one row of it is still what it was, but its interval
has to hold for all rows at once that might have been selected (`release.intervals`). What is computed from
several of its rows is BENT. A table is *broken* if noise decides which rows belong together: then no row of
it is the same in another draw.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.shape import Shape
from discreet.bounds.calibrate import Plan
from discreet.errors import QueryRefused
from discreet.functions.registry import check_size
from discreet.model.expression import Call, Expression, Field, Literal, fields_of
from discreet.model.noisy_table import (
    Grouped,
    Joined,
    LeafAnswer,
    NoisyTable,
    SelectFrom,
    Stacked,
)
from discreet.release.shape import is_positive, shape_of

_SUMS = ("sum", "avg")
_ONE_ROW = ("lag", "lead", "first_value", "last_value", "nth_value")
_PLACES = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
MONOTONE = frozenset((*_SUMS, *_ONE_ROW))
"""Functions of several rows that grow with each of their values, and are affine in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """What a definition is made of."""

    shape: Shape
    positive: bool = False
    """Whether its truth is 0 or more."""
    table: int = -1
    """Of a key or a measure: the table of the leaf's answer that it is read from."""
    measure: str | None = None
    """Of a measure: what the leaf calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """What is known of the rows of a table."""

    defined: Mapping[str, Expression | None]
    """By column: what it is in atoms; None if that would be too long."""
    selected: bool = False
    broken: bool = False


@dataclass(slots=True)
class Shapes:
    """The shapes of all tables of a question."""

    leaves: Sequence[Plan]
    atoms: dict[str, Atom] = field(default_factory=dict)
    tables: dict[int, TableShape] = field(default_factory=dict)
    """By the number of the table."""

    def read(self, table: NoisyTable) -> TableShape:
        """The shape of a table, and of all below it."""
        match table:
            case LeafAnswer():
                found = self._leaf(table)
            case SelectFrom():
                found = self._select(table, self.read(table.source))
            case Grouped():
                found = self._grouped(table, self.read(table.source))
            case Joined():
                found = self._joined(table, self.read(table.left), self.read(table.right))
            case Stacked():
                found = self._stacked(table, [self.read(branch) for branch in table.branches])
        self.tables[table.number] = found
        return found

    def shape(self, expression: Expression | None) -> Shape:
        """Of a definition. A choice that keys make is as affine as what it chooses from."""
        match expression:
            case None:
                return Shape.BENT
            case Call(function="case", arguments=arguments):
                pairs = len(arguments) // 2 * 2
                if all(self.shape(each) is Shape.CONSTANT for each in arguments[0:pairs:2]):
                    return max(self.shape(each) for each in (*arguments[1:pairs:2], *arguments[pairs:]))
                return Shape.BENT
            case Call(function="coalesce", arguments=arguments):
                shapes = [self.shape(each) for each in arguments]
                return max(shapes) if max(shapes) <= Shape.AFFINE else Shape.BENT
            case Call(function="nullif", arguments=(value, Literal())):  # NULL is no claim
                return self.shape(value)
        return shape_of(expression, lambda each: self.atoms[each.name].shape, self.is_positive, self.shape)

    def is_positive(self, atom: Field) -> bool:
        return self.atoms[atom.name].positive

    def is_noisy(self, expression: Expression | None) -> bool:
        """Whether noise moves it."""
        return expression is None or any(
            self.atoms[each.name].shape is not Shape.CONSTANT for each in fields_of(expression)
        )

    # Tables

    def _leaf(self, table: LeafAnswer) -> TableShape:
        measures = {each.measure.name: each.measure for each in self.leaves[table.leaf].bounded.measures}
        for key in table.keys:
            self.atoms[key.name] = Atom(shape=Shape.CONSTANT, table=table.number)
        for column, name in table.measures:
            definition = AGGREGATES[measures[name].aggregate]
            self.atoms[column.name] = Atom(
                shape=definition.shape,
                positive=definition.span(measures[name])[0] >= 0,
                table=table.number,
                measure=name,
            )
        return TableShape(defined={column.name: column for column in table.columns})

    def _select(self, table: SelectFrom, source: TableShape) -> TableShape:
        defined = dict(source.defined)
        selected = source.selected or self._is_noisy(table.where, defined)
        for window in table.windows:
            looked_at = [*window.partition, *(each.expression for each in window.order)]
            looked_at += [window.condition] if window.condition is not None else []
            fixed = not selected and not source.broken
            fixed = fixed and not any(self._is_noisy(each, defined) for each in looked_at)
            arguments = [inlined(each, defined) for each in window.arguments]
            self.atoms[window.field.name] = self._over_rows(window.function, arguments, fixed=fixed)
            defined[window.field.name] = window.field
        named = {made.name: inlined(each, defined) for made, each in table.named}
        selected = selected or self._is_noisy(table.qualify, defined)
        selected = selected or (table.distinct and any(map(self.is_noisy, named.values())))
        by = [each.expression for each in table.order] if table.cuts else []
        selected = selected or any(self._is_noisy(each, defined) for each in by)
        return TableShape(defined=named, selected=selected, broken=source.broken)

    def _grouped(self, table: Grouped, source: TableShape) -> TableShape:
        defined, selected = source.defined, source.selected or self._is_noisy(table.where, source.defined)
        noisy_keys = any(self._is_noisy(each, defined) for _, each in table.keys)
        fixed = not (selected or source.broken or noisy_keys)
        for made, each in table.keys:
            shape = Shape.BENT if self._is_noisy(each, defined) else Shape.CONSTANT
            self.atoms[made.name] = Atom(shape=shape)
        for aggregate in table.aggregates:
            arguments = [inlined(each, defined) for each in aggregate.arguments]
            in_order = fixed and not self._is_noisy(aggregate.condition, defined) and not aggregate.distinct
            self.atoms[aggregate.field.name] = self._over_rows(aggregate.function, arguments, fixed=in_order)
        return TableShape(
            defined={column.name: column for column in table.columns},
            selected=not fixed,
            broken=source.broken or noisy_keys or selected,
        )

    def _joined(self, table: Joined, left: TableShape, right: TableShape) -> TableShape:
        defined = {**left.defined, **right.defined}
        noisy = self._is_noisy(table.on, defined)
        unmatched = (table.kind in ("left", "full") and right.selected) or (
            table.kind in ("right", "full") and left.selected
        )
        return TableShape(
            defined=defined,
            selected=left.selected or right.selected or noisy,
            broken=left.broken or right.broken or noisy or unmatched,
        )

    def _stacked(self, table: Stacked, branches: Sequence[TableShape]) -> TableShape:
        for i, column in enumerate(table.columns):
            found = [
                inlined(converted[i], branch.defined)
                for converted, branch in zip(table.converted, branches, strict=True)
            ]
            self.atoms[column.name] = Atom(
                shape=max(self.shape(each) for each in found),
                positive=all(each is not None and is_positive(each, self.is_positive) for each in found),
            )
        return TableShape(
            defined={column.name: column for column in table.columns},
            selected=any(branch.selected for branch in branches),
            broken=any(branch.broken for branch in branches),
        )

    def _over_rows(self, function: str, arguments: Sequence[Expression | None], *, fixed: bool) -> Atom:
        """What is computed from several rows; `fixed` if noise does not decide from which."""
        if not fixed:
            return Atom(shape=Shape.BENT)
        if function in _PLACES or not any(self.is_noisy(each) for each in arguments):
            return Atom(shape=Shape.CONSTANT)
        shape = self.shape(arguments[0])
        if function == "count":
            return Atom(shape=Shape.CONSTANT if shape is Shape.AFFINE else Shape.BENT)
        if function not in MONOTONE or any(self.is_noisy(each) for each in arguments[1:]):
            return Atom(shape=Shape.BENT)
        positive = all(each is not None and is_positive(each, self.is_positive) for each in arguments[:1])
        return Atom(shape=shape, positive=positive)

    def _is_noisy(self, expression: Expression | None, defined: Mapping[str, Expression | None]) -> bool:
        return expression is not None and self.is_noisy(inlined(expression, defined))

    def atoms_of(self, expression: Expression) -> Iterator[tuple[Field, Atom]]:
        for each in fields_of(expression):
            yield each, self.atoms[each.name]


def inlined(expression: Expression, defined: Mapping[str, Expression | None]) -> Expression | None:
    """An expression with the definitions of its columns in their place; None if it becomes too long."""
    try:
        return _inlined(expression, defined)
    except QueryRefused:
        return None


def _inlined(expression: Expression, defined: Mapping[str, Expression | None]) -> Expression | None:
    match expression:
        case Field():
            return defined[expression.name]
        case Literal():
            return expression
        case Call():
            arguments = [_inlined(each, defined) for each in expression.arguments]
            known = tuple(each for each in arguments if each is not None)
            if len(known) < len(arguments):
                return None
            call = replace(expression, arguments=known)
            check_size(call)
            return call
