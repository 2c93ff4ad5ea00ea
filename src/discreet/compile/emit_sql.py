"""Stage 5: the SQL that yields exact integers, written anew from our own tree.

One statement a unit that is summed over: rows, or distinct (person, group) pairs. For rows:

    WITH rows AS (SELECT person, keys, integers FROM table WHERE …),
         people AS (SELECT person, count(*) AS n FROM rows GROUP BY person)
    SELECT keys, sum(weight · integer), … FROM rows JOIN people … GROUP BY keys

A table with one row a person needs no weights. NULL persons are one person: hence IS NOT DISTINCT FROM.
"""

from dataclasses import dataclass

from discreet.compile.bound import Unit, WeightedSum
from discreet.compile.calibrate import Plan
from discreet.compile.functions import emit_duckdb
from discreet.compile.quoting import quote_identifier
from discreet.model.expression import Expression, Literal
from discreet.model.policy import PersonColumn
from discreet.model.query import Filter, GroupKey, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One pass over the data."""

    sql: str
    keys: tuple[str, ...]
    """The columns of the result that hold the keys."""
    sums: tuple[int, ...]
    """Which sums of the plan the columns s0, s1, … of the result are."""


def emit_sql(plan: Plan, relation: str) -> tuple[Statement, ...]:
    """The statements whose results, side by side, are the exact vectors of the plan.

    `relation` is how the engine names the table, quoted.
    """
    bounded = plan.bounded
    statements = []
    rows = [i for i, part in enumerate(bounded.sums) if part.unit is Unit.ROWS]
    if rows:
        statements.append(_rows_statement(bounded.query, relation, bounded.sums, rows))
    for i, part in enumerate(bounded.sums):
        if part.unit is Unit.PEOPLE:
            statements.append(_people_statement(bounded.query, relation, part, i))
    return tuple(statements)


def _rows_statement(
    query: Query, relation: str, sums: tuple[WeightedSum, ...], wanted: list[int]
) -> Statement:
    keys = [f"k{i}" for i in range(len(query.keys))]
    columns = [f"{_key(key)} AS {name}" for key, name in zip(query.keys, keys, strict=True)]
    columns += [f"{_integer(sums[i])} AS v{i}" for i in wanted]
    if query.table.one_row_a_person:
        source = f"SELECT {', '.join(columns)} FROM {_from(query, relation)}"
        totals = [f"coalesce(sum(v{i}), 0) AS s{i}" for i in wanted]
        sql = f"SELECT {', '.join([*keys, *totals])} FROM ({source}) AS rows{_group_by(keys)}"
        return Statement(sql=sql, keys=tuple(keys), sums=tuple(wanted))
    source = f"SELECT {', '.join([f'{_person(query)} AS p', *columns])} FROM {_from(query, relation)}"
    weight = _weight(sums[wanted[0]])
    totals = [f"coalesce(sum(({weight}) * v{i}), 0) AS s{i}" for i in wanted]
    sql = (
        f"WITH rows AS MATERIALIZED ({source}),"
        " people AS (SELECT p, count(*) AS n FROM rows GROUP BY p)"
        f" SELECT {', '.join([*keys, *totals])} FROM rows"
        f" JOIN people ON rows.p IS NOT DISTINCT FROM people.p{_group_by(keys)}"
    )
    return Statement(sql=sql, keys=tuple(keys), sums=tuple(wanted))


def _people_statement(query: Query, relation: str, part: WeightedSum, index: int) -> Statement:
    keys = [f"k{i}" for i in range(len(query.keys))]
    columns = [f"{_key(key)} AS {name}" for key, name in zip(query.keys, keys, strict=True)]
    rows = _from(query, relation, part.condition)
    source = f"SELECT DISTINCT {', '.join([f'{_person(query)} AS p', *columns])} FROM {rows}"
    if not keys:
        return Statement(sql=f"SELECT count(*) AS s{index} FROM ({source}) AS people", keys=(), sums=(index,))
    sql = (
        f"WITH pairs AS MATERIALIZED ({source}),"
        " people AS (SELECT p, count(*) AS n FROM pairs GROUP BY p)"
        f" SELECT {', '.join(keys)}, coalesce(sum({_weight(part)}), 0) AS s{index} FROM pairs"
        f" JOIN people ON pairs.p IS NOT DISTINCT FROM people.p{_group_by(keys)}"
    )
    return Statement(sql=sql, keys=tuple(keys), sums=(index,))


def _weight(part: WeightedSum) -> str:
    """⌊2^s·min(1, B/n)⌋ in integers."""
    whole = 2**part.weight_bits
    return f"CASE WHEN n <= {part.rows} THEN {whole} ELSE {part.rows * whole} // n END"


def _integer(part: WeightedSum) -> str:
    """What a row adds before its weight: an integer of at most `largest` in size, whatever the row holds."""
    conditions = []
    if part.condition is not None:
        conditions.append(f"({emit_duckdb(part.condition)}) IS TRUE")
    if part.not_null is not None:
        conditions.append(f"({emit_duckdb(part.not_null)}) IS NOT NULL")
    value = "1" if part.value is None else _quantised(part, part.value)
    if not conditions:
        return f"CAST({value} AS BIGINT)"
    return f"CAST(CASE WHEN {' AND '.join(conditions)} THEN {value} ELSE 0 END AS BIGINT)"


def _quantised(part: WeightedSum, value: Expression) -> str:
    """⌊(x − offset)/grid + ½⌋ clamped again: the sensitivity holds whatever floats do."""
    offset, grid = float(part.offset), float(part.grid)
    steps = round(part.largest ** (1 / part.power))
    low = -steps if part.signed or part.offset or part.value is not None else 0
    rounded = f"floor((CAST({emit_duckdb(value)} AS DOUBLE) - ({offset!r})) / ({grid!r}) + 0.5)"
    clamped = f"CAST(least(greatest({rounded}, {low}), {steps}) AS BIGINT)"
    return clamped if part.power == 1 else f"({clamped}) * ({clamped})"


def _from(query: Query, relation: str, condition: Expression | None = None) -> str:
    """The table and every row condition: WHERE clauses, public keys, and the one of a measure."""
    predicates = [] if condition is None else [emit_duckdb(condition)]
    source = query.source
    while isinstance(source, Filter):
        predicates.append(emit_duckdb(source.predicate))
        source = source.source
    predicates += [_known_key(key) for key in query.keys if key.values is not None]
    where = " AND ".join(f"(({predicate}) IS TRUE)" for predicate in predicates)
    return relation + (f" WHERE {where}" if where else "")


def _known_key(key: GroupKey) -> str:
    """Rows whose key is not among the public ones belong to no group, and use up no weight."""
    values = [value for value in key.values or () if value is not None]
    listed = ", ".join(emit_duckdb(Literal(value=value, type=key.expression.type)) for value in values)
    known = f"({_key(key)}) IN ({listed})" if values else "FALSE"
    return f"({known} OR ({_key(key)}) IS NULL)" if None in (key.values or ()) else known


def _key(key: GroupKey) -> str:
    return emit_duckdb(key.expression)


def _person(query: Query) -> str:
    person = query.table.person
    return quote_identifier(person.name) if isinstance(person, PersonColumn) else "NULL"


def _group_by(keys: list[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""
