"""The SQL of a profile: a row for each person, and histograms of those. One pass over the table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from discreet.dialects.dialect import Dialect
from discreet.functions.registry import emit
from discreet.model.expression import Field, Literal
from discreet.model.policy import Column, PrivateTable
from discreet.model.query import Scan
from discreet.sql.relation import relation_sql

_ALIAS = "t0"


def profile_sql(
    table: PrivateTable,
    keyed: Sequence[Column],
    bounded: Sequence[Column],
    edges: Sequence[int],
    relations: Mapping[str, str],
    dialect: Dialect,
) -> str:
    """For each histogram h and bin leaf, how many people are in it, as s0.

    The first is of rows, the next ones of how many public values people have of each keyed column. Both have
    the edges. The last ones are of odd values of each bounded column: 1 below, 2 above, 4 missing, added up.
    """
    fields = {
        column.name: Field(name=f"{_ALIAS}.{column.name}", type=column.type) for column in (*keyed, *bounded)
    }
    scan = Scan(table=_as_in_source(table), alias=_ALIAS)
    source = relation_sql(scan, relations, fields.values(), dialect, persons=True)
    names = {name: f"c{i}" for i, name in enumerate(fields)}
    read = [f"{emit(field, dialect)} AS {names[name]}" for name, field in fields.items()]
    rows = f"SELECT {', '.join(['p', *read])} FROM ({source}) AS source"
    numbers = ["count(*)"]
    numbers += [_public_values(column, names[column.name], dialect) for column in keyed]
    numbers += [_odd_values(column, names[column.name], dialect) for column in bounded]
    counted = ", ".join(f"{number} AS n{i}" for i, number in enumerate(numbers))
    people = f"SELECT {counted} FROM ({rows}) AS rows GROUP BY p"
    leaves = [_bin(f"n{i}", edges) for i in range(1 + len(keyed))]
    leaves += [f"n{i}" for i in range(len(leaves), len(numbers))]
    histograms = [_histogram(place, leaf) for place, leaf in enumerate(leaves)]
    return f"WITH people AS {dialect.kept(once=True)}({people}) {' UNION ALL '.join(histograms)}"


def _as_in_source(table: PrivateTable) -> PrivateTable:
    """With all values of a person, also of what they should have one of: a profile shows if they do not."""
    columns = {name: replace(column, per_person=False) for name, column in table.columns.items()}
    return replace(table, columns=columns)


def _histogram(place: int, leaf: str) -> str:
    placed = f"SELECT {leaf} AS leaf FROM people"
    return f"SELECT {place} AS h, leaf, count(*) AS s0 FROM ({placed}) AS placed GROUP BY leaf"


def _bin(number: str, edges: Sequence[int]) -> str:
    bins = " ".join(f"WHEN {number} <= {most} THEN {place}" for place, most in enumerate(edges))
    return f"CASE {bins} ELSE {len(edges)} END"


def _public_values(column: Column, value: str, dialect: Dialect) -> str:
    """Who has none of them counts as having one, so that everybody is in a bin."""
    listed = [Literal(value=key, type=column.type) for key in column.keys or ()]
    return f"greatest(count(DISTINCT CASE WHEN {dialect.is_key(value, listed)} THEN {value} END), 1)"


def _odd_values(column: Column, value: str, dialect: Dialect) -> str:
    if column.bounds is None:
        raise TypeError("A column with bounds is expected here.")
    low, high = (dialect.double(float(end)) for end in (column.bounds.low, column.bounds.high))
    odd = (f"{value} < {low}", f"{value} > {high}", f"{value} IS NULL")
    return " + ".join(f"{2**i} * max(CASE WHEN {each} THEN 1 ELSE 0 END)" for i, each in enumerate(odd))
