"""How long SQL gets where a database writes out each name in it, and how much of that a question may have.

A subquery that groups by the person, or unites tables, names what it computes. Databases move what is asked
of these names below the subquery. There they write what each name stands for, wherever it is used. If a name
is used six times to compute the next one, and so on, eight subqueries in 600 characters make millions of
operations. PostgreSQL would plan them for minutes, in any memory. Names of plain subqueries are put in when a
question is read, and have the limit of `check_size`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.bounds.relation_tree import sides_of
from discreet.dialects.dialect import Dialect
from discreet.dialects.parameters import Parameters
from discreet.errors import QueryRefused
from discreet.functions.registry import emit
from discreet.model.expression import Expression, Field, fields_of
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    Lookup,
    PerPerson,
    PersonJoin,
    Relation,
    Scan,
    UnionAll,
)

MOST_SPELLED_OUT = 1_000_000
"""The most characters of all statements of a question, where names of subqueries are written out. PostgreSQL
plans them in about a second, at worst in 4."""
_COLUMN = 40
"""Of a column of a table."""


def check_spelled_out(length: int) -> int:
    """Refuse what a database would plan for too long, before anything is charged."""
    if length > MOST_SPELLED_OUT:
        raise QueryRefused(
            "The question computes too much from columns of its subqueries. A database writes out what they"
            f" stand for, wherever they are used: more than {MOST_SPELLED_OUT:,} characters here.",
            remedy="Nest fewer subqueries, or use their columns fewer times; or ask in several questions.",
        )
    return length


@dataclass(slots=True)
class SpelledOut:
    """How long what is computed from a relation gets, with the names of its subqueries written out."""

    relation: Relation
    dialect: Dialect
    length: int = 0
    """Of all statements so far; 0 if no subquery names anything."""
    _own: int = 0
    """Of all that the relation itself computes."""
    _columns: dict[str, int] = field(default_factory=dict)
    """The lengths of the columns that subqueries name."""
    _known: dict[int, tuple[Expression, int]] = field(default_factory=dict)
    """By identity: many pieces of a question compute the same."""

    def __post_init__(self) -> None:
        self.dialect = self.dialect.binding(Parameters())  # what is not run needs no parameters
        if _names_columns(self.relation):
            self._read(self.relation)

    def use(self, expressions: Iterable[Expression]) -> None:
        """Count a statement, or a piece of one, that reads the relation and computes these from its rows."""
        if self._columns:
            different = {id(each): each for each in expressions}.values()
            self.length = check_spelled_out(self.length + self._own + sum(map(self._length, different)))

    def _length(self, expression: Expression) -> int:
        if id(expression) not in self._known:
            sql, name_of = emit(expression, self.dialect), self.dialect.identifier
            named = (
                sql.count(name_of(each.name)) * self._columns.get(each.name, _COLUMN)
                for each in fields_of(expression)
            )
            self._known[id(expression)] = expression, len(sql) + sum(named)
        return self._known[id(expression)][1]

    def _read(self, relation: Relation) -> None:
        """What is below is read first: its names are used above."""
        match relation:
            case Filter():
                self._read(relation.source)
                self._own += self._length(relation.predicate)
            case FewRows():
                self._read(relation.source)
            case Lookup():
                self._read(relation.source)
                self._own += sum(map(self._length, sides_of(relation.pairs)))
            case PersonJoin():
                self._read(relation.left)
                self._read(relation.right)
                self._own += sum(map(self._length, sides_of(relation.pairs)))
            case PerPerson():
                self._read(relation.source)
                for key, expression in relation.keys:
                    self._own += self._name(key, [expression])
                for value in relation.values:
                    of_value = [e for e in (value.argument, value.condition) if e is not None]
                    self._own += self._name(value.field, of_value)
            case UnionAll():
                for branch in relation.branches:
                    self._read(branch.source)
                for i, column in enumerate(relation.fields):
                    self._name(column, [branch.columns[i] for branch in relation.branches])
            case Scan() | FollowKey():
                pass

    def _name(self, column: Field, meanings: Iterable[Expression]) -> int:
        """A column that is computed from all of these, as a union or an aggregate is."""
        self._columns[column.name] = length = sum(map(self._length, meanings))
        return length


def _names_columns(relation: Relation) -> bool:
    match relation:
        case Scan() | FollowKey():
            return False
        case PerPerson() | UnionAll():
            return True
        case PersonJoin():
            return _names_columns(relation.left) or _names_columns(relation.right)
        case FewRows() | Filter() | Lookup():
            return _names_columns(relation.source)
