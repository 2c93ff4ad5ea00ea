"""Profiles: what one person can change, what is charged, and what questions gain by them."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import InvalidInput, QueryRefused
from discreet.dialects.duckdb import DUCKDB
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss, amount_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.laplace import DiscreteLaplace
from discreet.profile.limits import best_limit, forecast
from discreet.profile.profile_plan import EDGES, ProfilePlan
from discreet.profile.table_profile import NoisyBins
from discreet.release.exact_vectors import small_integers_of
from tests.attacks.ask import Clinic
from tests.question.clinic import Database, clinic, has_one_of

COUNT = "SELECT count(*) AS n FROM visits"
cell = st.sampled_from([None, float("nan"), float("inf"), -1e300, -3.0, 0.0, 4.0, 1e300])
row = st.tuples(
    st.sampled_from(["north", "south", "elsewhere", None]),
    cell,
    st.sampled_from([None, -5, 3, 90, 2**40]),
    st.sampled_from(["a", None]),
)
DATABASE = Database()


def plan_of(relation=Neighbours.ADD_REMOVE, loss=None):
    table = clinic(max_rows=2).tables["visits"]
    return ProfilePlan(table=table, neighbours=relation, loss=loss or PureLoss(epsilon=1))


def histograms(plan, rows):
    DATABASE.fill(rows)
    (statement,) = plan.statements({"visits": "visits"}, DUCKDB)
    found = DATABASE.connection.execute(statement.sql).fetchnumpy()
    vectors = [np.zeros(size, dtype=int) for size in plan._sizes()]
    places, leaves, counts = (small_integers_of(found[name]) for name in ("h", "leaf", "s0"))
    for place, leaf, count in zip(places, leaves, counts, strict=True):
        vectors[place][leaf] += count
    return vectors


def test_another_format_of_dates_is_another_profile():
    """Otherwise the one that was taken of days and months in another order was given again."""
    table = plan_of().table
    days = {form: replace(table.columns["born"], format=form) for form in (None, "DD.MM.YYYY", "MM.DD.YYYY")}
    listed = {form: replace(column, keys=(date(2025, 2, 1),)) for form, column in days.items()}
    plans = [
        replace(plan_of(), table=replace(table, columns={**table.columns, "born": column}))
        for column in listed.values()
    ]
    assert len({plan.identity() for plan in plans}) == 3


def test_a_profile_shows_who_has_more_than_one_of_what_a_person_has_one_of():
    table = has_one_of("ward", "cost", max_rows=2).tables["visits"]
    plan = replace(plan_of(), table=table)
    rows = [(1, "north", 9.0, 3, "a"), (1, "south", 1.0, 3, "a"), (2, "north", 1.0, 3, "a")]
    _, wards, costs, _ = histograms(plan, rows)
    assert wards.tolist()[:3] == [1, 1, 0]
    assert costs[2] == 1  # above, although the smallest is not
    assert plan.identity() == plan_of().identity()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(row, max_size=6), max_size=5), st.lists(row, max_size=9), st.lists(row, max_size=9))
def test_one_person_is_in_one_bin_of_each_histogram(others, one, other):
    """Layer 1: through the real SQL, for both relations of neighbours, whatever the rows hold."""
    rows = [(person, *each) for person, theirs in enumerate(others) for each in theirs]
    plan = plan_of()
    without, with_one, with_other = (
        histograms(plan, rows + [(99, *each) for each in added]) for added in ([], one, other)
    )
    for a, b, c in zip(without, with_one, with_other, strict=True):
        assert np.abs(b - a).sum() == (1 if one else 0)
        replaced = Sensitivity.histogram(Neighbours.REPLACE_ONE)
        assert np.abs(b - c).sum() <= replaced.l1
        assert ((b - c) ** 2).sum() <= replaced.l2_squared


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("loss", [PureLoss(epsilon=1), ConcentratedLoss(rho=1, delta=0)])
def test_the_histograms_together_cost_what_is_charged(relation, loss):
    plan = plan_of(relation, loss)
    sensitivity = Sensitivity.histogram(relation)
    paid = sum(amount_of(noise.loss(sensitivity)) for noise in plan.noise())
    assert paid <= amount_of(loss)
    assert paid > amount_of(loss) * 999 / 1000


@pytest.fixture
def wide(tmp_path):
    """Declared limits are far larger than what people have."""
    found = Clinic(tmp_path, epsilon=50)
    found.policy.write_text(found.policy.read_text().replace("max_rows = 3", "max_rows = 500"))
    return found


def test_a_profile_is_charged_once_and_questions_use_it(wide):
    with wide.open() as curator:
        assert curator.plan(COUNT, epsilon=1).bounded.query.source.max_rows == 500
        first = curator.profile("visits", epsilon=5)
        assert curator.budget().spent == PureLoss(epsilon=5)
        again = curator.profile("visits", epsilon=5)
        assert curator.budget().spent == PureLoss(epsilon=5)
        assert first.rows.people.tolist() == again.rows.people.tolist()
        assert curator.plan(COUNT, epsilon=1).bounded.query.source.max_rows <= 4
        assert "by the profile" in curator.explain(COUNT, epsilon=1).notes[-1]
        assert curator.for_analyst("bob").plan(COUNT, epsilon=1).bounded.query.source.max_rows <= 4
    with wide.open() as curator:  # another process
        assert curator.plan(COUNT, epsilon=1).bounded.query.source.max_rows <= 4
        curator.profile("visits", epsilon=6)
        assert curator.budget().spent == PureLoss(epsilon=11)


def test_a_profile_of_another_version_or_policy_is_not_used(wide):
    with wide.open() as curator:
        curator.profile("visits", epsilon=5)
        curator._ledger.refresh("clinic")
    with wide.open() as curator:
        assert curator.plan(COUNT, epsilon=1).bounded.query.source.max_rows == 500
        curator.profile("visits", epsilon=5)
    wide.policy.write_text(wide.policy.read_text().replace("bounds = [0, 119]", "bounds = [0, 99]"))
    with wide.open() as curator:
        assert curator.plan(COUNT, epsilon=1).bounded.query.source.max_rows == 500


def test_neighbours_with_the_same_profile_have_the_same_plan(wide, monkeypatch):
    """Limits follow from what was released alone: here, 40 people have one row, and 9 have two."""

    def released(_, vector, **__):
        return np.array([40, 9] + [0] * (len(vector) - 2))

    monkeypatch.setattr(DiscreteLaplace, "release", released)
    folder, plans = wide.policy.parent, []
    for one in ("", "WHERE patient <> 7"):
        copy = f"COPY (SELECT * FROM '{folder}/visits.parquet' {one}) TO '{folder}/other.parquet'"
        duckdb.connect().execute(copy)
        (folder / "other.parquet").replace(folder / "visits.parquet")
        for ledger in folder.glob("*.ledger*"):
            if ledger.is_file():
                ledger.unlink()
        with wide.open() as curator:
            curator.profile("visits", epsilon=5)
            plans.append(curator.plan(COUNT, epsilon=1))
    assert plans[0] == plans[1]
    assert plans[0].bounded.query.source.max_rows == 2


@pytest.mark.parametrize("rows", [[], [(1, "north", 1.0, 1)]], ids=["nobody", "one person"])
def test_of_a_table_with_nobody_or_one_person(rows):
    vectors = histograms(plan_of(), rows)
    assert [int(vector.sum()) for vector in vectors] == [len(rows)] * len(vectors)


def test_a_public_or_unknown_table_is_refused(wide):
    with wide.open() as curator:
        with pytest.raises(discreet.DiscreetError, match="visit"):
            curator.profile("visit", epsilon=1)
        with pytest.raises(InvalidInput):
            curator.profile("visits")


def bins(**people):
    found = np.zeros(len(EDGES) + 1)
    for name, count in people.items():
        found[EDGES.index(int(name[1:]))] = count
    return NoisyBins(people=found, noise=DiscreteLaplace(scale=1))


def test_a_forecast_counts_what_is_beyond_the_limit():
    two_kinds = bins(n1=100, n4=50)
    assert forecast(two_kinds, 4).left_out == 0
    assert forecast(two_kinds, 2).left_out == pytest.approx(100)
    assert forecast(two_kinds, 2).share == pytest.approx(100 / 300)


def test_a_profile_that_tells_nothing_changes_no_limit():
    """Whoever pays next to nothing must not choose the limits of all."""
    noise_only = NoisyBins(
        people=np.tile([30.0, -20.0], len(EDGES))[: len(EDGES) + 1], noise=DiscreteLaplace(scale=1000)
    )
    assert best_limit(noise_only, 30, noise=30, groups=1) == 30


def test_noise_far_beyond_everybody_makes_no_rows():
    """One bin of forty that noise lifts is usual. Far out, it would be more rows than all people have."""
    few, noise = bins(n1=3_000, n2=900), DiscreteLaplace(scale=30)
    lifted = np.where(np.arange(len(few.people)) == EDGES.index(4096), 220.0, few.people)  # once in 3,000
    assert forecast(NoisyBins(people=lifted, noise=noise), 2).share == 0
    sure = np.where(lifted == 220, 400.0, lifted)
    assert forecast(NoisyBins(people=sure, noise=noise), 2).share > 0.9
    near = np.where(np.arange(len(few.people)) == EDGES.index(6), 220.0, few.people)
    assert forecast(NoisyBins(people=near, noise=noise), 2).share > 0.1


def test_people_who_all_have_many_rows_are_seen():
    many = NoisyBins(people=bins(n64=250).people, noise=DiscreteLaplace(scale=30))
    assert best_limit(many, 100, noise=1, groups=1) == 64


def test_the_best_limit_weighs_noise_against_what_is_left_out():
    two_kinds = bins(n1=100, n4=50)
    assert best_limit(two_kinds, 64, noise=64, groups=1) == 4  # noise of 4, against 50 rows a step
    assert best_limit(two_kinds, 64, noise=64_000, groups=1) == 1
    assert best_limit(two_kinds, 3, noise=3, groups=1) == 3  # never more than the owner allows


def stopped(*_, **__):
    raise KeyboardInterrupt


def test_after_ctrl_c_a_profile_can_be_taken_at_any_price(wide, monkeypatch):
    """Another price was refused: the charge that was lost had the key of the next profile."""
    with wide.open() as curator:
        with monkeypatch.context() as patched:
            patched.setattr(ProfilePlan, "draw_noise", stopped)
            with pytest.raises(KeyboardInterrupt):
                curator.profile("visits", epsilon=5)
        assert curator.budget().spent == PureLoss(epsilon=5)
        curator.profile("visits", epsilon=6)
        curator.profile("visits", epsilon=5)
        assert curator.budget().spent == PureLoss(epsilon=16)
    with wide.open() as curator:
        assert curator._profiles.found["visits"].loss == PureLoss(epsilon=6)


def test_the_best_profile_that_was_paid_for_is_used(wide):
    with wide.open() as curator:
        for epsilon in (5, 7, 6):
            curator.profile("visits", epsilon=epsilon)
    with wide.open() as curator:
        assert curator._profiles.found["visits"].loss == PureLoss(epsilon=7)


@pytest.mark.parametrize("rho", ["1/3", 0.1, "0.12345678901234567890123"])
def test_a_profile_at_a_price_that_is_rounded_is_charged_once(tmp_path, rho):
    """A ledger charges whole units, rounded up. The profile was looked for by the price as it was given."""
    clinic = Clinic(tmp_path, epsilon=10, delta=1e-6)
    with clinic.open() as curator:
        first = curator.profile("visits", rho=Fraction(rho))
        spent = curator.budget().spent
        again = curator.profile("visits", rho=Fraction(rho))
        assert curator.budget().spent == spent
        assert first.rows.people.tolist() == again.rows.people.tolist()
        assert first.loss == again.loss == spent


def test_an_error_that_only_the_best_limits_can_afford_is_not_refused(wide):
    """With the declared 500 rows of a person it costs ε = 300, and 50 is all there is.

    At ε = 40 hardly any noise is on the profile: a bin of nobody stands out in fewer than one of 1,000 runs.
    """
    with wide.open() as curator:
        with pytest.raises(QueryRefused, match="at most"):
            curator.ask(COUNT, within=5)
        curator.profile("visits", epsilon=40)
        plan = curator.plan(COUNT, within=5)
        assert plan.bounded.query.source.max_rows <= 4
        assert any("charged anew" in note for note in curator.explain(COUNT, within=5).notes)
        assert amount_of(plan.loss) < 5
        curator.ask(COUNT, within=5)
        with pytest.raises(QueryRefused, match="at most"):
            curator.explain(COUNT, within=0.05)
        with pytest.raises(QueryRefused, match="at least"):
            curator.explain(COUNT, epsilon=1e-6)
