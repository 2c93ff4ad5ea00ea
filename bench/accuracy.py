"""How far numbers are off at the same price: measured together, and with a part of the price for each vector.

    .venv/bin/python bench/accuracy.py              4,000 groups of each
    .venv/bin/python bench/accuracy.py 20000

Each question is asked of a curator, of groups that hold the same rows, once as it is planned and once with a
part of the price for each vector, as it was planned before. Every group has noise of its own: the standard
deviation over them is the error. For counts and sums it is also computed from the laws of the noise. Beside
them are the errors that a reviewer found reachable, relative to those of before. With 4,000 groups a ratio is
off by 2 % or so: targets have a tolerance of 6 %.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_least, judge, show

import discreet
from discreet.bounds.bound import bound
from discreet.bounds.calibrate import Plan
from discreet.curator import planning
from discreet.noise.laplace import DiscreteLaplace

GROUPS = 4_000
TOLERANCE = 0.94
POLICY = """
[dataset]
name = "groups"
neighbours = "add_remove"
budget = {{ epsilon = 1000, delta = {delta} }}
least_price = 1e-9

[tables.t]
source = "t.parquet"
person = "person"
unique = true

[tables.t.columns.place]
type = "integer"
bounds = [0, {last}]

[tables.t.columns.x]
bounds = [0, 100]

[tables.t.columns.middle]
bounds = [0, 100]

[tables.t.columns.top]
bounds = [0, 100]
"""
LAWS = {"ε": "0", "ρ": "1e-6"}
EPSILON = {"ε": 1.0, "ρ": 8.0}
A, N = "count(*) FILTER (WHERE x < 50)", "count(*)"
NESTED = tuple(f"count(*) FILTER (WHERE x >= {x})" for x in (20, 40, 60, 80))


@dataclass(frozen=True)
class Case:
    """Measures that are asked beside each other, and how many times smaller each error should be."""

    name: str
    measures: tuple[str, ...]
    targets: tuple[float, ...]
    law: str = "ε"


CASES = (
    Case("a share and its total", (A, N), (2.0, 1.4)),
    Case("a share and its total", (A, N), (1.4, 1.0), law="ρ"),
    Case("a share as a quotient", (f"{A} / {N}",), (1.4,)),
    Case("four nested counts", NESTED, (2.0, 2.3, 2.8, 4.0)),
    Case("four nested counts", NESTED, (1.0, 1.15, 1.4, 2.0), law="ρ"),
    Case(
        "a pivot of sums",
        ("sum(CASE WHEN x < 50 THEN x END)", "sum(CASE WHEN x >= 50 THEN x END)"),
        (2.0, 2.0),
    ),
    Case("a mean, in the middle of its bounds", ("avg(middle)",), (1.2,)),
    Case("a mean, near one of its bounds", ("avg(top)",), (1.46,)),
    Case("a mean and the count of its values", ("avg(x)", "count(x)"), (1.2, 1.35)),
    Case("a mean and the count of all rows", ("avg(x)", "count(*)"), (1.2, 1.5)),
    Case("a variance", ("variance(x)",), (1.5,)),
    Case("a mean and a variance", ("avg(x)", "variance(x)"), (1.2, 1.5)),
)


def figures(groups: int = GROUPS) -> list[Figure]:
    found: list[Figure] = []
    rows = []
    for law, delta in LAWS.items():
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), groups, delta)
            for case in (each for each in CASES if each.law == law):
                errors = measured(Path(folder), case)
                for place, (measure, target) in enumerate(zip(case.measures, case.targets, strict=True)):
                    apart, together = (each[place] for each in errors)
                    ratio = apart.drawn / together.drawn
                    rows.append(
                        (
                            f"{case.name}: {measure}",
                            law,
                            *map(str, (apart, together)),
                            f"{ratio:.2f}",
                            f"{target:.2f}",
                        )
                    )
                    found.append(
                        at_least(f"{case.name}, in {law}: {measure}", ratio, target * TOLERANCE, "×")
                    )
    columns = ("", "", "apart", "together", "smaller by", "reachable")
    show(f"Errors at the same price, over {groups:,} groups: drawn (by the law)", columns, rows)
    return found


@dataclass(frozen=True)
class Error:
    """A standard deviation: of what was drawn, and by the laws of the noise where it is known before."""

    drawn: float
    by_law: float | None

    def __str__(self) -> str:
        return f"{self.drawn:.3g}" + ("" if self.by_law is None else f" ({self.by_law:.3g})")


def measured(folder: Path, case: Case) -> tuple[list[Error], list[Error]]:
    """Apart, and together."""
    named = ", ".join(f"{each} AS m{i}" for i, each in enumerate(case.measures))
    sql = f"SELECT place, {named} FROM t GROUP BY place"
    apart = partial(bound, together=False)
    return errors_of(folder, sql, case, apart), errors_of(folder, sql, case, bound)


def errors_of(folder: Path, sql: str, case: Case, bounding: Callable[..., object]) -> list[Error]:
    policy = folder / f"{len(list(folder.glob('*.toml')))}.toml"  # with a ledger of its own
    policy.write_text((folder / "policy.toml").read_text())
    with patch.object(planning, "bound", bounding), discreet.open(policy, analyst="a") as curator:
        plan = curator.plan(sql, epsilon=EPSILON[case.law])
        answer = curator.ask(sql, epsilon=EPSILON[case.law])
    drawn = [float(np.nanstd(answer.released.raw[f"m{i}"])) for i in range(len(case.measures))]
    return [Error(each, by_law(plan, f"m{i}")) for i, each in enumerate(drawn)]


def by_law(plan: Plan, name: str) -> float | None:
    """Of a count or a sum: from the noise of all that it is computed from."""
    output = next(each for each in plan.bounded.query.outputs if each.name == name)
    own = getattr(output.expression, "name", None)
    measure = next((each for each in plan.bounded.measures if each.measure.name == own), None)
    if measure is None or len(measure.vectors) > 1:
        return None
    variance = 0.0
    for part, weight in measure.vectors[0].terms:
        noise = plan.mechanisms[part]
        of_one = 2 * noise.scale**2 if isinstance(noise, DiscreteLaplace) else noise.sigma_squared
        variance += float(of_one * (weight * plan.bounded.parts[part].scale) ** 2)
    return variance**0.5


def write(folder: Path, groups: int, delta: str) -> None:
    """200 rows in each group, with x spread evenly over its bounds."""
    (folder / "policy.toml").write_text(POLICY.format(delta=delta, last=groups - 1))
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "COPY (SELECT range AS person, range // 200 AS place, (range % 200) / 2 + 0.25 AS x,"
            f" 50.0 AS middle, 98.0 AS top FROM range({groups * 200}))"
            f" TO '{folder / 't.parquet'}' (FORMAT parquet)"
        )


if __name__ == "__main__":
    CONSOLE.print()
    sys.exit(judge(figures(*map(int, sys.argv[1:2]))))
