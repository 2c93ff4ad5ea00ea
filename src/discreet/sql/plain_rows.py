"""Rows as whole numbers, for models: as they are, or as sums of products computed where the data lives.

    coded     SELECT p, whole numbers FROM the relation, without rows in which one of them is unknown
    rows      SELECT who, whole numbers FROM coded
    products  SELECT place, sum(w), sum(w·v_i), sum(w·v_i·v_j), … FROM coded GROUP BY place

The vector v of a row is made of its numbers, and `place` says how long it is, so that whoever adds noise can
shorten long ones. Weights are those of `weights`, in ℓ₁.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.aggregates.weights import Weight
from discreet.dialects.dialect import Dialect
from discreet.dialects.parameters import Parameters
from discreet.functions.registry import emit_steps
from discreet.model.expression import Expression
from discreet.model.query import Relation
from discreet.sql.relation import clamped, relation_sql
from discreet.sql.spelled_out import SpelledOut
from discreet.sql.statement import Statement
from discreet.sql.weights import weighed, weighted_total

PERSON, PLACE = "person", "place"
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A whole number made of each row: ⌊(x − offset)/grid + ½⌋, between low and high whatever the row holds.

    Rows on which x is NULL are left out.
    """

    value: Expression
    offset: Fraction
    grid: Fraction
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """An entry of a row's vector: a code itself, or `one` where the code is the mark and else 0."""

    code: int
    mark: int | None
    one: int
    """The largest size that it can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductQuery:
    """Sums over the rows of a relation, by how long their vectors are."""

    source: Relation
    codes: tuple[Code, ...]
    coordinates: tuple[Coordinate, ...]
    pairs: tuple[tuple[int, int], ...]
    """Coordinates whose products are summed."""
    order: int
    """A vector's length is the sum of the sizes of its coordinates, or, if it is 2, of their squares."""
    ends: tuple[int, ...]
    """The last length of each place; the last place has all that are longer."""
    weight: Weight | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The sums of a result, beside `PLACE`: of the weights, then of coordinates, then of pairs."""
        return tuple(f"s{i}" for i in range(1 + len(self.coordinates) + len(self.pairs)))


def emit_rows(
    source: Relation, codes: Sequence[Code], tables: Mapping[str, str], dialect: Dialect
) -> Statement:
    """The rows one by one, with a number for each person unless nobody has two rows.

    Columns are c0, c1, … for the codes, and `PERSON`.
    """
    parameters = Parameters()
    SpelledOut(source, dialect).use(code.value for code in codes)
    rows = _coded(source, codes, tables, dialect.binding(parameters), None)
    who = [] if source.one_row_a_person else [f"dense_rank() OVER (ORDER BY p) AS {PERSON}"]
    columns = [f"c{i}" for i in range(len(codes))]
    return _statement(f"SELECT {', '.join([*who, *columns])} FROM ({rows}) AS coded", (), parameters)


def emit_products(query: ProductQuery, tables: Mapping[str, str], dialect: Dialect) -> Statement:
    """Columns are `PLACE` and those of the query."""
    parameters = Parameters()
    binding = dialect.binding(parameters)
    SpelledOut(query.source, dialect).use(code.value for code in query.codes)
    several = dialect.slices > 1 and query.source.has_ids and query.weight is not None
    slices = [_products(query, tables, binding, i) for i in range(dialect.slices)] if several else ()
    return _statement(_products(query, tables, binding, None), tuple(slices), parameters)


def _statement(sql: str, slices: tuple[str, ...], parameters: Parameters) -> Statement:
    return Statement(
        sql=sql,
        grouping_set=0,
        keys=(),
        parts=(),
        by_leaf=False,
        slices=slices,
        parameters=parameters.values,
    )


def _coded(
    source: Relation,
    codes: Sequence[Code],
    tables: Mapping[str, str],
    dialect: Dialect,
    slice_: int | None,
) -> str:
    """In two steps, so that each expression is written once."""
    used = [code.value for code in codes]
    relation = relation_sql(source, tables, used, dialect, persons=not source.one_row_a_person)
    steps = [
        f"{emit_steps(code.value, dialect, offset=code.offset, grid=code.grid, half=_HALF)} AS i{n}"
        for n, code in enumerate(codes)
    ]
    computed = f"SELECT {', '.join(['p', *steps])} FROM ({relation}) AS source"
    if slice_ is not None:
        computed += f" WHERE {dialect.in_slice('p', slice_)}"
    inside = [f"{clamped(f'i{n}', code.low, code.high)} AS c{n}" for n, code in enumerate(codes)]
    known = " AND ".join(f"i{n} IS NOT NULL" for n in range(len(codes)))
    return f"SELECT {', '.join(['p', *inside])} FROM ({computed}) AS computed WHERE {known}"


def _products(query: ProductQuery, tables: Mapping[str, str], dialect: Dialect, slice_: int | None) -> str:
    rows = _placed(query, _coded(query.source, query.codes, tables, dialect, slice_))
    terms: list[tuple[str | None, int]] = [(None, 1)]
    terms += [(f"v{i}", each.one) for i, each in enumerate(query.coordinates)]
    terms += [(f"v{i} * v{j}", query.coordinates[i].one * query.coordinates[j].one) for i, j in query.pairs]
    if query.weight is None:
        sums = ["count(*)" if term is None else dialect.total(term, most) for term, most in terms]
        totals = _named(sums, query.columns)
        return f"SELECT {', '.join([PLACE, *totals])} FROM ({rows}) AS rows GROUP BY {PLACE}"
    sums = [weighted_total(query.weight, dialect, term, most) for term, most in terms]
    once = not query.source.has_ids
    return weighed(rows, query.weight, [PLACE], _named(sums, query.columns), dialect, once=once)


def _placed(query: ProductQuery, rows: str) -> str:
    """The vectors, and which of the places each belongs to."""
    vectors = [f"{_coordinate(each)} AS v{i}" for i, each in enumerate(query.coordinates)]
    names = [f"v{i}" for i in range(len(vectors))]
    size = " + ".join(f"abs({v})" if query.order == 1 else f"{v} * {v}" for v in names)
    vectors_sql = f"SELECT {', '.join(['p', *vectors])} FROM ({rows}) AS coded"
    lengths = f"SELECT {', '.join(['p', *names])}, {size} AS length FROM ({vectors_sql}) AS vectors"
    whens = " ".join(f"WHEN length <= {end} THEN {place}" for place, end in enumerate(query.ends[:-1]))
    place = f"CASE {whens} ELSE {len(query.ends) - 1} END"
    return f"SELECT {', '.join(['p', *names])}, {place} AS {PLACE} FROM ({lengths}) AS lengths"


def _coordinate(coordinate: Coordinate) -> str:
    code = f"c{coordinate.code}"
    if coordinate.mark is None:
        return code
    marked = f"CASE WHEN {code} = {coordinate.mark} THEN {coordinate.one} ELSE 0 END"
    return f"CAST({marked} AS BIGINT)"


def _named(sums: Sequence[str], names: Sequence[str]) -> list[str]:
    return [f"{total} AS {name}" for total, name in zip(sums, names, strict=True)]
