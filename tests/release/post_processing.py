"""Questions whose answers are computed from noisy numbers: how often their intervals hold the exact answer.

Each is asked once: what it reads is kept, and noise is drawn as often as is wanted. The whole path from exact
sums to the printed interval is run each time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
from discreet.model.deadline import Deadline
from discreet.model.noisy_table import AfterNoise
from discreet.model.request import ByEpsilon, Request
from discreet.release.question_release import QuestionRelease
from tests.question.clinic import Database, clinic
from tests.question.noisy import answering

LAWS = {"ε": 0, "ρ": Fraction(1, 10**6)}
"""The δ of the budget: with one, questions are charged in ρ, and noise is Gaussian."""
PEOPLE = 6_000
_WARD = np.where(np.arange(PEOPLE) % 3 == 0, "south", "north")
_COST = np.arange(PEOPLE) % 7 - 2.0
_AGE = 1 + (np.arange(PEOPLE) % 7 + np.arange(PEOPLE) // 7 % 5) % 3
_OLD = 20 + 4 * (np.arange(PEOPLE) % 7) + np.arange(PEOPLE) // 7 % 41


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with an output y, the row that is looked at, and what it is in truth."""

    sql: str
    truth: Callable[[], float]
    row: int = 0
    epsilon: Fraction = Fraction(1, 10)
    age: tuple[int, ...] = tuple(map(int, _OLD))


_CORRELATION = Case(
    sql="SELECT corr(cost, age) AS y FROM visits",
    truth=lambda: float(np.corrcoef(_COST, _OLD)[0, 1]),
    epsilon=Fraction(2),
)
IN_MUCH_NOISE = replace(_CORRELATION, epsilon=Fraction(1, 10))
"""Its interval is nearly as wide as the correlation is large, and wider than it has to be."""
CASES = {
    "a window": Case(
        sql="SELECT ward, 100.0 * count(*) / sum(count(*)) OVER () AS y FROM visits GROUP BY ward",
        truth=lambda: 100 * float(np.mean(_WARD == "north")),
    ),
    "a ratio of two aggregates": Case(
        sql=(
            "SELECT a.n / b.n AS y FROM (SELECT sum(age) AS n FROM visits WHERE ward = 'north') AS a,"
            " (SELECT count(*) AS n FROM visits WHERE cost > 1) AS b"
        ),
        truth=lambda: float(_OLD[_WARD == "north"].sum() / (_COST > 1).sum()),
    ),
    "a correlation": _CORRELATION,
    "a reconciled total": Case(
        sql=(
            "SELECT ward, age, count(*) AS y FROM visits WHERE age IN (1, 2, 3) GROUP BY ROLLUP (ward, age)"
        ),
        truth=lambda: float(PEOPLE),
        row=8,
        age=tuple(map(int, _AGE)),
    ),
}


def share_that_holds(case: Case, delta: Fraction | int, runs: int) -> float:
    """The share of the intervals of so many draws that hold the exact answer."""
    draw = _drawing(case, delta)
    truth, held = case.truth(), 0
    for _ in range(runs):
        found = draw()
        held += bool(found.low["y"][case.row] <= truth <= found.high["y"][case.row])
    return held / runs


def _drawing(case, delta):
    """A draw of the noise, and the answer that is computed from it: as often as it is called."""
    dataset = replace(clinic(delta=delta, unique=True), left_out_share=Fraction(0))
    database = Database()
    database.fill(
        [
            (i, str(ward), float(cost), age)
            for i, (ward, cost, age) in enumerate(zip(_WARD, _COST, case.age, strict=True))
        ]
    )
    release = _release(case, dataset)
    results, key = answering.exact(release, database.connection), release.identity()
    deadline = Deadline.after(6_000)
    return lambda: release.answer_from(key, release.draw_noise(results, deadline), deadline)


def _release(case, dataset):
    asked = answering.read(case.sql, dataset)
    if isinstance(asked, AfterNoise):
        return answering.release_of(case.sql, dataset, case.epsilon)
    request = Request(price=ByEpsilon(epsilon=case.epsilon), confidence=Fraction(95, 100))
    return QuestionRelease(plan=calibrate(bound(asked, dataset), request, dataset), dataset=dataset)
