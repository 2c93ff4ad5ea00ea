"""The rows of a relation as SQL: the person as p, and the fields that are used, by their names.

Every name in it is ours or comes from the policy; every expression is written by `functions.registry`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from discreet.dialects.dialect import Dialect
from discreet.functions.logic import compares_values
from discreet.functions.registry import emit, emit_steps
from discreet.functions.row_cost import steps_in
from discreet.functions.texts import LONGEST_GROWN_TEXT
from discreet.model.expression import Expression, Field, conditions_in, fields_of, title
from discreet.model.person_value import PersonAggregate, PersonValue
from discreet.model.policy import Column, Person, PersonColumn, ValueType
from discreet.model.query import (
    Branch,
    FewRows,
    Filter,
    FollowKey,
    Lookup,
    Pair,
    PerPerson,
    PersonJoin,
    Relation,
    Scan,
    UnionAll,
)
from discreet.sql.fields import collect_fields, names_of
from discreet.sql.joins import JoinTree, joins_people, required, sides
from discreet.sql.key_codes import KeyCode
from discreet.sql.person_through import (
    OWNER_KEY,
    known_after_join,
    of_join,
    one_row_each,
    rows_with_owners,
    rows_with_people,
    scans_that_differ,
)

_NONE, _HALF = Fraction(0), Fraction(1, 2)
_SLOW_FILTER = 100
"""In steps. A filter that takes more on a row is computed apart from reading the row."""
_PAIR = 2
_ANY = 2**40
"""More rows than anybody has."""
_LARGEST = 2**53
"""No value is more steps of its grid than this away from zero."""


def relation_sql(
    relation: Relation,
    tables: Mapping[str, str],
    used: Iterable[Expression],
    dialect: Dialect,
    *,
    persons: bool,
    brought: Collection[KeyCode] = (),
) -> str:
    """One SELECT; `tables` says what stands after FROM for each table, `used` what is computed from the rows.

    `persons` is whether people have to be told apart: rows are numbered only then. `brought` come as codes.
    """
    names = {field.name for expression in used for field in fields_of(expression)}
    collect_fields(relation, names)
    return _RelationWriter(tables, names, dialect, persons=persons, brought=brought).sql(relation)


def fan_out_sql(shared: Iterable[Expression], relation: str, dialect: Dialect) -> str:
    """How many rows of a public table share one value of these expressions, at most, as n; all rows as m.

    They are grouped as `Lookup` counts and joins them. NULL equals nothing, so that it meets nobody.
    """
    expressions = list(shared)
    names = dict.fromkeys(field.name for each in expressions for field in fields_of(each))
    columns = [f"{dialect.identifier(title(name))} AS {dialect.identifier(name)}" for name in names]
    values = [f"{emit(each, dialect)} AS v{i}" for i, each in enumerate(expressions)]
    keys = [f"v{i}" for i in range(len(values))]
    public = f"SELECT {', '.join(columns)} FROM {relation}"
    computed = f"SELECT {', '.join(values)} FROM ({public}) AS public"
    known = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    grouped = ", ".join(keys)
    counted = f"SELECT {grouped}, count(*) AS c FROM ({computed}) AS computed GROUP BY {grouped}"
    met = f"SELECT c, CASE WHEN {known} THEN c ELSE 0 END AS met FROM ({counted}) AS counted"
    most, total = "coalesce(max(met), 0)", f"coalesce({dialect.total('c', _LARGEST)}, 0)"
    return f"SELECT {most} AS n, {total} AS m FROM ({met}) AS met_by"


def condition_sql(condition: str, meaning: Expression, dialect: Dialect) -> str:
    """Whether a condition is true, in WHERE."""
    return dialect.holds_apart(condition) if compares_values(meaning) else f"({condition}) IS TRUE"


def clamped(number: str, low: int, high: int) -> str:
    """A whole number in low … high; NULL stays NULL."""
    inside = f"CASE WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} ELSE {number} END"
    return f"CAST({inside} AS BIGINT)"


class _RelationWriter:
    def __init__(
        self,
        tables: Mapping[str, str],
        used: set[str],
        dialect: Dialect,
        *,
        persons: bool,
        brought: Collection[KeyCode],
    ) -> None:
        self._tables = tables
        self._used = used
        self._dialect = dialect
        self._name = dialect.identifier
        self._persons = persons
        self._brought = brought
        self._sides = 0
        self._tree: JoinTree | None = None

    def sql(self, relation: Relation) -> str:
        match relation:
            case Scan():
                return self._scan(relation)
            case FollowKey():
                return self._follow_key(relation)
            case Filter():
                return f"SELECT * FROM ({self.sql(relation.source)}) AS f WHERE {self._where(relation)}"
            case Lookup():
                return self._lookup(relation)
            case FewRows():
                return self._few_rows(relation)
            case PersonJoin():
                return self._person_join(relation)
            case PerPerson():
                return self._per_person(relation)
            case UnionAll():
                return " UNION ALL ".join(
                    self._branch(branch, relation.fields) for branch in relation.branches
                )

    def _where(self, relation: Filter) -> str:
        """Each condition by itself, so that one about a side of a join can be computed before it."""
        written = []
        for each in conditions_in(relation.predicate):
            condition = self._emit(each)
            if steps_in([each], LONGEST_GROWN_TEXT) > _SLOW_FILTER:
                condition = self._dialect.after_reading(condition, "p")
            written.append(condition_sql(condition, each, self._dialect))
        return " AND ".join(written)

    def _scan(
        self, scan: Scan, brought: Sequence[str] = (), source: str | None = None, *, last: bool = True
    ) -> str:
        """With further columns of the source, which is the table with its people, after its `last` join."""
        waits = self._waiting(scan) if last else set()
        source = source or rows_with_people(scan.table, self._tables, self._dialect, after_join=bool(waits))
        person = scan.table.person
        if isinstance(person, PersonColumn):
            who = self._name(person.name)
        else:
            who = self._dialect.row_ids() if self._persons else "NULL"
        one = scan.table.per_person
        of_rows = {name: column for name, column in scan.table.columns.items() if name not in one}
        columns = [*self._columns(scan.alias, of_rows, person, waits), *self._per_person_columns(scan, who)]
        columns += [each.sql(self._dialect, of_table=True) for each in self._codes_of(scan)]
        rows = f"SELECT {', '.join([f'{who} AS p', *columns, *brought])} FROM {source}"
        # A UNIQUE column of SQL may hold any number of NULLs: nobody vouched that those are one row.
        return f"{rows} WHERE {who} IS NOT NULL" if scan.table.unique and scan.has_ids else rows

    def _follow_key(self, follow: FollowKey, brought: Sequence[str] = ()) -> str:
        """The scan of a table. The join that finds its people brings the columns of their rows along."""
        child, parent = follow.child, follow.parent
        through = child.table.through
        if through is None:
            raise TypeError("A table whose people another one knows is expected here.")
        key = [f"{self._name(through.other)} AS {OWNER_KEY}"]
        if isinstance(parent, FollowKey):
            owners = self._follow_key(parent, key)
        else:
            owners = self._scan(parent, key, last=False)
        columns = [self._name(field.name) for scan in follow.scans[1:] for field in self._fields_of(scan)]
        differ = [field for scan in scans_that_differ(follow) for field in self._fields_of(scan)]
        owners = one_row_each(owners, columns, [self._emit(field) for field in differ])
        waits = not brought and bool(columns or self._waiting(child))
        rows = rows_with_owners(
            child.table, through, owners, columns, self._tables, self._dialect, after_join=waits
        )
        return self._scan(child, [*brought, *columns], rows, last=not brought)

    def _waiting(self, scan: Scan) -> set[str]:
        """What the join with the people is on, where a question asks for it."""
        return {each for each in of_join(scan.table) if f"{scan.alias}.{each}" in self._used}

    def _fields_of(self, scan: Scan) -> list[Field]:
        """The fields that are used of a table, as plain as they are stored, and codes of its keys."""
        types = {f"{scan.alias}.{name}": column.type for name, column in scan.table.columns.items()}
        used = [Field(name=name, type=kind) for name, kind in types.items() if name in self._used]
        return [*used, *(each.field for each in self._codes_of(scan))]

    def _codes_of(self, scan: Scan) -> list[KeyCode]:
        return [code for code in self._brought if code.brought_by == scan.alias]

    def _per_person_columns(self, scan: Scan, who: str) -> list[str]:
        """What a person has one of: in all of their rows the smallest value that they have in the table.

        So a person is in one group of it, whatever the rows hold. All rows without an id are one person.
        """
        used = [name for name in scan.table.columns if f"{scan.alias}.{name}" in self._used]
        values = {name: scan.table.columns[name].type for name in used if name in scan.table.per_person}
        return [
            f"{self._dialect.smallest(self._emit(Field(name=name, type=kind)), kind)}"
            f" OVER (PARTITION BY {who}) AS {self._name(f'{scan.alias}.{name}')}"
            for name, kind in values.items()
        ]

    def _columns(
        self,
        alias: str,
        columns: Mapping[str, Column],
        person: Person | None = None,
        waits: Collection[str] = (),
    ) -> list[str]:
        return [
            f"{self._value(column, person, waits=name in waits)} AS {self._name(f'{alias}.{name}')}"
            for name, column in columns.items()
            if f"{alias}.{name}" in self._used
        ]

    def _value(self, column: Column, person: Person | None, *, waits: bool) -> str:
        read = self._name(column.name)
        if person == PersonColumn(name=column.name):
            read = self._id(read, column.type)
        return known_after_join(read, self._dialect) if waits else read

    def _id(self, who: str, kind: ValueType) -> str:
        """An id as a value to compute with. As p, which tells people apart, it keeps its full width."""
        return self._dialect.id_as_integer(who) if kind is ValueType.INTEGER else who

    def _lookup(self, lookup: Lookup) -> str:
        """Rows that share a key are counted again: the table may have changed since the plan was made."""
        columns = self._columns(lookup.alias, lookup.table.columns)
        public = f"SELECT {', '.join(columns)} FROM {self._tables[lookup.table.name]}"
        lefts, rights = self._compared(lookup.pairs)
        public = _with_columns(public, rights)
        shared = ", ".join(f"r{i}" for i in range(len(rights)))
        public = self._at_most(lookup.matches, public, shared)
        source = _with_columns(self.sql(lookup.source), lefts)
        return (
            f"SELECT {', '.join(['p', *self._fields(lookup)])} FROM ({source}) AS l"
            f" {'LEFT ' if lookup.keep_unmatched else ''}JOIN ({public}) AS r ON {_equal(lookup.pairs)}"
        )

    def _few_rows(self, few: FewRows, columns: Sequence[str] = ()) -> str:
        """People with too many rows are dropped first. No optimiser may do a join above this before it.

        So the rows that are left are materialised, or come out of a window. All rows without an id are one
        person. `columns` are computed from the rows.
        """
        source = self.sql(few.source)
        if self._dialect.cuts_in_windows:
            return self._at_most(few.rows, _with_columns(source, columns), "p")
        number = self._new_side()
        side, rest = f"side{number}", f"few{number}"
        again = self._dialect.kept(once=not _is_read_fast(few.source))
        heavy = f"SELECT p AS h, TRUE AS is_heavy FROM {side} GROUP BY p HAVING count(*) > {few.rows}"
        return (
            f"WITH {side} AS {again}({source}), {rest} AS {self._dialect.kept(once=True)}"
            f"(SELECT {', '.join([f'{self._dialect.join_hint}{side}.*', *columns])} FROM {side}"
            f" LEFT JOIN ({heavy}) AS heavy ON {self._dialect.same_person(f'{side}.p', 'heavy.h')}"
            " WHERE heavy.is_heavy IS NULL)"
            f" SELECT * FROM {rest}"
        )

    def _at_most(self, most: int, rows: str, shared: str) -> str:
        """The rows whose `shared` columns have the same values in at most `most` rows."""
        window = f"OVER (PARTITION BY {shared})"
        columns, few = [f"count(*) {window} AS n"], f"n <= {most}"
        if self._dialect.streams:
            # A count alone may be computed by a join, through which rows stream, or do not. Numbered rows are
            # all read. To sort them is still skipped if what they are joined with is empty.
            columns.append(f"row_number() {window} AS place")
            few += f" AND place <= {most}"
        return f"SELECT * FROM ({_with_columns(rows, columns)}) AS counted WHERE {few}"

    def _person_join(self, join: PersonJoin) -> str:
        """What is compared is a column of its side. Of several sides, only people who are in all of them are
        joined. So nothing that is computed for others depends on whether one side has a row.
        """
        if self._tree is None and self._dialect.kept(once=True) and len(sides(join)) > _PAIR:
            self._tree = tree = JoinTree(required=required(join))
            sql = self._person_join(join)
            self._tree = None
            return f"WITH {', '.join(tree.definitions(self._dialect.kept(once=True)))} {sql}"
        lefts, rights = self._compared(join.pairs)
        left, right = self._side(join.left, lefts), self._side(join.right, rights)
        on = " AND ".join(["l.p = r.p", *([_equal(join.pairs)] if join.pairs else [])])
        return (
            f"SELECT {', '.join(['l.p AS p', *self._fields(join)])} FROM ({left}) AS l"
            f" {'LEFT ' if join.keep_unmatched else ''}JOIN ({right}) AS r ON {on}"
        )

    def _side(self, side: Relation, columns: Sequence[str]) -> str:
        """A side of a join on the person, and what is computed from it to be compared."""
        if joins_people(side):
            return _with_columns(self.sql(side), columns)
        tree, self._tree = self._tree, None  # a subquery may have joins of its own
        if isinstance(side, FewRows):
            rows = self._few_rows(side, columns)
        else:
            rows = _with_columns(self.sql(side), columns)
            grouped = isinstance(side, PerPerson) and not columns
            if self._dialect.streams and not grouped:
                rows = self._at_most(_ANY, rows, "p")
        self._tree = tree
        return rows if tree is None else tree.side(side, rows, self._new_side())

    def _new_side(self) -> int:
        self._sides += 1
        return self._sides

    def _compared(self, pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        """The expressions of the left and of the right that have to be equal, as columns."""
        lefts = [f"{self._emit(left)} AS l{i}" for i, (left, _) in enumerate(pairs)]
        return lefts, [f"{self._emit(right)} AS r{i}" for i, (_, right) in enumerate(pairs)]

    def _fields(self, relation: Relation) -> list[str]:
        return [self._name(name) for name in names_of(relation) if name in self._used]

    def _branch(self, branch: Branch, fields: Iterable[Field]) -> str:
        columns = [
            f"{self._emit(expression)} AS {self._name(field.name)}"
            for expression, field in zip(branch.columns, fields, strict=True)
            if field.name in self._used
        ]
        return f"SELECT {', '.join(['p', *columns])} FROM ({self.sql(branch.source)}) AS u"

    def _per_person(self, relation: PerPerson) -> str:
        """Keys and arguments are computed first, so that what is grouped by is a column."""
        keys = [
            f"{self._emit(expression)} AS {self._name(field.name)}" for field, expression in relation.keys
        ]
        arguments = [f"{self._argument(value)} AS a{i}" for i, value in enumerate(relation.values)]
        rows = f"SELECT {', '.join(['p', *keys, *arguments])} FROM ({self.sql(relation.source)}) AS g"
        names = [self._name(field.name) for field, _ in relation.keys]
        values = [
            f"{self._aggregate(value, f'a{i}')} AS {self._name(value.field.name)}"
            for i, value in enumerate(relation.values)
        ]
        person = f"{self._id('p', relation.person.type)} AS {self._name(relation.person.name)}"
        return (
            f"SELECT {', '.join(['p', person, *names, *values])} FROM ({rows}) AS h"
            f" GROUP BY {', '.join(['p', *names])}"
        )

    def _emit(self, expression: Expression) -> str:
        return emit(expression, self._dialect)

    def _argument(self, value: PersonValue) -> str:
        """What is aggregated, NULL where a row does not count; sums of whole steps of the grid."""
        if value.argument is None:
            sql = "1"
        elif value.aggregate in (PersonAggregate.SUM, PersonAggregate.AVERAGE):
            steps = emit_steps(value.argument, self._dialect, offset=_NONE, grid=value.grid, half=_HALF)
            sql = f"CAST({steps} AS BIGINT)"
        else:
            sql = self._emit(value.argument)
        if value.condition is None:
            return sql
        return f"CASE WHEN ({self._emit(value.condition)}) IS TRUE THEN {sql} END"

    def _aggregate(self, value: PersonValue, column: str) -> str:
        number, grid = self._dialect.types[ValueType.NUMBER], self._dialect.grid(float(value.grid))
        match value.aggregate:
            case PersonAggregate.COUNT:
                return f"count({column})"
            case PersonAggregate.DISTINCT:
                return f"count(DISTINCT {column})"
            case PersonAggregate.MIN:
                return self._dialect.smallest(column, value.field.type)
            case PersonAggregate.MAX:
                return self._dialect.largest(column, value.field.type)
            case PersonAggregate.SUM:
                return f"CAST({self._dialect.total(column, _LARGEST)} AS {number}) * {grid}"
            case PersonAggregate.AVERAGE:
                total = f"CAST({self._dialect.total(column, _LARGEST)} AS {number})"
                return f"{total} * {grid} / count({column})"


def _with_columns(rows: str, columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(['*', *columns])} FROM ({rows}) AS met" if columns else rows


def _equal(pairs: Sequence[Pair]) -> str:
    return " AND ".join(f"l.l{i} = r.r{i}" for i in range(len(pairs)))


def _is_read_fast(relation: Relation) -> bool:
    """Whether it is just rows of a table, which are faster to read twice than to keep."""
    return isinstance(relation, Scan) or (isinstance(relation, Filter) and _is_read_fast(relation.source))
