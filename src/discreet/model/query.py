"""What was asked: a relation whose rows belong to people, and what is to be released of it.

Query
├── source: Relation      Scan | FollowKey | Filter | Lookup | FewRows | PersonJoin | PerPerson | UnionAll
├── keys, sets            what rows are grouped by, and who knows the values
├── measures              aggregates over each group: the only things that meet noise
├── picks                 or, instead of measures, which groups are the largest
└── outputs, having, order, limit     computed from noisy measures alone: free

Every row of a relation belongs to one person, and what rows a person has in it depends on that person's own
rows alone. So a person who comes or goes takes exactly their rows along, whatever the tree; all that is left
to bound is how much the rows of one person count, and that is done once, at the top (`bounds.bound`).
"""

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import prod
from typing import TypeAlias

from discreet.model.expression import Expression, Field
from discreet.model.person_value import PersonValue
from discreet.model.policy import EachRow, KeyValue, PrivateTable, PublicTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """All rows of a private table. Its fields are named alias.column."""

    table: PrivateTable
    alias: str

    @property
    def max_rows(self) -> int:
        """The rows of a person that count fully."""
        return 1 if self.one_row_a_person else self.table.max_rows

    @property
    def max_groups(self) -> int:
        """The groups that a person counts fully in, where people are counted."""
        return 1 if self.one_row_a_person else self.table.max_groups

    @property
    def one_row_a_person(self) -> bool:
        """Whether no person can have two rows, so that none has to be weighed down."""
        return self.table.one_row_a_person

    @property
    def has_ids(self) -> bool:
        """Whether rows have a person's id; if not, each row is another person."""
        return not isinstance(self.table.person, EachRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowKey:
    """Each row of a table with the columns of the row that says whose it is: its key is followed.

    Of the rows of one person with the same key, one is taken, by these rows alone. So each row of the child
    is there at most once for each person whom it belongs to. A person who comes or goes takes exactly their
    rows along, at most as many as they have in the child. No key has to be unique for that.
    """

    child: Scan
    """Of a table with `through`."""
    parent: "Scan | FollowKey"
    """Of the table that its `through` names; with the row that says whose that one is, and so on."""

    @property
    def scans(self) -> tuple[Scan, ...]:
        """All tables, from the one whose rows these are to the one that says whose they are."""
        parent = self.parent
        return (self.child, *(parent.scans if isinstance(parent, FollowKey) else (parent,)))

    @property
    def max_rows(self) -> int:
        return self.child.max_rows

    @property
    def max_groups(self) -> int:
        return max(scan.max_groups for scan in self.scans)

    @property
    def one_row_a_person(self) -> bool:
        return self.child.one_row_a_person

    @property
    def has_ids(self) -> bool:
        return self.child.has_ids


class _OfItsSource:
    """Rows of which a person has as many as count in the source, however many there are."""

    __slots__ = ()
    source: "Relation"

    @property
    def max_rows(self) -> int:
        return self.source.max_rows

    @property
    def max_groups(self) -> int:
        return self.source.max_groups

    @property
    def one_row_a_person(self) -> bool:
        return self.source.one_row_a_person

    @property
    def has_ids(self) -> bool:
        return self.source.has_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(_OfItsSource):
    """The rows on which the predicate is true."""

    source: "Relation"
    predicate: Expression


Pair: TypeAlias = tuple[Expression, Expression]
"""What has to be equal in a join: an expression of the left, and one of the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup(_OfItsSource):
    """Each row with the rows of a public table that match it."""

    source: "Relation"
    table: PublicTable
    alias: str
    pairs: tuple[Pair, ...]
    matches: int
    """The most rows of the public table that share one join key. It was read from the table. A key that more
    rows share by the time that the question runs matches nothing."""
    keep_unmatched: bool
    """LEFT JOIN: a row without a match stays, with NULLs."""
    table_rows: int = field(default=0, repr=False)
    """How many rows the public table had when this was planned. It limits work, and identifies nothing."""

    @property
    def one_row_a_person(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRows(_OfItsSource):
    """The rows of people who have at most so many. People with more are left out, with all their rows."""

    source: "Relation"
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonJoin:
    """Each row with the other rows of the same person that match it."""

    left: "Relation"
    right: "Relation"
    pairs: tuple[Pair, ...]
    keep_unmatched: bool

    @property
    def max_rows(self) -> int:
        """All pairs, unless a row can meet one only, or should: the key of an owner. Weights bound it."""
        return _rows_of_owned(self) or self.left.max_rows * (1 if self.meets_one else self.right.max_rows)

    @property
    def meets_one(self) -> bool:
        """Whether a row meets at most one of the right: of each person and key, there is one."""
        right = self.right
        while isinstance(right, Filter | FewRows):
            right = right.source
        compared = {other for _, other in self.pairs}
        return isinstance(right, PerPerson) and compared.issuperset(key for key, _ in right.keys)

    @property
    def max_groups(self) -> int:
        return max(self.left.max_groups, self.right.max_groups)

    @property
    def one_row_a_person(self) -> bool:
        return self.left.one_row_a_person and self.right.one_row_a_person

    @property
    def has_ids(self) -> bool:
        return True


def _rows_of_owned(join: PersonJoin) -> int | None:
    """The rows of a join on the key by which one table says whose the rows of the other are."""
    for one, other in join.pairs:
        names = [each.name if isinstance(each, Field) else "" for each in (one, other)]
        sides = (join.left, names[0]), (join.right, names[1])
        for (side, mine), (owned, theirs) in (sides, sides[::-1]):
            owner, table = _scan_of(side, mine), _scan_of(owned, theirs)
            way = table.table.through if owner and table else None
            if not (owner and table and way) or way.table != owner.table.name:
                continue
            if (mine, theirs) == (f"{owner.alias}.{way.other}", f"{table.alias}.{way.key}"):
                return owned.max_rows * max(1, side.max_rows // owner.max_rows)
    return None


def _scan_of(relation: "Relation", name: str) -> Scan | None:
    match relation:
        case Scan():
            return relation if name.startswith(f"{relation.alias}.") else None
        case FollowKey():
            return next((scan for scan in relation.scans if _scan_of(scan, name)), None)
        case Filter() | FewRows() | Lookup():
            return _scan_of(relation.source, name)
        case PersonJoin():
            return _scan_of(relation.left, name) or _scan_of(relation.right, name)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerPerson:
    """One row for each person, or for each person and key."""

    source: "Relation"
    person: Field
    """The person's id, as a field of the relation above."""
    keys: tuple[tuple[Field, Expression], ...]
    values: tuple[PersonValue, ...]

    @property
    def max_rows(self) -> int:
        return self.source.max_groups if self.keys else 1

    @property
    def max_groups(self) -> int:
        return self.max_rows

    @property
    def one_row_a_person(self) -> bool:
        return not self.keys

    @property
    def has_ids(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One part of a UNION ALL: what it has for each column of the whole."""

    source: "Relation"
    columns: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionAll:
    """The rows of several relations about the same people."""

    branches: tuple[Branch, ...]
    fields: tuple[Field, ...]

    @property
    def max_rows(self) -> int:
        return sum(branch.source.max_rows for branch in self.branches)

    @property
    def max_groups(self) -> int:
        return sum(branch.source.max_groups for branch in self.branches)

    @property
    def one_row_a_person(self) -> bool:
        return False

    @property
    def has_ids(self) -> bool:
        return True


Relation: TypeAlias = Scan | FollowKey | Filter | Lookup | FewRows | PersonJoin | PerPerson | UnionAll


GroupingSets: TypeAlias = tuple[tuple[int, ...], ...]
"""The positions of the keys of each set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """What rows are grouped by."""

    name: str
    expression: Expression
    values: tuple[KeyValue | None, ...] | None
    """All values, if they are public: each has a row in the answer, empty or not. None: private keys."""
    per_one: int = field(default=0, repr=False)
    """Of numbers with a declared unit, which are grouped as whole numbers of it: how many make 1."""
    total: bool = False
    """Whether every row has one of the values, whatever it holds: then rows need not be checked."""
    listed: str = field(default="WHERE … IN (…)", repr=False, compare=False)
    """How a question lists the values."""


class Aggregate(Enum):
    """What is released of a group."""

    COUNT = "count"
    """Rows on which the argument is not NULL; without an argument, all rows."""
    PEOPLE = "people"
    """People with at least one row."""
    DISTINCT = "count_distinct"
    """Different values of the argument."""
    SUM = "sum"
    AVERAGE = "avg"
    VARIANCE = "variance"
    QUANTILE = "quantile"
    COVARIANCE = "covar_pop"
    CORRELATION = "corr"
    SLOPE = "regr_slope"
    INTERCEPT = "regr_intercept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One aggregate over the rows of each group."""

    name: str
    aggregate: Aggregate
    argument: Expression | None
    condition: Expression | None
    """FILTER (WHERE …): rows on which it is not true do not count."""
    share: Fraction | None = None
    """Of a quantile: the share of rows at or below it."""
    second: Expression | None = field(default=None, repr=False)
    """The other number, of what is computed from two."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that is computed from a row for it."""
        return tuple(each for each in (self.argument, self.second, self.condition) if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """Top-k: which groups have the most, or the fewest, and not how many: ORDER BY count(*) DESC LIMIT k."""

    count: int
    aggregate: Aggregate
    """COUNT or PEOPLE: what is compared."""
    condition: Expression | None
    largest: bool


def key_field(position: int) -> str:
    """How an output names a key, whatever the question calls it."""
    return f"k{position}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of the answer: a key, a measure, or arithmetic over measures and constants."""

    name: str
    expression: Expression
    """Its fields are `key_field(0)`, … for keys, and the names of measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question."""

    source: Relation
    keys: tuple[GroupKey, ...]
    sets: tuple[tuple[int, ...], ...]
    """GROUPING SETS: the positions of the keys of each; one with all keys if there is a plain GROUP BY."""
    measures: tuple[Measure, ...]
    picks: Picks | None
    outputs: tuple[Output, ...]
    having: Expression | None
    order: tuple[Order, ...]
    limit: int | None
    min_people: int = field(default=0, repr=False)
    """Groups with fewer people, as far as noise tells, show no number. It sees noisy values only, and so is
    no part of what a question is known by.
    """

    @property
    def private_keys(self) -> bool:
        """Whether some values of the keys are not public, so that it is private which of them occur."""
        return any(key.values is None for key in self.keys)


def group_count(query: Query) -> int:
    """How many groups an answer with public keys has."""
    return sum(prod(len(query.keys[i].values or ()) for i in chosen) for chosen in query.sets)
