"""What the names in a question stand for: the columns that FROM and JOIN bring in."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.listing import Listing
from discreet.functions.registry import build_call
from discreet.model.expression import Call, Expression, Field, Range, fields_of
from discreet.model.policy import KeyValue, PublicTable, ValueType
from discreet.question.expressions.convert import convert
from discreet.question.mistakes.compared_keys import DeclaredKeys, check_compared, unknown_name
from discreet.question.mistakes.near_names import near_name

Keys = Callable[[], tuple[KeyValue, ...] | None]
PublicKeys = Callable[[str, str], tuple[KeyValue, ...] | None]
"""All values of a column of a public table, NULL aside; None if they are too many to be keys."""


class FanOut(NamedTuple):
    """What a public table makes of the rows that it is joined with."""

    matches: int
    """How many of its rows share one value, at most."""
    rows: int
    """How many rows it has."""


ReadFanOut = Callable[[PublicTable, tuple[Expression, ...]], FanOut]
"""Of a public table that is joined on these expressions."""


def as_declared(table: PublicTable, _: tuple[Expression, ...]) -> FanOut:
    """The declared bound, without a look at the table. It holds, as rows beyond it match nothing."""
    return FanOut(matches=table.max_matches, rows=0)


@dataclass(frozen=True)
class NamedSource:
    """A table or subquery under the name that the question gives it."""

    name: str
    columns: Mapping[str, Expression]
    merged: frozenset[str] = frozenset()
    """Columns of a USING: unqualified, the name means the other side."""

    @cached_property
    def folded(self) -> Mapping[str, list[str]]:
        """The names of columns that are the same but for their case."""
        found: dict[str, list[str]] = {}
        for name in self.columns:
            found.setdefault(name.casefold(), []).append(name)
        return found

    def column(self, name: str, place: str | None) -> Expression:
        """By name, whatever its case."""
        same = [name] if name in self.columns else self.folded.get(name.casefold(), [])
        return self.columns[same[0]] if len(same) == 1 else nearest(name, self.columns, "column", place)

    @cached_property
    def unqualified(self) -> frozenset[str]:
        """The names that a question may use without the name of the source, whatever their case."""
        merged = {name.casefold() for name in self.merged}
        return frozenset({name.casefold() for name in self.columns} - merged)


@dataclass(slots=True)
class Scope:
    """All that can be named, and what is known of it."""

    sources: list[NamedSource] = field(default_factory=list)
    persons: set[str] = field(default_factory=set)
    """Fields that hold the id of the person whom the row belongs to."""
    owner_keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Fields by which another table says whose a row is: that table and its column. Its own field, too."""
    limits: dict[str, Range] = field(default_factory=dict)
    """Values of one person: what they are clamped to where nothing else bounds them."""
    keys: dict[str, Keys] = field(default_factory=dict)
    """Fields whose values are public, and how to get at them."""
    declared: dict[str, DeclaredKeys] = field(default_factory=dict)
    """Fields whose keys the policy lists."""
    listing: Listing = field(default_factory=Listing)
    """What it may still take to list the values of keys."""
    _read: dict[int, tuple[exp.Expression, Expression | QueryRefused]] = field(default_factory=dict)
    """What was read, or why it was refused, by the identity of its node. Some are looked at many times."""
    _clamped: dict[int, tuple[Expression, Expression]] = field(default_factory=dict)
    """What was clamped, by the identity of what it was."""

    def expression(self, node: exp.Column) -> Expression:
        """What a column of the question is."""
        if node.args.get("db") or isinstance(node.this, exp.Star):
            raise QueryRefused("A column is named by its name.", remedy="Name the columns, one by one.")
        qualifier = node.args.get("table")
        if qualifier is not None:
            source = nearest(qualifier.name, {source.name: source for source in self.sources}, "table")
            return source.column(node.name, source.name)
        try:
            return self._unqualified(node)
        except QueryRefused as unknown:
            raise unknown_name(node.name, unknown, self.declared.values()) from None

    def _unqualified(self, node: exp.Column) -> Expression:
        found = [source.name for source in self.sources if node.name.casefold() in source.unqualified]
        if len(found) > 1:
            raise QueryRefused(
                f"“{node.name}” is a column of {' and of '.join(found)}.",
                remedy=f"Say which: {found[0]}.{node.name}.",
            )
        places = [source for source in self.sources if source.name in found] or self.sources
        place = self.sources[0].name if len(self.sources) == 1 else None
        if len(places) == 1:
            return places[0].column(node.name, place)
        known = {name: column for source in places for name, column in source.columns.items()}
        return nearest(node.name, known, "column", place)

    def is_person(self, expression: Expression) -> bool:
        return isinstance(expression, Field) and expression.name in self.persons

    def leads_to_one_owner(self, pair: tuple[Expression, Expression]) -> bool:
        """Whether both are keys by which the same table says whose a row is."""
        names = [each.name for each in pair if isinstance(each, Field)]
        keys = [self.owner_keys.get(name) for name in names]
        return len(keys) == 2 and keys[0] is not None and keys[0] == keys[1]

    def keys_of(self, name: str) -> tuple[KeyValue, ...] | None:
        return self.keys[name]() if name in self.keys else None

    def clamped(self, expression: Expression) -> Expression:
        """The expression with every value of one person clamped to what max_rows allows.

        What it shares stays shared.
        """
        match expression:
            case Field(name=name, type=kind) if name in self.limits:
                return Field(name=name, type=kind, range=self.limits[name])
            case Call() if any(each.name in self.limits for each in fields_of(expression)):
                if id(expression) not in self._clamped:
                    arguments = tuple(self.clamped(argument) for argument in expression.arguments)
                    self._clamped[id(expression)] = expression, build_call(expression.function, arguments)
                return self._clamped[id(expression)][1]
        return expression

    def row_expression(self, node: exp.Expression) -> Expression:
        """What is computed from one row. A node is read once, and with it all that it is made of."""
        if id(node) not in self._read:
            try:
                read = convert(node, lambda inner: self._part(inner, node))
                check_compared(read, self.declared)
                found: Expression | QueryRefused = read
            except QueryRefused as refused:
                found = refused
            self._read[id(node)] = node, found
        known = self._read[id(node)][1]
        if isinstance(known, QueryRefused):
            raise known
        return known

    def know(self, node: exp.Expression, meaning: Expression) -> None:
        """What a node of this question means, wherever it stands in it."""
        self._read[id(node)] = node, meaning

    def _part(self, inner: exp.Expression, whole: exp.Expression) -> Expression | None:
        if inner is not whole:
            return self.row_expression(inner)
        if isinstance(inner, exp.Column):
            return self.expression(inner)
        if isinstance(inner, exp.AggFunc | exp.Filter | exp.WithinGroup):
            raise QueryRefused(
                "An aggregate cannot stand where rows are chosen.", remedy="Use HAVING for noisy values."
            )
        return None

    def joined(self, other: "Scope", merged: Iterable[str] = ()) -> "Scope":
        """Both, side by side."""
        hidden = frozenset(merged)
        right = [NamedSource(source.name, source.columns, source.merged | hidden) for source in other.sources]
        names = [source.name.casefold() for source in (*self.sources, *right)]
        if len(set(names)) != len(names):
            raise QueryRefused(
                "Two tables of the question have the same name.", remedy="Give them names: FROM visits AS a."
            )
        return Scope(
            sources=[*self.sources, *right],
            persons=self.persons | other.persons,
            owner_keys=self.owner_keys | other.owner_keys,
            limits=self.limits | other.limits,
            keys=self.keys | other.keys,
            declared=self.declared | other.declared,
        )

    def named(self, name: str, columns: Mapping[str, Expression]) -> "Scope":
        """These columns as one table, such as a subquery is to the question around it."""
        return Scope(
            sources=[NamedSource(name, columns)],
            persons=self.persons,
            owner_keys=self.owner_keys,
            limits=self.limits,
            keys=self.keys,
            declared=self.declared,
        )


def predicate(node: exp.Expression, scope: Scope, clause: str) -> Expression:
    """A condition on one row."""
    found = row_expression(node, scope)
    if found.type is not ValueType.BOOLEAN:
        raise QueryRefused(f"{clause} needs a condition.", remedy="Compare something: ward = 'north'.")
    return found


def row_expression(node: exp.Expression, scope: Scope) -> Expression:
    """What is computed from one row."""
    return scope.row_expression(node)


def position_of(node: exp.Expression) -> int:
    """The position that a plain number stands for in GROUP BY or ORDER BY; 0 if it is none."""
    plain = isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit()
    return int(node.this) if plain and len(node.this) <= 9 else 0


def conjuncts(node: exp.Expression | None) -> list[exp.Expression]:
    """The conditions that all have to hold."""
    found: list[exp.Expression] = []
    waiting = [node]
    while waiting:
        match waiting.pop():
            case None:
                continue
            case exp.And() as both:
                waiting += [both.expression, both.this]
            case exp.Paren() as inner:
                waiting.append(inner.this)
            case other:
                found.append(other)
    return found


Named = TypeVar("Named")


def nearest(name: str, known: Mapping[str, Named], what: str, place: str | None = None) -> Named:
    """By name, whatever its case; or a refusal with the nearest name."""
    if name in known:
        return known[name]
    folded = [other for other in known if other.casefold() == name.casefold()]
    if len(folded) == 1:
        return known[folded[0]]
    close = near_name(name, known)
    hint = f"Did you mean “{close}”?" if close else f"There are: {', '.join(sorted(known)[:20])}."
    where = f" in “{place}”" if place else ""
    raise QueryRefused(f"There is no {what} “{name[:60]}”{where}.", remedy=hint)
