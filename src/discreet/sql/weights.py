"""The weight of a person as SQL, and totals of rows that are weighed by it."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.aggregates.vectors import BEYOND_BINS, BEYOND_STEPS, SIZES, LeftOut
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPeople:
    """People by what they lose, counted in the same pass as sums."""

    part: LeftOut
    index: int
    beyond: Sequence[str]
    """Columns: by how many steps a value lies beyond its bounds, negative if below."""
    rows: str
    """A subquery with these columns, if they are read beside what is totalled; else that has them."""


def weighed(
    rows: str,
    weight: Weight,
    names: Sequence[str],
    totals: Sequence[str],
    dialect: Dialect,
    *,
    where: str = "",
    once: bool,
    lost: CountedPeople | None = None,
) -> str:
    """Totals of rows, each with the weight of its person as w. After a join, w is NULL if it is whole.

    Rows are read twice where that is faster than keeping them, but `once` if a second reading could differ.
    With `lost`, people are kept after they were counted, and rows with a bin say how many are in it.
    """
    select, rest = ", ".join([*names, *totals]), where + group_by(names)
    if dialect.weighs_in_windows:
        if lost is not None:
            return _with_people(rows, weight, names, totals, dialect, where=where, lost=lost)
        return f"SELECT {select} FROM ({_in_windows(rows, weight, names, dialect)}) AS rows{rest}"
    tables = [f"rows AS {dialect.kept(once=once)}({rows})"]
    kept = "" if lost is None else dialect.kept(once=True)
    read, beyond = ("rows", ()) if lost is None else (lost.rows or "rows", lost.beyond)
    people = people_sql(read, weight, [name for name in names if name != "leaf"], beyond, dialect)
    heavy = f"SELECT p, {weight_sql(weight, 'n', dialect)} AS w FROM people WHERE n > {most_of_whole(weight)}"
    tables += [f"people AS {kept}({people})", f"heavy AS ({heavy})"]
    totalled = f"SELECT {dialect.join_hint}{select} FROM {dialect.with_weights()}{rest}"
    if lost is None:
        return f"WITH {', '.join(tables)} {totalled}"
    counted = people_by_loss(lost.part, lost.index, dialect)
    return f"WITH {', '.join(tables)} {_beside(totalled, names, totals, counted, lost)}"


def weighed_by_pairs(
    rows: str,
    weight: Weight,
    names: Sequence[str],
    sums: Sequence[tuple[str, str | None, int]],
    dialect: Dialect,
    lost: CountedPeople | None,
) -> str:
    """Totals as of `weighed`, of rows that are read once: they are added up by person and group before.

    Sums are exact, so that they are the same. Faster where rows are slow to read. Each sum has a name, what
    is summed, or None for the rows themselves, and how large that can be.
    """
    beyond = () if lost is None else lost.beyond
    values = [f"{dialect.total(value, most)} AS pair_{s}" for s, value, most in sums if value is not None]
    values += [f"sum({column}) AS {column}" for column in beyond]
    pairs = f"SELECT {', '.join(['p', *names, 'count(*) AS c', *values])} FROM ({rows}) AS read"
    n = f"CAST(sum(c) AS {dialect.types[ValueType.INTEGER]})"
    counts = _of_pairs(dialect) if by_squares(weight) else [f"{n} AS n"]
    net = [f"sum({column}) AS {column}" for column in beyond]
    people = f"SELECT {', '.join(['p', *counts, *net])} FROM rows GROUP BY p"
    share, kept = weight_sql(weight, "n", dialect), dialect.kept(once=True)
    tables = f"rows AS {kept}({pairs}{group_by(['p', *names])}), people AS {kept}({people})"
    tables += f", heavy AS (SELECT p, {share} AS w FROM people WHERE n > {most_of_whole(weight)})"
    totals = [
        f"{weighted_total(weight, dialect, 'c' if value is None else f'pair_{s}', most)} AS {s}"
        for s, value, most in sums
    ]
    totalled = f"SELECT {', '.join([*names, *totals])} FROM {dialect.with_weights()}{group_by(names)}"
    if lost is None:
        return f"WITH {tables} {totalled}"
    counted = people_by_loss(lost.part, lost.index, dialect)
    return f"WITH {tables} {_beside(totalled, names, totals, counted, lost)}"


def weighed_by_person(
    rows: str,
    weight: Weight,
    sums: Sequence[tuple[str, str | None, int]],
    dialect: Dialect,
    lost: CountedPeople,
) -> str:
    """Totals as of `weighed`, where all rows are one group: they are added up by person, who weighs once.

    Rows are read once, and joined with nobody. `sums` are as of `weighed_by_pairs`, and the weight is in ℓ₁.
    """
    values = [f"{dialect.total(value, most)} AS person_{s}" for s, value, most in sums if value is not None]
    values += [f"sum({column}) AS {column}" for column in lost.beyond]
    counted = f"SELECT {', '.join(['p', 'count(*) AS n', *values])} FROM ({rows}) AS rows GROUP BY p"
    weighs = f"CASE WHEN n > {most_of_whole(weight)} THEN {weight_sql(weight, 'n', dialect)} END AS w"
    people = f"SELECT *, {weighs} FROM ({counted}) AS counted"
    totals = [
        f"{weighted_total(weight, dialect, 'n' if value is None else f'person_{s}', most)} AS {s}"
        for s, value, most in sums
    ]
    totalled = f"SELECT {', '.join(totals)} FROM people"
    both = _beside(totalled, (), totals, people_by_loss(lost.part, lost.index, dialect), lost)
    return f"WITH people AS {dialect.kept(once=True)}({people}) {both}"


def unweighed(
    rows: str, names: Sequence[str], totals: Sequence[str], dialect: Dialect, lost: CountedPeople | None
) -> str:
    """Totals of rows of which everybody has one. With `lost`, those that are clamped are counted, too."""
    select, rest = ", ".join([*names, *totals]), group_by(names)
    if lost is None:
        return f"SELECT {select} FROM ({rows}) AS rows{rest}"
    counted = people_by_loss(lost.part, lost.index, dialect, "rows")
    both = _beside(f"SELECT {select} FROM rows{rest}", names, totals, counted, lost)
    return f"WITH rows AS {dialect.kept(once=True)}({rows}) {both}"


def _beside(
    totalled: str, names: Sequence[str], totals: Sequence[str], counted: str, lost: CountedPeople
) -> str:
    """Totals by group, and rows with a bin that say how many people are in it."""
    sums = [total.rpartition(" AS ")[2] for total in totals]
    nothing = [*(f"NULL AS {name}" for name in names), *(f"0 AS {name}" for name in sums)]
    return (
        f"SELECT *, 0 AS s{lost.index}, NULL AS bin FROM ({totalled}) AS sums"
        f" UNION ALL SELECT {', '.join([*nothing, f's{lost.index}', 'bin'])} FROM ({counted}) AS counted"
    )


def people_sql(
    rows: str, weight: Weight, names: Sequence[str], beyond: Sequence[str], dialect: Dialect
) -> str:
    """A row for each person: n as in `weight_sql`, n1 of all that is counted, and beyond0, … added up."""
    net = [f"sum({column}) AS {column}" for column in beyond]
    if not by_squares(weight):
        return f"SELECT {', '.join(['p', 'count(*) AS n', *net])} FROM {rows} GROUP BY p"
    pairs = ", ".join(["p", "count(*) AS c", *net])
    return (
        f"SELECT {', '.join(['p', *_of_pairs(dialect), *net])}"
        f" FROM (SELECT {pairs} FROM {rows}{group_by(['p', *names])}) AS pairs GROUP BY p"
    )


def _of_pairs(dialect: Dialect) -> list[str]:
    """n and n1 from a person's rows in each group, c. Both are doubles, which add up faster."""
    c = f"CAST(c AS {dialect.types[ValueType.NUMBER]})"
    return [f"sum({c} * c) AS n", f"sum({c}) AS n1"]


def people_by_loss(part: LeftOut, index: int, dialect: Dialect, people: str = "people") -> str:
    """How many people are in each bin of `LeftOut`, from the people as in `people_sql`.

    People who are alike are counted first, so that bins are computed of few.
    """
    columns, cases = bins_of_people(part, dialect)
    facts = [f"beyond{i}" for i in range(len(part.clamped))]
    if not part.only_clamps:
        facts += ["n", "n1"] if by_squares(part.weight) else ["n"]
    alike = f"SELECT {', '.join(facts)}, count(*) AS number FROM {people} GROUP BY {', '.join(facts)}"
    sized = f"SELECT {', '.join(columns)}, number FROM ({alike}) AS alike"
    placed = f"SELECT CASE {' '.join(cases)} END AS bin, number FROM ({sized}) AS sized"
    where = " WHERE bin IS NOT NULL" if part.only_clamps else ""
    total = f"CAST(sum(number) AS {dialect.types[ValueType.INTEGER]}) AS s{index}"
    return f"SELECT bin, {total} FROM ({placed}) AS placed{where} GROUP BY bin"


def bins_of_people(part: LeftOut, dialect: Dialect, net: str = "beyond") -> tuple[list[str], list[str]]:
    """Columns, and the cases of the bin of a person, from what a row of `people_sql` has."""
    columns, cases = _clamping(part, net)
    if part.only_clamps:
        return columns, cases
    of_weight, lost, sizes = _weighing(part, dialect)
    return [*of_weight, *columns], [*lost, *cases, *sizes]


def _weighing(part: LeftOut, dialect: Dialect) -> tuple[list[str], list[str], list[str]]:
    """Columns, and the cases of who loses something by their weight, and of the sizes of all others."""
    weight, dropped = part.weight, part.distinct is not None
    n1 = "n1" if by_squares(weight) else "n"
    lost = (
        f"{n1} - {weight.limit}"
        if dropped
        else f"{n1} * ({weight.whole} - {weight_sql(weight, 'n', dialect)})"
    )
    heavy, whole = f"n > {most_of_whole(weight)}", 1 if dropped else weight.whole
    by_loss = [f"WHEN lost <= {(whole << b) + whole // 2} THEN {b}" for b in range(part.bins - 1)]
    cases = ["WHEN lost IS NOT NULL THEN", f"CASE {' '.join(by_loss)} ELSE {part.bins - 1} END"]
    most = most_of_whole(weight)
    ends = [int(most * (share**2 if by_squares(weight) else share)) for share in SIZES[:-1]]
    sizes = [f"WHEN n <= {end} THEN {part.bins + place}" for place, end in enumerate(ends)]
    sizes.append(f"ELSE {part.bins + len(SIZES) - 1}")
    return [f"CASE WHEN {heavy} THEN {lost} END AS lost", "n"], cases, sizes


def _clamping(part: LeftOut, net: str) -> tuple[list[str], list[str]]:
    """Columns and cases of what clamping takes off, on the side where it takes more."""
    if not part.clamped:
        return [], []
    nets = [f"coalesce({net}{i}, 0)" for i in range(len(part.clamped))]
    ends = (nets[0], nets[0]) if len(nets) == 1 else [f"{end}({', '.join(nets)})" for end in _ENDS]
    cases = ["WHEN up > 0 AND up + down >= 0 THEN", _beyond("up", part.first_beyond)]
    cases += ["WHEN down < 0 THEN", _beyond("-down", part.first_beyond + BEYOND_BINS)]
    return [f"{ends[0]} AS up", f"{ends[1]} AS down"], cases


_ENDS = ("greatest", "least")


def _beyond(steps: str, start: int) -> str:
    """The bin of what clamping takes off, in octaves from 1/64 of the bounds."""
    least = BEYOND_STEPS // 64
    bins = [f"WHEN {steps} <= {least << b} THEN {start + b}" for b in range(BEYOND_BINS - 1)]
    return f"CASE {' '.join(bins)} ELSE {start + BEYOND_BINS - 1} END"


def weighted_total(weight: Weight, dialect: Dialect, value: str | None = None, largest: int = 1) -> str:
    """The sum of the rows' weights, or of their values times their weights."""
    w = dialect.weight_of_row(weight.whole)
    return dialect.total(w if value is None else f"{w} * {value}", weight.whole * largest)


def group_by(names: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""


def _with_people(
    rows: str,
    weight: Weight,
    names: Sequence[str],
    totals: Sequence[str],
    dialect: Dialect,
    *,
    where: str,
    lost: CountedPeople,
) -> str:
    """The first row of each person has their bin. So people are counted in the pass that adds up rows."""
    columns, cases = bins_of_people(lost.part, dialect, net="net")
    windows = _in_windows(rows, weight, names, dialect, beyond=lost.beyond)
    sized = f"SELECT *{''.join(f', {each}' for each in columns if each != 'n')} FROM ({windows}) AS weighed"
    placed = (
        f"SELECT *, CASE WHEN place = 1 THEN CASE {' '.join(cases)} END END AS bin FROM ({sized}) AS sized"
    )
    by_bin = ", ".join([*names, "bin", *totals, "count(*) AS number"])
    alike = f"SELECT {by_bin} FROM ({placed}) AS placed{group_by([*names, 'bin'])}"
    sums = [total.rpartition(" AS ")[2] for total in totals]
    added = ", ".join([*names, *(f"sum({name}) AS {name}" for name in sums)])
    total = f"CAST(sum(number) AS {dialect.types[ValueType.INTEGER]}) AS s{lost.index}"
    counted = f"SELECT bin, {total} FROM alike WHERE bin IS NOT NULL GROUP BY bin"
    both = _beside(f"SELECT {added} FROM alike{where}{group_by(names)}", names, totals, counted, lost)
    return f"WITH alike AS {dialect.kept(once=True)}({alike}) {both}"


def _in_windows(
    rows: str, weight: Weight, names: Sequence[str], dialect: Dialect, beyond: Sequence[str] | None = None
) -> str:
    """The same without a join. Each row has c, the person's rows in its group. They add up to Σc².

    A window is computed in one process. Rows that come to it in order are computed and sorted in several.
    With `beyond`, each row also has its place among the person's, and what a row of `people_sql` has.
    """
    counted, n = f"{rows} ORDER BY p", "count(*) OVER (PARTITION BY p)"
    if by_squares(weight):
        pairs = f"count(*) OVER (PARTITION BY {', '.join(['p', *names])})"
        counted = f"SELECT *, {pairs} AS c FROM ({rows}) AS keyed"
        n = f"sum(CAST(c AS {dialect.types[ValueType.NUMBER]})) OVER (PARTITION BY p)"
    share = weight_sql(weight, n, dialect)
    w = f"CASE WHEN {n} > {most_of_whole(weight)} THEN {share} ELSE {weight.whole} END"
    of_people = []
    if beyond is not None:
        facts = {"place": "row_number()", "n1": "count(*)", "n": n.partition(" OVER ")[0]}
        facts |= {f"net{i}": f"sum({column})" for i, column in enumerate(beyond)}
        of_people = [f", {fact} OVER (PARTITION BY p) AS {name}" for name, fact in facts.items()]
    return f"SELECT *, {w} AS w{''.join(of_people)} FROM ({counted}) AS counted"
