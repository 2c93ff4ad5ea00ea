"""How often the printed 95 % intervals hold the plain SQL answer, with a profile and without one.

    .venv/bin/python bench/truth.py                 20 repeats of each question, as in `make bench`
    .venv/bin/python bench/truth.py 200
    .venv/bin/python bench/truth.py 200 flights     of one table

`truth_tables.py` has the tables and the questions. Every question is asked at ε = 1 in all: with a profile,
0.1 of it is for the profile, which each repeat draws anew. The data are read once for each plan. Noise is
drawn, and everything computed from it, in each repeat, as the curator does it.

An interval that does not hold the plain answer is a miss. It is marked if a note on the answer says that more
may be missing than the error holds, and how much. Whether the miss is as large as that is not checked.

The priors of `aggregates/left_out.py` were chosen by these very tables. So the figures say how well they fit
these, and less about others.
"""

import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_least, at_most, show
from truth_tables import CASES, Case, Question

import discreet
from discreet.answers.released import Released
from discreet.bounds.bound import bound
from discreet.bounds.calibrate import Plan, calibrate, charge_for
from discreet.curator.curator import Curator
from discreet.model.deadline import Deadline
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.request import request_of
from discreet.profile.limits import with_best_limits
from discreet.profile.profile_plan import ProfilePlan
from discreet.profile.table_profile import TableProfile
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.release.draw import answer_from
from discreet.release.exact_vectors import Results
from discreet.release.question_release import QuestionRelease

REPEATS = 20
EPSILON, PROFILE = 1.0, 0.1
POLICY = """
[dataset]
name = "truth"
neighbours = "add_remove"
budget = {{ epsilon = 900, delta = {delta} }}
least_price = 1e-9
"""
MARK = re.compile(r"would be missing than errors hold")


@dataclass
class Held:
    """How often the intervals of a question hold, and how wide they are beside those of noise alone."""

    intervals: int = 0
    held: int = 0
    marked: int = 0
    noise_alone: int = 0
    widths: list[float] = field(default_factory=list)

    @property
    def width(self) -> float:
        return float(np.median(self.widths)) if self.widths else float("nan")


class Asked:
    """A case that is open: questions are planned as the curator plans them, their data read, both once."""

    def __init__(self, case: Case, curator: Curator) -> None:
        self.case = case
        self._curator = curator
        self._data = curator._data
        self._dataset = curator.dataset
        self._read: dict[str, Results] = {}
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._releases: dict[int, tuple[QuestionRelease, str]] = {}
        """By plan, with its identity."""
        self._profiles = {
            name: ProfilePlan(
                table=curator.dataset.tables[name],
                neighbours=curator.dataset.neighbours,
                loss=charge_for(curator.dataset, Fraction(str(PROFILE))),
            )
            for name in case.tables
        }

    def profiles(self) -> dict[str, TableProfile]:
        """One more draw of each table's profile."""
        return {
            name: plan.profile_from(plan.draw_noise(self._exact(plan, name), self._deadline()), plan.loss)
            for name, plan in self._profiles.items()
        }

    def plan(self, sql: str, epsilon: float, profiles: dict[str, TableProfile] | None) -> Plan:
        plan = self._planned(sql, epsilon, self._dataset)
        best = with_best_limits(plan, self._dataset, profiles) if profiles else self._dataset
        return plan if best is self._dataset else self._planned(sql, epsilon, best)

    def _planned(self, sql: str, epsilon: float, dataset: Dataset) -> Plan:
        """Plans differ by limits alone."""
        tables = [table for table in dataset.tables.values() if isinstance(table, PrivateTable)]
        key = sql, epsilon, *((each.max_rows, each.max_groups) for each in tables)
        if key not in self._plans:
            public = self._curator._public.reading()
            query = resolve(parse_sql(sql), dataset, public.keys, public.fan_out)
            self._plans[key] = calibrate(bound(query, dataset), request_of(epsilon=epsilon), dataset)
        return self._plans[key]

    def answer(self, plan: Plan) -> Released:
        """Noise on the exact numbers, and what is computed from it."""
        if id(plan) not in self._releases:
            release = QuestionRelease(plan=plan, dataset=self._dataset)
            self._releases[id(plan)] = release, release.identity()
        release, identity = self._releases[id(plan)]
        drawn = release.draw_noise(self._exact(release, identity), self._deadline())
        return answer_from(plan, drawn, self._deadline())

    def person(self, table: str) -> str:
        return self._table(table).person.name

    def bounds(self, table: str, head: str) -> tuple[float, float] | None:
        """Of the column that a SELECT sums; None where it counts."""
        column = head.rpartition("(")[2].partition(")")[0]
        found = self._table(table).columns.get(column)
        if found is None or found.bounds is None:
            return None
        return float(found.bounds.low), float(found.bounds.high)

    def most(self, table: str, *, people: bool) -> int:
        """The largest limit that the owner allows."""
        declared = self._table(table)
        return declared.max_groups if people else declared.max_rows

    def _table(self, name: str) -> PrivateTable:
        table = self._dataset.tables[name]
        if not isinstance(table, PrivateTable):
            raise TypeError("A table with a person is expected here.")
        return table

    def _exact(self, release: QuestionRelease | ProfilePlan, key: str) -> Results:
        if key not in self._read:
            self._read[key] = self._data.read_exact(self._data.emit(release), self._deadline())
        return self._read[key]

    def _deadline(self) -> Deadline:
        return self._data.deadline()


def open_case(case: Case, delta: float, folder: Path) -> tuple[Asked, duckdb.DuckDBPyConnection]:
    """Data and policy in a folder; also a plain database of the same tables."""
    plain = duckdb.connect()
    case.write(plain, folder)
    text = POLICY.format(delta=delta)
    for name, declared in case.tables.items():
        plain.execute(f"COPY {name} TO '{folder}/{name}.parquet'")
        text += f'\n[tables.{name}]\nsource = "{name}.parquet"{declared}'
    (folder / "policy.toml").write_text(text)
    return Asked(case, discreet.open(folder / "policy.toml", analyst="bench")), plain


def measure(
    asked: Asked, plain: duckdb.DuckDBPyConnection, *, profiled: bool, repeats: int
) -> dict[str, Held]:
    """All questions, asked many times."""
    found: dict[str, Held] = {}
    private = asked._dataset.delta > 0
    for question in asked.case.questions:
        if question.private_keys and not private:
            continue
        held = found[question.title] = Held()
        truth = _truth(plain, question)
        for _ in range(repeats):
            profiles = asked.profiles() if profiled else None
            plan = asked.plan(question.sql, EPSILON - (PROFILE if profiled else 0), profiles)
            _judge(held, asked.answer(plan), truth, question)
    return found


def _truth(plain: duckdb.DuckDBPyConnection, question: Question) -> dict[tuple[object, ...], float]:
    sql = question.counted or re.sub(r" (HAVING count\(\*\) > \d+|ORDER BY v .*)$", "", question.sql)
    rows = plain.execute(sql).fetchall()
    return {row[:-1]: float(row[-1]) for row in rows if row[-1] is not None}


def _judge(held: Held, answer: Released, truth: dict[tuple[object, ...], float], question: Question) -> None:
    names = [name for name in answer.columns if name != "v"]
    keys = list(zip(*(answer.values[name].tolist() for name in names), strict=True)) if names else [()]
    if question.counted:
        _judge_picks(held, answer, keys, truth)
        return
    counted = "count(" in question.sql.split(" AS v")[0] or "sum(" in question.sql.split(" AS v")[0]
    at = [i for i, key in enumerate(keys) if key in truth or counted]  # an average of nothing is nothing
    plain = np.array([truth.get(keys[i], 0.0) for i in at])
    low, high = answer.low["v"][at], answer.high["v"][at]
    noise_low, noise_high = (
        each.get("v", wide)[at]
        for each, wide in ((answer.noise_low, answer.low["v"]), (answer.noise_high, answer.high["v"]))
    )
    missing = np.isnan(low)
    holds = missing | ((low - _ROUND * np.abs(plain) <= plain) & (plain <= high + _ROUND * np.abs(plain)))
    says = any(MARK.search(note) for note in answer.notes)
    held.intervals += len(at)
    held.held += int(holds.sum())
    held.marked += int((~holds).sum()) if says else 0
    held.noise_alone += int((missing | ((noise_low <= plain) & (plain <= noise_high))).sum())
    with np.errstate(invalid="ignore"):
        ratios = (high - low) / np.maximum(noise_high - noise_low, 1e-9)
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios):
        held.widths.append(float(np.median(ratios)))


_ROUND = 1e-9
"""Sums of floats in plain SQL differ in the last digits."""


def _judge_picks(
    held: Held, answer: Released, keys: list[tuple[object, ...]], truth: dict[tuple[object, ...], float]
) -> None:
    """Each pick is within so many of the best that is left, says the note."""
    (note,) = [note for note in answer.notes if note.startswith("Each pick is within")]
    within = float(re.search(r"[\d,]+", note)[0].replace(",", ""))
    left = dict(truth)
    for key in keys:
        held.intervals += 1
        holds = truth.get(key, 0.0) >= max(left.values()) - within
        held.held += holds
        held.noise_alone += holds
        held.marked += (not holds) and any(MARK.search(note) for note in answer.notes)
        left.pop(key, None)


def figures(repeats: int = REPEATS, only: str = "") -> list[Figure]:
    """For each table and currency, with and without a profile."""
    warnings.simplefilter("ignore")
    found: list[Figure] = []
    for case in CASES:
        if only in case.name:
            for delta in (0, 1e-6):
                found += _figures(case, delta, repeats)
    return found


def _figures(case: Case, delta: float, repeats: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        asked, plain = open_case(case, delta, Path(name))
        for profiled in (False, True):
            held = measure(asked, plain, profiled=profiled, repeats=repeats)
            how = f"{'ρ' if delta else 'ε'}, {'with a profile' if profiled else 'no profile'}"
            title = f"truth: {case.name}, {how}"
            yield from _shown(title, held)


def _shown(title: str, held: dict[str, Held]) -> Iterator[Figure]:
    rows = [
        (
            name,
            f"{each.noise_alone / each.intervals:.1%}",
            f"{each.held / each.intervals:.1%}",
            f"{each.marked / each.intervals:.1%}",
            f"{(each.intervals - each.held - each.marked) / each.intervals:.1%}",
            f"{each.width:.2f}×",
        )
        for name, each in held.items()
    ]
    show(title, ("question", "noise alone", "holds", "marked miss", "unmarked miss", "width"), rows)
    yield at_least(title, 100 * np.mean([each.held / each.intervals for each in held.values()]), 93, " %")
    unmarked = [(each.intervals - each.held - each.marked) / each.intervals for each in held.values()]
    yield at_most(f"{title}: unmarked misses", 100 * float(np.mean(unmarked)), 5, " %")


if __name__ == "__main__":
    arguments = [*sys.argv[1:], "", ""]
    for figure in figures(int(arguments[0] or REPEATS), arguments[1]):
        CONSOLE.print(figure)
