"""Layer 5: how much answers give away, seen from outside, on neighbours that are worst for each aggregate.

A question is planned once and released many times. Groups are independent, so that each is an experiment of
its own, with the person or without: 100 at once. Events are fixed in advance; a lower bound on ε has a false
alarm of 10⁻⁶ in each test. With noise of half the scale, or without a weight, the same bound passes the claim
by more than five standard deviations: what is broken on purpose goes unseen with less than 10⁻⁶, too.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
import pytest

from discreet.audit.statistics import epsilon_lower_bound
from discreet.model.neighbours import Neighbours
from discreet.noise.binomial import clopper_pearson
from tests.question.clinic import Database, clinic, planned
from tests.question.releasing import release

GROUPS = range(100)
RELEASES = 40
DAYS = [date(2026, 1, 1) + timedelta(days=i) for i in GROUPS]
BY_DAY = f"FROM visits WHERE born IN ({', '.join(repr(str(day)) for day in DAYS)}) GROUP BY born"
EPSILON = 1


@dataclass(frozen=True)
class Case:
    """A measure, what a person adds to a group, and the event: the answer is at least this, or at most."""

    measure: str
    rows: tuple[tuple[str, float, int, str], ...]
    event: float
    rest: tuple[tuple[str, float, int, str], ...] = ()
    """What somebody else has there in any case."""
    releases: int = RELEASES


ROW = ("north", 4.0, 99, "a")
LOW = ("north", -2.0, 0, "b")
CASES = {
    "count": Case("count(*)", (ROW, ROW), 2.0),
    "count people": Case("count(DISTINCT patient)", (ROW,), 1.0),
    "count other": Case("count(DISTINCT note)", (ROW,), 1.0),
    "sum": Case("sum(cost)", (ROW, ROW), 8.0),
    "avg": Case("avg(cost)", (ROW, ROW), 1.0, rest=(LOW, LOW), releases=10),
    "median": Case("median(age)", (ROW, ROW), 50.0, rest=(LOW, LOW), releases=10),
}
TELLING = ["count", "count people", "count other", "sum"]
"""Those whose event tells neighbours apart as well as any can, so that a break must show."""


def table(rows, rest, present):
    others = [(1000 + i, *row, DAYS[i]) for i in GROUPS for row in rest]
    return others + [(i, *row, DAYS[i]) for i in GROUPS if present for row in rows]


def samples(case, plan, present, *, ran=None):
    """Whether the event happened in each group of each release; `ran` is another plan that made the SQL."""
    database = Database()
    database.fill(table(case.rows, case.rest, present))
    results = database.results(ran or plan)
    return np.array([release(plan, results).raw["x"] >= case.event for _ in range(case.releases)])


def seen(case, plan, *, ran=None):
    """A lower bound on ε, from groups with the person against groups without."""
    with_person, without = (int(samples(case, plan, present, ran=ran).sum()) for present in (True, False))
    return epsilon_lower_bound(with_person, without, case.releases * len(GROUPS), 0.0)


def plan_of(case, *, epsilon=EPSILON, **settings):
    return planned(f"SELECT born, {case.measure} AS x {BY_DAY}", clinic(**settings), epsilon)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_aggregate_gives_away_more_than_its_price(case):
    plan = plan_of(case)
    assert plan.loss.epsilon == EPSILON
    assert seen(case, plan) <= EPSILON


@pytest.mark.parametrize("name", TELLING)
def test_noise_of_half_the_scale_is_seen(name):
    case = CASES[name]
    halved = replace(plan_of(case), mechanisms=plan_of(case, epsilon=2 * EPSILON).mechanisms)
    assert seen(case, halved) > EPSILON


@pytest.mark.parametrize("name", TELLING)
def test_a_person_who_is_not_held_to_the_limits_is_seen(name):
    """Eight rows, eight values, eight times: the SQL was written for limits that noise was not made for."""
    case = CASES[name]
    heavy = tuple((ward, cost, age, note * (i + 1)) for i in range(8) for ward, cost, age, note in case.rows)
    heavy = replace(case, rows=heavy)
    assert seen(heavy, plan_of(heavy)) <= EPSILON
    if name != "count people":  # in one group a person counts once, whatever the limit
        assert seen(heavy, plan_of(heavy), ran=plan_of(heavy, max_rows=50, max_groups=50)) > EPSILON


def pairs_seen(plan):
    """A person moves from one day to the next: high there and low here, against the reverse."""
    counts = []
    for first in (0, 1):
        database = Database()
        database.fill([(i, *ROW, DAYS[i + first]) for i in GROUPS if i % 2 == 0 for _ in range(2)])
        results = database.results(plan)
        values = np.array([release(plan, results).raw["x"] for _ in range(RELEASES * 2)])
        counts.append(int(((values[:, ::2] >= 2) & (values[:, 1::2] <= 0)).sum()))
    return epsilon_lower_bound(counts[0], counts[1], RELEASES * len(GROUPS), 0.0)


def test_a_person_who_is_replaced_gives_away_no_more_and_add_remove_noise_is_seen():
    case = CASES["count"]
    assert pairs_seen(plan_of(case, relation=Neighbours.REPLACE_ONE)) <= EPSILON
    assert pairs_seen(plan_of(case)) > EPSILON


# Selection


def picked(plan, ahead):
    """How often the other ward is picked, with one person more in one of them; 2,000 times."""
    database = Database()
    database.fill([(1, *ROW)] if ahead else [])
    results = database.results(plan)
    return sum(release(plan, results).values["ward"][0] == "south" for _ in range(2000))


def selection(epsilon):
    sql = "SELECT ward FROM visits GROUP BY ward ORDER BY count(DISTINCT patient) DESC LIMIT 1"
    return planned(sql, clinic(), epsilon)


def test_a_selection_gives_away_no_more_than_its_price_and_twice_the_price_is_seen():
    """Between equal wards the other one is picked half of the time, behind by one e^-ε times as often."""
    plan = selection(EPSILON)
    assert plan.loss.epsilon == EPSILON
    assert epsilon_lower_bound(picked(plan, False), picked(plan, True), 2000, 0.0) <= EPSILON
    careless = replace(plan, mechanisms=selection(4 * EPSILON).mechanisms)
    assert epsilon_lower_bound(picked(careless, False), picked(careless, True), 2000, 0.0) > EPSILON


# Private keys


KEYS = 20_000


@pytest.mark.parametrize("measure", ["count(*)", "count(DISTINCT patient)", "sum(cost)"])
def test_a_key_of_one_person_is_named_no_more_often_than_delta_and_a_lower_threshold_is_seen(measure):
    """20,000 people have a key each. False alarm 10⁻⁶: a Clopper-Pearson bound on how often one is named."""
    plan = planned(
        f"SELECT note, {measure} AS x FROM visits GROUP BY note", clinic(epsilon=1, delta="0.01"), 1
    )
    delta = float(plan.loss.delta)
    assert delta > 1e-3
    database = Database()
    rows = 2 if measure == "count(*)" else 1
    database.fill([(i, "north", 4.0, 1, f"{i}") for i in range(KEYS) for _ in range(rows)])
    results = database.results(plan)

    def least(threshold):
        lowered = replace(plan, threshold=replace(plan.threshold, threshold=threshold))
        return clopper_pearson(len(release(lowered, results)), KEYS, 1e-6)[0]

    honest = plan.threshold.threshold
    assert least(honest) <= delta
    assert least(honest // 2) > delta
