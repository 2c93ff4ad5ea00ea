"""The weight of a person as SQL, and totals of rows that are weighed by it."""

from collections.abc import Sequence

from discreet.aggregates.vectors import LeftOut
from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.dialects.dialect import Dialect
from discreet.model.policy import ValueType


def by_squares(weight: Weight) -> bool:
    """Whether a weight follows from the squares of a person's counts; not so where people are counted."""
    return weight.norm is Norm.L2 and weight.unit is Unit.ROWS


def most_of_whole(weight: Weight) -> int:
    """People whose n is at most this count fully."""
    return weight.limit if weight.norm is Norm.L1 else weight.square


def weight_sql(weight: Weight, n: str, dialect: Dialect) -> str:
    """⌊2^s·L/‖n‖⌋ where ‖n‖ > L: n is ‖n‖, an integer, in ℓ₁; in ℓ₂ its square, a double.

    A sum of squares is exact in doubles below 2⁵³, and weights are zero long before.
    """
    if weight.norm is Norm.L1:
        share = dialect.integer_quotient(str(weight.limit * weight.whole), n)
    else:
        scaled = dialect.double(float(weight.square * weight.whole**2))  # below 2⁵², as is its root
        share = f"CAST(floor(sqrt(floor({scaled} / {n}))) AS BIGINT)"
    return share if weight.least == 1 else f"CASE WHEN {n} <= {weight.most} THEN {share} ELSE 0 END"


def weighed(
    rows: str,
    weight: Weight,
    names: Sequence[str],
    totals: Sequence[str],
    dialect: Dialect,
    *,
    where: str = "",
    once: bool,
) -> str:
    """Totals of rows, each with the weight of its person as w. After a join, w is NULL if it is whole.

    Rows are read twice where that is faster than keeping them, but `once` if a second reading could differ.
    """
    select, rest = ", ".join([*names, *totals]), where + group_by(names)
    if dialect.weighs_in_windows:
        return f"SELECT {select} FROM ({_in_windows(rows, weight, names, dialect)}) AS rows{rest}"
    source, n = "rows", "count(*)"
    if by_squares(weight):
        source = f"(SELECT p, count(*) AS c FROM rows{group_by(['p', *names])}) AS pairs"
        n = f"sum(CAST(c AS {dialect.types[ValueType.NUMBER]}) * c)"
    share = weight_sql(weight, n, dialect)
    heavy = f"SELECT p, {share} AS w FROM {source} GROUP BY p HAVING {n} > {most_of_whole(weight)}"
    return (
        f"WITH rows AS {dialect.kept(once=once)}({rows}), heavy AS ({heavy})"
        f" SELECT {dialect.join_hint}{select} FROM {dialect.with_weights()}{rest}"
    )


def people_by_loss(rows: str, part: LeftOut, names: Sequence[str], index: int, dialect: Dialect) -> str:
    """How many people lose how much: the bin as leaf. Too many values are not weighed but dropped."""
    weight, dropped = part.weight, part.distinct is not None
    source, n, n1 = f"({rows}) AS rows", "count(*)", "count(*)"
    if by_squares(weight):
        source = f"(SELECT p, count(*) AS c FROM ({rows}) AS rows{group_by(['p', *names])}) AS pairs"
        n, n1 = f"sum(CAST(c AS {dialect.types[ValueType.NUMBER]}) * c)", "sum(c)"
    lost = (
        f"{n1} - {weight.limit}" if dropped else f"{n1} * ({weight.whole} - {weight_sql(weight, n, dialect)})"
    )
    heavy = f"SELECT {lost} AS lost FROM {source} GROUP BY p HAVING {n} > {most_of_whole(weight)}"
    whole = 1 if dropped else weight.whole
    bins = " ".join(f"WHEN lost <= {(whole << b) + whole // 2} THEN {b}" for b in range(part.bins - 1))
    leaf = f"SELECT CASE {bins} ELSE {part.bins - 1} END AS leaf FROM ({heavy}) AS heavy"
    return f"SELECT leaf, count(*) AS s{index} FROM ({leaf}) AS lost GROUP BY leaf"


def weighted_total(weight: Weight, dialect: Dialect, value: str | None = None, largest: int = 1) -> str:
    """The sum of the rows' weights, or of their values times their weights."""
    w = dialect.weight_of_row(weight.whole)
    return dialect.total(w if value is None else f"{w} * {value}", weight.whole * largest)


def group_by(names: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""


def _in_windows(rows: str, weight: Weight, names: Sequence[str], dialect: Dialect) -> str:
    """The same without a join. Each row has c, the person's rows in its group. They add up to Σc².

    A window is computed in one process. Rows that come to it in order are computed and sorted in several.
    """
    counted, n = f"{rows} ORDER BY p", "count(*) OVER (PARTITION BY p)"
    if by_squares(weight):
        pairs = f"count(*) OVER (PARTITION BY {', '.join(['p', *names])})"
        counted = f"SELECT *, {pairs} AS c FROM ({rows}) AS keyed"
        n = f"sum(CAST(c AS {dialect.types[ValueType.NUMBER]})) OVER (PARTITION BY p)"
    share = weight_sql(weight, n, dialect)
    w = f"CASE WHEN {n} > {most_of_whole(weight)} THEN {share} ELSE {weight.whole} END"
    return f"SELECT *, {w} AS w FROM ({counted}) AS counted"
