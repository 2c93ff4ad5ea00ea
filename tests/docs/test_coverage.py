"""Stated intervals hold as often as they say.

One question with thousands of public groups has as many intervals, and the noise of each is drawn on its own.
What they have to contain is the truth of the *bounded* question, in which a person with more than max_rows
rows counts as max_rows, and values are clamped. What limits leave out is not estimated here.

Of 6,000 intervals at 95 %, fewer than 93.5 % or more than 96.5 % hold with probability 10⁻⁷ if 95 % is right.
"""

import duckdb
import numpy as np
import pytest
from scipy.stats import binom

from discreet.curator.open_policy import open_curator
from discreet.dialects.duckdb import DUCKDB
from discreet.noise.laplace import DiscreteLaplace
from discreet.release.estimate import Noisy, estimate, reach
from discreet.release.exact_vectors import exact_vectors
from discreet.sql.emit import emit_sql
from tests.attacks.ask import high, keys, low

GROUPS, QUESTIONS = 1_000, 6
LEAST, MOST = 0.935, 0.965
MAX_ROWS = 3

POLICY = """
[dataset]
name = "survey"
left_out_share = 0
neighbours = "add_remove"
budget = {{ epsilon = 900, delta = {delta} }}

[tables.visits]
source = "visits.parquet"
person = "person"
max_rows = {max_rows}

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.visits.columns.place]
type = "integer"
bounds = [0, {last}]
"""


def bounded(rows):
    """Weights and clamped costs, computed here anew: a heavy person's rows share their weight evenly."""
    of_person = np.unique(rows["person"], return_inverse=True)[1]
    count = np.bincount(of_person)[of_person]
    return np.minimum(1.0, MAX_ROWS / count), np.clip(rows["cost"], 0, 100)


def true_count(weight, _):
    return weight.sum()


def true_sum(weight, cost):
    return (weight * cost).sum()


def true_average(weight, cost):
    return (weight * cost).sum() / weight.sum()


MEASURES = {"count(*)": true_count, "sum(cost)": true_sum, "avg(cost)": true_average}
"""Each aggregate, and what it is of one group's weights and clamped costs."""


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """About 60 rows in each place; most people have one to three rows, some have ten, all in one place."""
    folder = tmp_path_factory.mktemp("visits")
    visits = (
        f"SELECT hash(person) % {GROUPS} AS place, person,"
        " (hash(person, visit) % 1300 / 10)::DOUBLE - 15 AS cost"
        f" FROM (SELECT range AS person FROM range({25 * GROUPS})) AS people, LATERAL (SELECT range AS visit"
        " FROM range(CASE WHEN person % 20 = 0 THEN 10 ELSE 1 + person % 3 END))"
    )
    duckdb.sql(f"COPY ({visits}) TO '{folder}/visits.parquet'")
    return folder


def share_that_holds(folder, measure, *, delta, epsilon):
    """Over all questions and groups. The constants make every question another one, and exclude nobody."""
    rows = duckdb.sql(f"SELECT * FROM '{folder}/visits.parquet'").fetchnumpy()
    weight, cost = bounded(rows)
    order = np.argsort(rows["place"], kind="stable")
    starts = np.searchsorted(rows["place"][order], np.arange(GROUPS + 1))
    within = [order[starts[i] : starts[i + 1]] for i in range(GROUPS)]
    truths = [MEASURES[measure](weight[part], cost[part]) for part in within]
    policy = folder / f"survey_{delta}.toml"
    policy.write_text(POLICY.format(delta=delta, max_rows=MAX_ROWS, last=GROUPS - 1))
    for leftover in folder.glob("*.ledger*"):
        if leftover.is_file():
            leftover.unlink()
    curator = open_curator(policy, analyst="ann")
    holds = 0
    for i in range(QUESTIONS):
        answer = curator.ask(
            f"SELECT place, {measure} AS x FROM visits WHERE cost < {1000 + i} GROUP BY place",
            epsilon=epsilon,
        )
        assert keys(answer, "place") == list(range(GROUPS))
        holds += sum(
            low(answer, "x", row) <= truth <= high(answer, "x", row) for row, truth in enumerate(truths)
        )
    return holds / (GROUPS * QUESTIONS)


def test_the_false_alarm_is_as_stated():
    intervals = GROUPS * QUESTIONS
    below = binom.cdf(np.ceil(LEAST * intervals) - 1, intervals, 0.95)
    above = binom.sf(np.floor(MOST * intervals), intervals, 0.95)
    assert below + above < 1e-6


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("delta", [0, 1e-6], ids=["Laplace", "Gaussian"])
def test_intervals_hold_as_often_as_they_say(visits, measure, delta):
    assert LEAST <= share_that_holds(visits, measure, delta=delta, epsilon=4) <= MOST


@pytest.mark.parametrize("measure", ["count(*)", "sum(cost)"])
@pytest.mark.parametrize("factor", [2, 0.5], ids=["doubled", "halved"])
def test_noise_of_another_scale_than_stated_is_noticed(visits, monkeypatch, measure, factor):
    honest = DiscreteLaplace.release

    def off(self, exact, *args, **kwargs):
        other = DiscreteLaplace(scale=self.scale * factor if factor > 1 else self.scale / 2)
        return honest(other, exact, *args, **kwargs)

    monkeypatch.setattr(DiscreteLaplace, "release", off)
    share = share_that_holds(visits, measure, delta=0, epsilon=4)
    assert share > MOST if factor < 1 else share < LEAST


def test_people_that_are_not_bounded_are_noticed(visits, monkeypatch):
    """Had a heavy person all ten rows, or the truth none of it, hardly any interval would hold."""
    monkeypatch.setattr("tests.docs.test_coverage.MAX_ROWS", 10)
    policy = POLICY.replace("{max_rows}", "3")
    monkeypatch.setattr("tests.docs.test_coverage.POLICY", policy)
    assert share_that_holds(visits, "count(*)", delta=0, epsilon=4) < LEAST


@pytest.mark.parametrize(("delta", "share"), [(0, "0.5"), (1e-6, "0.9")], ids=["Laplace", "Gaussian"])
def test_intervals_of_quantiles_hold_as_often_as_they_say(tmp_path, delta, share):
    """More often, as they end at the outer edges of bins: how rows lie inside of them is not known.

    The rows are read once; noise, estimate and interval are computed 6,000 times, as `ask` does.
    """
    visits = "SELECT range // 2 AS person, pow(hash(range) % 100000 / 1e5, 2) * 100 AS cost, 0 AS place"
    duckdb.sql(f"COPY ({visits} FROM range(600000)) TO '{tmp_path}/visits.parquet'")
    policy = tmp_path / "survey.toml"
    policy.write_text(POLICY.format(delta=delta, max_rows=2, last=1))
    curator = open_curator(policy)
    plan = curator.plan(f"SELECT quantile(cost, {share}) AS x FROM visits", epsilon=2)
    (part,), (measure,), (mechanism,) = plan.bounded.parts, plan.bounded.measures, plan.mechanisms
    (statement,) = emit_sql(plan, curator._engine.relations, DUCKDB)
    exact = exact_vectors(plan, [(statement, curator._engine.run(statement.sql).reveal())])
    histogram = exact.histogram(0, 0, part.leaves)
    edges = np.concatenate([[0], np.cumsum(histogram)])
    truth = part.value_at(float(np.interp(float(share) * edges[-1], edges, np.arange(part.leaves + 1))))
    holds = 0
    for _ in range(GROUPS * QUESTIONS):
        noisy = Noisy(sums={}, trees={0: [mechanism.release(histogram)]}, left_out={}, seed=0)
        (start,), (end,) = reach(plan, measure, estimate(plan, measure, noisy), noisy)
        holds += start <= truth <= end
    assert holds / (GROUPS * QUESTIONS) >= LEAST
    assert end - start <= 4 * float(part.width)  # some bins, and not the whole range
