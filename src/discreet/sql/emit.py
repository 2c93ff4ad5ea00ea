"""Stage 5: the SQL that yields exact integers, written anew from our own tree.

    WITH rows AS (SELECT p, keys, integers FROM the relation WHERE the keys are known),
         heavy AS (SELECT p, weight(n) AS w FROM rows GROUP BY p HAVING n > L)
    SELECT keys, sum(coalesce(w, whole) · integer), … FROM rows LEFT JOIN heavy … GROUP BY keys

n is the number of a person's rows (ℓ₁), or the sum of the squares of their counts over groups (ℓ₂). A
relation with one row a person needs no weights. NULL persons are one person. The sums of a grouping set come
from one statement, however many ways of weighing there are in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from discreet.aggregates.vectors import (
    DistinctCount,
    Histogram,
    LeftOut,
    Scores,
    WeightedSum,
    known,
)
from discreet.aggregates.weights import Unit, Weight
from discreet.bounds.bound import left_out_of
from discreet.bounds.relation_tree import reads_by_key
from discreet.dialects.dialect import Dialect
from discreet.dialects.parameters import Parameters
from discreet.functions.registry import emit
from discreet.model.expression import Expression, Field
from discreet.model.policy import ValueType
from discreet.sql.added_values import AddedValues
from discreet.sql.distinct import distinct_sql, own_columns, own_fields
from discreet.sql.key_codes import key_codes
from discreet.sql.relation import condition_sql, relation_sql
from discreet.sql.row_columns import (
    EmittedColumn,
    beyond_columns,
    known_key,
    leaf_column,
    used_by,
)
from discreet.sql.side_by_side import Piece, side_by_side
from discreet.sql.spelled_out import SpelledOut
from discreet.sql.statement import Planned, Statement, check_written_size
from discreet.sql.weights import (
    CountedPeople,
    by_squares,
    group_by,
    people_by_loss,
    people_sql,
    unweighed,
    weighed,
    weighed_by_pairs,
    weighed_by_person,
    weighted_total,
)


def emit_sql(plan: Planned, tables: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
    """The statements whose results are the exact vectors of the plan.

    `tables` says what stands after FROM for each table of the policy.
    """
    parameters = Parameters()
    binding = dialect.binding(parameters)
    statements = _StatementWriter(plan, tables, binding).statements()
    several = dialect.slices > 1 and _adds_up_over_people(plan)
    slices = range(dialect.slices) if several else ()
    cut = [_StatementWriter(plan, tables, binding, slice_=i).statements() for i in slices]
    return tuple(
        replace(whole, slices=tuple(each.sql for each in same), parameters=parameters.values)
        for whole, *same in zip(statements, *cut, strict=True)
    )


def _adds_up_over_people(plan: Planned) -> bool:
    """Whether the vectors are sums over people who can be told apart, in groups that are known."""
    query, parts = plan.bounded.query, plan.bounded.parts
    several = query.source.has_ids and not query.source.one_row_a_person
    return several and not query.private_keys and not any(isinstance(part, DistinctCount) for part in parts)


def emit_public_keys(relation: str, column: str, kind: ValueType, most: int, dialect: Dialect) -> str:
    """The different values of a column of a public table as v: one more than `most` if there are more."""
    value = emit(Field(name=column, type=kind), dialect)
    return (
        f"SELECT DISTINCT v FROM (SELECT {value} AS v FROM {relation}) AS public"
        f" WHERE v IS NOT NULL ORDER BY v LIMIT {most + 1}"
    )


class _StatementWriter:
    def __init__(
        self, plan: Planned, tables: Mapping[str, str], dialect: Dialect, *, slice_: int | None = None
    ) -> None:
        """With `slice_`, for the people of that slice."""
        self._slice, self._parts = slice_, plan.bounded.parts
        self._query = query = plan.bounded.query
        self._tables, self._dialect = tables, dialect
        self._by_pairs = dialect.sums_pairs and not query.private_keys and reads_by_key(query.source)
        self._written = 0
        """Characters, so that one that gets too long is not written to its end."""
        self._spelled_out = SpelledOut(self._query.source, dialect)
        self._codes = key_codes(query, dialect)
        self._counted: set[int] = set()
        """Parts that are `LeftOut` and are counted in the same pass as something else."""

    def statements(self) -> list[Statement]:
        found = [each for number in range(len(self._query.sets)) for each in self.of_set(number)]
        first, *others = [*found, *self._of_people()]
        return [replace(first, spelled_out=self._spelled_out.length), *others]

    def _of_people(self) -> list[Statement]:
        """One for each vector of what is left out that no other statement has."""
        return [
            Statement(
                sql=self._left_out(self._query.sets[self._finest], part, i),
                grouping_set=self._finest,
                keys=(),
                parts=(),
                by_leaf=True,
                left_out=i,
            )
            for i, part in enumerate(self._parts)
            if isinstance(part, LeftOut) and i not in self._counted
        ]

    @property
    def _finest(self) -> int:
        """The grouping set with all groups: what is left out is of people in those."""
        sets = self._query.sets
        return max(range(len(sets)), key=lambda number: len(sets[number]))

    def _counts_people(self, number: int, vector: WeightedSum | Histogram) -> CountedPeople | None:
        """What is left out by the weights of a vector, if it can be counted in the same pass, and was not."""
        wanted = left_out_of(vector) if number == self._finest else None
        if wanted is not None and wanted.only_clamps and self._dialect.weighs_in_windows:
            return None
        found = [i for i, part in enumerate(self._parts) if part == wanted and i not in self._counted]
        if not found:
            return None
        (index,) = found
        part = known(LeftOut, self._parts[index])
        self._counted.add(index)
        columns = beyond_columns(part, self._dialect)
        rows, keys = "", self._query.sets[number]
        once = self._reads_once(part.weight) or (isinstance(vector, WeightedSum) and self._by_person(keys))
        if columns and not self._dialect.weighs_in_windows and not once:
            keys = keys if by_squares(part.weight) else ()
            rows = f"({self._keyed_rows(keys, columns, used_by(part))}) AS read"
        return CountedPeople(part=part, index=index, beyond=[name for name, *_ in columns], rows=rows)

    def _reads_once(self, weight: Weight | None) -> bool:
        """Whether a second reading could tell other people apart, or nobody needs one."""
        return self._by_pairs or weight in (None, Weight.one(Unit.ROWS)) or not self._query.source.has_ids

    def _by_person(self, keys: Sequence[int]) -> bool:
        """Whether rows are added up by person, with what is left out. Where people have few rows, a second
        reading is faster than to keep several sums of each person, or any without what is left out.
        """
        sums = [each for each in self._parts if isinstance(each, WeightedSum) and each.unit is Unit.ROWS]
        return self._dialect.sums_pairs and not keys and len(sums) == 1 and not by_squares(sums[0].weighing)

    def of_set(self, number: int) -> list[Statement]:
        """The sums of one grouping set in one statement, and one more for each histogram."""
        keys = self._query.sets[number]
        statements = []
        rows = self._over_rows(number)
        pieces = [*rows, *self._over_people(number, alone=not any(lost is not None for *_, lost in rows))]
        if pieces:
            wanted = tuple(sorted(i for _, chosen, _ in pieces for i in chosen))
            lost = [i for *_, i in pieces if i is not None]
            sql = side_by_side(pieces, len(keys))
            statements.append(self._statement(sql, number, wanted, left_out=lost[0] if lost else None))
        for i, part in enumerate(self._parts):
            if isinstance(part, Histogram):
                counted = self._counts_people(number, part)
                sql = self._bins(keys, part, i, counted)
                index = None if counted is None else counted.index
                statements.append(self._statement(sql, number, (i,), by_leaf=True, left_out=index))
        return statements

    def _over_rows(self, number: int) -> list[Piece]:
        """One piece for each way of weighing rows."""
        weights = {
            i: part.weight
            for i, part in enumerate(self._parts)
            if isinstance(part, WeightedSum) and part.unit is Unit.ROWS
        }
        pieces: list[Piece] = []
        for weight in dict.fromkeys(weights.values()):
            chosen = tuple(i for i, each in weights.items() if each == weight)
            first = known(WeightedSum, self._parts[chosen[0]])
            counted = None if pieces else self._counts_people(number, first)
            sql = self._rows(self._query.sets[number], weight, chosen, counted)
            pieces.append((sql, chosen, None if counted is None else counted.index))
        return pieces

    def _over_people(self, number: int, *, alone: bool) -> list[Piece]:
        """If `alone`, the first of them also counts the people of whom something is left out."""
        keys = self._query.sets[number]
        pieces: list[Piece] = []
        for i, part in enumerate(self._parts):
            match part:
                case WeightedSum(unit=Unit.PEOPLE):
                    counted = self._counts_people(number, part) if alone and keys and not pieces else None
                    sql = self._people(keys, part, i, counted)
                    pieces.append((sql, (i,), None if counted is None else counted.index))
                case DistinctCount():
                    pieces.append((self._distinct(keys, part, i), (i,), None))
                case Scores():
                    pieces.append((self._scores(keys, part, i), (i,), None))
        return pieces

    def _statement(
        self,
        sql: str,
        number: int,
        parts: tuple[int, ...],
        *,
        by_leaf: bool = False,
        left_out: int | None = None,
    ) -> Statement:
        return Statement(
            sql=sql,
            grouping_set=number,
            keys=self._query.sets[number],
            coded=frozenset(self._codes),
            parts=parts,
            by_leaf=by_leaf,
            left_out=left_out,
        )

    # Sums over rows

    def _rows(
        self,
        keys: Sequence[int],
        weight: Weight | None,
        chosen: Sequence[int],
        lost: CountedPeople | None,
    ) -> str:
        parts = [(i, part) for i in chosen if isinstance(part := self._parts[i], WeightedSum)]
        values = AddedValues(parts, self._dialect)
        columns, used = values.columns(), values.used()
        if lost is not None and not lost.rows:
            columns += beyond_columns(lost.part, self._dialect)
            used += used_by(lost.part)
        rows = self._keyed_rows(keys, columns, used)
        names = _names(keys)
        totals = [f"{values.total(i, part, weight)} AS s{i}" for i, part in parts]
        if weight is None:
            rows = self._dialect.computed_once(rows) if values.families else rows
            return unweighed(rows, names, totals, self._dialect, lost)
        sums = [(f"s{i}", values.added(i, part), part.largest) for i, part in parts]
        if lost is not None and self._by_person(keys):
            return weighed_by_person(rows, weight, sums, self._dialect, lost)
        if self._by_pairs:
            return weighed_by_pairs(rows, weight, names, sums, self._dialect, lost)
        once = not self._query.source.has_ids
        return weighed(rows, weight, names, totals, self._dialect, once=once, lost=lost)

    def _bins(self, keys: Sequence[int], part: Histogram, index: int, lost: CountedPeople | None) -> str:
        used = [e for e in (part.value, part.condition) if e is not None]
        columns = [("leaf", *leaf_column(part, self._dialect))]
        if lost is not None and not lost.rows:
            columns += beyond_columns(lost.part, self._dialect)
            used += used_by(lost.part)
        rows = self._keyed_rows(keys, columns, used)
        names = [*_names(keys), "leaf"]
        where = " WHERE leaf IS NOT NULL"
        if part.weight is None:
            counts = f"SELECT {', '.join(names)}, count(*) AS s{index} FROM ({rows}) AS rows"
            return counts + where + group_by(names)
        total = f"{weighted_total(part.weight, self._dialect)} AS s{index}"
        once = not self._query.source.has_ids
        return weighed(rows, part.weight, names, [total], self._dialect, where=where, once=once, lost=lost)

    # Sums over people

    def _people(self, keys: Sequence[int], part: WeightedSum, index: int, lost: CountedPeople | None) -> str:
        rows = self._keyed_rows(keys, [], [part.condition] if part.condition else [], part.condition)
        names = _names(keys)
        if part.one_each:
            return self._one_group_each(keys, rows, f"count(*) * {part.weighing.whole} AS s{index}")
        pairs = f"SELECT DISTINCT {', '.join(['p', *names])} FROM ({rows}) AS rows"
        if not keys:
            return f"SELECT count(*) * {part.weighing.whole} AS s{index} FROM ({pairs}) AS people"
        total = f"{weighted_total(part.weighing, self._dialect)} AS s{index}"
        return weighed(pairs, part.weighing, names, [total], self._dialect, once=True, lost=lost)

    def _one_group_each(self, keys: Sequence[int], rows: str, total: str) -> str:
        """A person has one value of each key in all of their rows. Here, each has one row of them."""
        names = _names(keys)
        values = [
            f"{self._dialect.smallest(name, self._type_of(position))} AS {name}"
            for name, position in zip(names, keys, strict=True)
        ]
        people = f"SELECT {', '.join(['p', *values])} FROM ({rows}) AS rows GROUP BY p"
        return f"SELECT {', '.join([*names, total])} FROM ({people}) AS people{group_by(names)}"

    def _type_of(self, position: int) -> ValueType:
        key = self._query.keys[position]
        return ValueType.INTEGER if position in self._codes else key.expression.type

    def _distinct(self, keys: Sequence[int], part: DistinctCount, index: int) -> str:
        used = [e for e in (part.value, part.condition) if e is not None]
        keyed = [*used, *(key.expression for key in self._query.keys)]
        own = [] if part.one_row else own_fields(self._query.source, keyed)
        columns = [("v", emit(part.value, self._dialect), "v"), *own_columns(own, self._dialect)]
        rows = self._keyed_rows(keys, columns, [*used, *own], part.condition)
        names = [name for name, *_ in columns[1:]]
        return distinct_sql(rows, part, index, _names(keys), names, self._dialect)

    def _scores(self, keys: Sequence[int], part: Scores, index: int) -> str:
        """Each person adds at most `rows` to each score: no weights, as a selection looks at each alone."""
        names = _names(keys)
        rows = self._keyed_rows(keys, [], [part.condition] if part.condition else [], part.condition)
        if part.one_row:
            return f"SELECT {', '.join(names)}, count(*) AS s{index} FROM ({rows}) AS rows{group_by(names)}"
        pairs = f"SELECT {', '.join(['p', *names])}, count(*) AS c FROM ({rows}) AS rows"
        pairs += group_by(["p", *names])
        select = ", ".join([*names, f"sum(least(c, {part.rows})) AS s{index}"])
        return f"SELECT {select} FROM ({pairs}) AS pairs{group_by(names)}"

    def _left_out(self, keys: Sequence[int], part: LeftOut, index: int) -> str:
        """People by how much of them is left out, in a pass of its own."""
        names = _names(keys)
        columns = [] if part.distinct is None else [("v", emit(part.distinct, self._dialect), "v")]
        columns += beyond_columns(part, self._dialect)
        used = [*(e for e in (part.distinct, part.condition) if e is not None), *used_by(part)]
        rows = self._keyed_rows(keys, columns, used, part.condition)
        if part.weight.unit is Unit.PEOPLE:
            known = "" if part.distinct is None else " WHERE v IS NOT NULL"
            wanted = ", ".join(["p", *names, *(name for name, _, _ in columns)])
            rows = f"SELECT DISTINCT {wanted} FROM ({rows}) AS rows{known}"
        beyond = [f"beyond{i}" for i in range(len(part.clamped))]
        people = rows
        if not part.only_clamps:
            people = people_sql(f"({rows}) AS rows", part.weight, names, beyond, self._dialect)
        return f"WITH people AS ({people}) {people_by_loss(part, index, self._dialect)}"

    # Rows with their keys

    def _keyed_rows(
        self,
        keys: Sequence[int],
        columns: Sequence[EmittedColumn],
        used: Sequence[Expression],
        condition: Expression | None = None,
    ) -> str:
        """The rows that belong to a group: the person, the keys, and what is computed of each row.

        In two steps, so that each expression is written once, however often its value is needed.
        """
        needed = {i: key for i, key in enumerate(self._query.keys) if i in keys or not key.total}
        codes = {i: code for i, code in self._codes.items() if i in needed}
        brought = {i: code for i, code in codes.items() if code.brought_by is not None}
        expressions = [*used, *(key.expression for i, key in needed.items() if i not in brought)]
        source = relation_sql(
            self._query.source,
            self._tables,
            expressions,
            self._dialect,
            persons=not self._query.source.one_row_a_person,
            brought=tuple(brought.values()),
        )
        computed = [
            f"g{i}"
            if i in brought
            else codes[i].sql(self._dialect)
            if i in codes
            else f"{emit(key.expression, self._dialect)} AS g{i}"
            for i, key in needed.items()
        ]
        computed += [f"{sql} AS {name}" for name, sql, _ in columns]
        rows = f"SELECT {', '.join(['p', *computed])} FROM ({source}) AS source"
        wanted = []
        if condition is not None:
            wanted.append(condition_sql(emit(condition, self._dialect), condition, self._dialect))
        if self._slice is not None:
            wanted.append(self._dialect.in_slice("p", self._slice))
        if wanted:
            rows += f" WHERE {' AND '.join(wanted)}"
        grouped = [f"g{position} AS k{i}" for i, position in enumerate(keys)]
        finished = [sql if sql == name else f"{sql} AS {name}" for name, _, sql in columns]
        known = [
            f"g{i} IS NOT NULL" if i in codes else f"({known_key(key, f'g{i}', self._dialect)})"
            for i, key in needed.items()
            if key.values is not None and not key.total
        ]
        sql = f"SELECT {', '.join(['p', *grouped, *finished])} FROM ({rows}) AS computed"
        sql += f" WHERE {' AND '.join(known)}" if known else ""
        self._written = check_written_size([sql], self._written)
        self._spelled_out.use(expressions)
        return sql


def _names(keys: Sequence[int]) -> list[str]:
    return [f"k{i}" for i in range(len(keys))]
