"""Attack G1, by size: what is too large to be stored is drawn, charged, lost, and drawn again.

How much each kind of release takes at most follows from the policy and from what is asked. So it is refused
before the charge, and never after it.
"""

import json
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from discreet import QueryRefused
from discreet.ledger.interface import EntryKind
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.cached.reading_text import most_bytes
from discreet.synth.core import pair_selection as pairs
from discreet.synth.core import synthesis
from discreet.synth.core.domain import Domain, Marginal, bins
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.synthetic import encode_measurements
from discreet.synth.mwem.mwem import mwem
from discreet.synth.mwem.price import Pace, price
from discreet.synth.mwem.workload import Workload
from discreet.synth.plan.stored_size import of_measurements, of_synthesis, of_workload

from .ask import Clinic

SYNTH = "SELECT ward, age FROM visits"
ONE = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, neighbours=Neighbours.ADD_REMOVE)


@pytest.fixture
def cached(tmp_path):
    """The same clinic, whose answers are cached."""
    clinic = Clinic(tmp_path / "cached", dataset="least_price = 1e-9")
    text = clinic.policy.read_text()
    clinic.policy.write_text(
        text.replace("max_groups = 2", 'max_groups = 2\nanswers = "cached"\ncached_columns = ["ward", "age"]')
    )
    return clinic


def lowered(monkeypatch, largest):
    """A ledger that stores less for one charge."""
    for place in ("ledger.database_ledger", "question.answer_size"):
        monkeypatch.setattr(f"discreet.{place}.LARGEST_ANSWER", largest, raising=False)


def charges(clinic):
    with clinic.open() as curator:
        return sum(entry.kind is EntryKind.CHARGED for entry in curator._ledger.entries("clinic"))


def synthesize(curator):
    return curator.synthesize(SYNTH, epsilon=1)


def synthesize_for_questions(curator):
    return curator.synthesize(SYNTH, epsilon=1, workload=["marginals 2"])


def fit(curator):
    from discreet.learn import LinearRegression

    return curator.fit(LinearRegression(), "SELECT age, ward, cost FROM visits", epsilon=1)


@pytest.mark.parametrize("release", [synthesize, synthesize_for_questions, fit])
def test_g1_a_release_that_is_too_large_is_refused_before_the_charge(clinic, monkeypatch, release):
    with monkeypatch.context() as patched:
        lowered(patched, 100)
        with pytest.raises(QueryRefused, match=r"could take .* bytes"):
            release(clinic.open())
    assert charges(clinic) == 0
    release(clinic.open())
    assert charges(clinic) == 1


@pytest.mark.parametrize("workload", [(), ("marginals 1",)])
def test_g1_a_check_that_is_too_large_is_refused_before_the_charge(clinic, monkeypatch, workload):
    table = clinic.open().synthesize(SYNTH, epsilon=1, workload=workload)
    with monkeypatch.context() as patched:
        lowered(patched, 100)
        with pytest.raises(QueryRefused, match=r"could take .* bytes"):
            clinic.open().check_synthetic(table, epsilon=1)
    assert charges(clinic) == 1
    clinic.open().check_synthetic(table, epsilon=1)
    assert charges(clinic) == 2


def test_g1_a_check_fits_the_table_before_the_charge(clinic, monkeypatch):
    """If the fit fails, or is stopped, nothing was paid; and nothing that needs no data is done after it."""
    from discreet.synth.plan import synthesis_plan as plan

    table = clinic.open().synthesize(SYNTH, epsilon=1)
    for failure in (MemoryError, KeyboardInterrupt):

        def stopped(*_, failure=failure, **__):
            raise failure

        with monkeypatch.context() as patched:
            patched.setattr(plan, "fitted", stopped)
            with pytest.raises(failure):
                clinic.open().check_synthetic(table, epsilon=1)
    assert charges(clinic) == 1


def test_g1_a_cached_reading_that_is_too_large_is_refused_before_the_charge(cached, monkeypatch):
    question = "SELECT count(*) AS n FROM visits WHERE age > 40 AND ward = 'north'"
    with monkeypatch.context() as patched:
        lowered(patched, 100)
        with pytest.raises(QueryRefused, match=r"could take .* bytes"):
            cached.open().ask(question, within=50)
    assert charges(cached) == 0
    cached.open().ask(question, within=50)
    assert charges(cached) == 1


def test_g1_tables_that_are_too_large_are_not_bought_and_the_question_is_paid_alone(cached, monkeypatch):
    from discreet.synth.cached import strategy as online

    monkeypatch.setattr(online, "MOST_COUNTS", 1)
    curator = cached.open()
    for age in range(10, 60):
        curator.ask(f"SELECT count(*) AS n FROM visits WHERE age > {age}", within=50)
    assert charges(cached) == 50


# The bounds are bounds.


@pytest.mark.parametrize("sizes", [(3,), (4, 5, 6), (2,) * 9, (300, 40), (70, 90, 110, 130)])
def test_g1_what_a_synthetic_table_takes_is_within_its_bound(sizes):
    """With noise that no compression finds a pattern in, and as many people as make the finest bins."""
    domain, random = Domain(sizes=sizes), np.random.default_rng()
    everyone = [random.integers(size, size=200_000) for size in sizes]

    def exact(marginals):
        return [marginal.counts(everyone).astype(np.int64) * 10**6 for marginal in marginals]

    for loss in (PureLoss(epsilon=1), ConcentratedLoss(rho=1, delta=0)):
        found = synthesis.measure_tables(domain, exact, loss=loss, sensitivity=ONE)
        stored = len(encode_measurements(found))
        assert stored <= of_measurements(each.marginal for each in found) <= of_synthesis(domain)


@pytest.mark.parametrize("kind", ["marginals", "prefixes", "ranges"])
def test_g1_what_is_learnt_for_questions_takes_no_more_than_its_bound(kind, monkeypatch):
    """Nothing is compressed here, as if it could not be."""
    monkeypatch.setattr("discreet.synth.core.synthetic.zlib.compress", bytes)
    domain, random = Domain(sizes=(5, 6, 7)), np.random.default_rng()
    everyone = [random.integers(size, size=1000) for size in domain.sizes]
    workload = getattr(Workload, kind)(domain, 2)

    def exact(marginals):
        return [marginal.counts(everyone).astype(np.int64) for marginal in marginals]

    found = mwem(workload, exact, loss=PureLoss(epsilon=3), sensitivity=ONE).synthetic
    assert len(found.encode()) <= of_workload(workload)


def test_g1_as_many_questions_are_counted_as_there_can_be_rounds():
    """A round costs at least what the first one does, so that there are no more than so many."""
    domain = Domain(sizes=(5, 6, 7))
    workload = Workload.prefixes(domain, 2)
    pace, rounds = Pace(price(PureLoss(epsilon=1)), Fraction(1), len(domain.sizes), None), 0
    while pace.left:
        pace.take()
        rounds += 1
    asked = [family.asked(i) for family in workload.families for i in range(family.candidates)]
    smallest = sorted(of_measurements([each]) for each in asked)[0] - of_measurements([])
    assert of_workload(workload) >= (rounds - 1) * smallest + 4 * domain.cells


def test_g1_any_measurements_are_stored_in_what_their_tables_are_said_to_take():
    random = np.random.default_rng()
    domain = Domain(sizes=(10_000, 9, 9))
    for chosen in ((0,), (0, 1), (0, 1, 2)):
        marginal = Marginal.full(domain, chosen)
        counts = random.standard_normal(marginal.cells)
        found = [Measurement(marginal=marginal, counts=counts, variance=-1 / 3e300)] * 3
        assert len(encode_measurements(found)) <= of_measurements([marginal] * 3)


def test_g1_the_bins_of_all_pairs_together_stay_below_their_limit():
    """Whatever the laws are, and however many people there are."""
    random = np.random.default_rng()
    for size, most in product((1, 2, 3, 50, 5_000), (2, 3, 7, 60, 1_000)):
        for law in (
            np.ones(size),
            random.random(size),
            random.pareto(0.2, size) + 1e-12,
            np.eye(size)[0] + 1e-9,
        ):
            assert int(bins(law / law.sum(), most)[-1]) + 1 <= 2 * most + 2
    for tables in (1, 10, comb(300, 2)):
        cells = pairs.coarse(1e18, tables=tables)
        wide = 2 * max(2, int(cells**0.5)) + 2
        assert wide**2 <= max(pairs.LEAST_BINS**2, pairs.MOST_PAIR_CELLS / tables)


def test_g1_a_reading_takes_no_more_than_its_bound(cached):
    from discreet.synth.cached import cache

    curator, seen = cached.open(), []
    honest = cache.CachedTable.measure

    def measure(table, step, results):
        found = honest(table, step, results)
        seen.append((most_bytes(step), len(cache.encode_readings(found))))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cache.CachedTable, "measure", measure)
        for age in range(5, 100, 5):
            curator.ask(f"SELECT count(*) AS n FROM visits WHERE age > {age}", within=20)
            curator.ask(f"SELECT count(*) AS n FROM visits WHERE age > {age} AND ward = 'north'", within=20)
    assert seen
    assert all(stored <= most for most, stored in seen)


def test_g1_a_model_takes_no_more_than_its_bound(clinic):
    from discreet.learn import LinearRegression
    from discreet.learn.plan.fit_plan import _most_bytes

    plan = clinic.open().plan_fit(LinearRegression(), "SELECT age, ward, cost FROM visits", epsilon=1)
    model = plan.model_from(
        json.dumps({"coef_": [-1.2345678901234567e-308] * 3, "intercept_": -0.1}).encode()
    )
    assert len(json.dumps(model.state())) <= _most_bytes(model.state())
