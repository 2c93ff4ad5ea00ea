"""The fit: it solves what it says, agrees with what was measured, and invents nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth.core import fit as fit_module
from discreet.synth.core import records as records_module
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain
from discreet.synth.core.fit import _sweep, best_change, fit, step
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import Sample, Term, proportional, shares

PEOPLE = 10_000.0


def measured(domain, order, law, sigma, chance):
    """Tables of a law over the cells, with noise."""
    columns = np.unravel_index(np.arange(domain.cells), domain.sizes)
    found = []
    for marginal in domain.marginals(order):
        exact = np.bincount(marginal.places(columns), weights=law, minlength=marginal.cells) * PEOPLE
        noisy = exact + chance.normal(0, sigma, marginal.cells)
        found.append(Measurement(marginal=marginal, counts=noisy, variance=sigma**2))
    return found


def some_law(domain, chance):
    return chance.dirichlet(np.full(domain.cells, 0.3))


@given(
    count=st.floats(1e-9, 1e6),
    exponent=st.floats(-30, 30),
    measurement=st.floats(-1e6, 1e6),
    variance=st.floats(1e-3, 1e8),
)
def test_a_step_solves_its_equation(count, exponent, measurement, variance):
    (change,) = best_change(*(np.array([x]) for x in (count, exponent, measurement)), variance)
    left = count * np.exp(change) + variance * (exponent + change)
    scale = abs(measurement) + variance * (abs(exponent) + abs(change)) + count
    assert abs(left - measurement) <= 1e-6 * scale


def test_after_its_step_a_marginal_has_the_exponents_of_the_minimum():
    domain, chance = Domain(sizes=(3, 4)), np.random.default_rng(1)
    records = Cells(domain)
    (measurement,) = measured(domain, 2, some_law(domain, chance), 20, chance)
    term = Term(measurement.marginal)
    for _ in range(200):
        held = shares(records, term.marginal)
        factors = step(term, held, measurement.counts, PEOPLE, 0.5 * measurement.variance, records.farthest)
        records.move(term.marginal, factors, term.marginal)
    off = measurement.counts - shares(records, term.marginal) * PEOPLE
    residual = off / (0.5 * measurement.variance) - term.exponents
    assert np.ptp(residual) < 1e-6  # all the same: weights add up to 1, whatever is added to every exponent


def test_without_noise_the_marginals_are_met():
    domain, chance = Domain(sizes=(3, 4, 5)), np.random.default_rng(2)
    law = some_law(domain, chance)
    records = Cells(domain)
    fit(records, measured(domain, 2, law, 1e-3, chance), PEOPLE)
    columns = np.unravel_index(np.arange(domain.cells), domain.sizes)
    for marginal in domain.marginals(2):
        exact = np.bincount(marginal.places(columns), weights=law, minlength=marginal.cells)
        assert np.abs(shares(records, marginal) - exact).max() < 2e-3


def test_what_was_not_measured_stays_independent():
    """Two tables of one attribute each: the fit is their product."""
    domain, chance = Domain(sizes=(4, 5)), np.random.default_rng(3)
    records = Cells(domain)
    fit(records, measured(domain, 1, some_law(domain, chance), 0.1, chance), PEOPLE)
    table = records.weights.reshape(domain.sizes)
    assert np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).max() < 1e-9


def test_without_measurements_nothing_moves():
    records = Cells(Domain(sizes=(2, 3)))
    assert fit(records, [], PEOPLE).terms == []
    assert (records.weights == 1 / 6).all()


def test_a_table_that_says_nothing_moves_little():
    """Noise of 20 times the people: the fit stays where it was, or near."""
    domain, chance = Domain(sizes=(4, 4)), np.random.default_rng(8)
    records = Cells(domain)
    fit(records, measured(domain, 2, np.full(16, 1 / 16), 20 * PEOPLE, chance), PEOPLE)
    assert np.abs(records.weights - 1 / 16).sum() < 1


def test_noise_is_not_fitted():
    """The misfit does not end at 0, and the fit is nearer to the truth than the measurements are."""
    domain, chance = Domain(sizes=(8, 8, 8)), np.random.default_rng(4)
    law = some_law(domain, chance)
    news = measured(domain, 2, law, 60, chance)
    records = Cells(domain)
    fitted = fit(records, news, PEOPLE)
    assert 0.2 < fitted.misfit < 1.2
    columns = np.unravel_index(np.arange(domain.cells), domain.sizes)
    for each in news:
        exact = np.bincount(each.marginal.places(columns), weights=law, minlength=each.marginal.cells)
        fitted_error = np.abs(shares(records, each.marginal) - exact).sum()
        assert fitted_error < np.abs(each.counts / PEOPLE - exact).sum()


def test_a_sample_comes_to_the_same_as_all_cells():
    """Of 100,000 records, a share is off by 0.002 at most but once in 10⁷ times."""
    domain, chance = Domain(sizes=(4, 5, 3)), np.random.default_rng(5)
    news = measured(domain, 2, some_law(domain, chance), 5, chance)
    cells = Cells(domain)
    sample = Sample([np.full(size, 1 / size) for size in domain.sizes], 100_000, chance)
    fit(cells, news, PEOPLE)
    fit(sample, news, PEOPLE)
    for marginal in domain.marginals(2):
        assert np.abs(shares(cells, marginal) - shares(sample, marginal)).max() < 0.015


@pytest.mark.parametrize("even", [0, 0.8, 2], ids=["never renewed", "sometimes", "before every sweep"])
@pytest.mark.parametrize("listed", [True, False])
def test_every_step_knows_what_the_records_hold(monkeypatch, listed, even):
    """It is told from step to step and from sweep to sweep, also when other records were drawn in between."""
    domain, chance = Domain(sizes=(4, 5, 3)), np.random.default_rng(9)
    news = measured(domain, 2, some_law(domain, chance), 20, chance)
    law = [np.full(size, 1 / size) for size in domain.sizes]
    records = Cells(domain) if listed else Sample(law, 1000, chance)
    swept, steps = [], []

    def sweep(state, *arguments):
        swept.append(state.records)
        return _sweep(state, *arguments)

    def watched(term, held, *arguments):
        steps.append(term)
        np.testing.assert_allclose(held, shares(swept[-1], term.marginal), atol=1e-12)
        assert held.sum() == pytest.approx(1, abs=1e-12)
        return step(term, held, *arguments)

    monkeypatch.setattr(fit_module, "_sweep", sweep)
    monkeypatch.setattr(fit_module, "step", watched)
    monkeypatch.setattr(records_module, "EVEN", even)
    fit(records, news, PEOPLE, random=chance)
    assert len(steps) >= 2 * len(news)


def test_places_follow_a_sample_that_moves():
    sample = Sample([np.full(3, 1 / 3), np.full(4, 1 / 4)], 1000, np.random.default_rng(10))
    (marginal,) = Domain(sizes=(3, 4)).marginals(2)
    before = sample.places(marginal)
    sample.follow(Term(marginal), 1)
    assert (sample.places(marginal) == marginal.places(sample.columns)).all()
    assert (sample.places(marginal) != before).any()


def test_moving_a_sample_leaves_its_law(monkeypatch):
    """χ² with 11 degrees of freedom is above 60 once in 10⁸ times; steps make draws depend a little."""
    chance = np.random.default_rng(6)
    domain = Domain(sizes=(3, 4))
    (marginal,) = domain.marginals(2)
    term = Term(marginal)
    term.exponents[:] = chance.normal(0, 1, 12)
    sample = Sample([np.full(3, 1 / 3), np.full(4, 1 / 4)], 50_000, chance)
    monkeypatch.setattr(records_module, "EVEN", 2)  # always
    for _ in range(30):
        sample.renew([term])
    wanted = np.exp(term.exponents) / np.exp(term.exponents).sum() * 50_000
    found = shares(sample, marginal) * 50_000
    assert ((found - wanted) ** 2 / wanted).sum() < 120


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_records_are_drawn_in_proportion(count):
    weights = np.array([0.5, 0.0, 0.25, 0.25])
    drawn = np.bincount(proportional(weights, count, np.random.default_rng(7)), minlength=4)
    assert drawn.sum() == count
    assert drawn[1] == 0
    assert (np.abs(drawn - weights * count) < 1).all()


def test_where_nothing_was_measured_nothing_is_fitted():
    """Also with weights so uneven that a sample draws others."""
    sample = Sample([np.full(4, 0.25)] * 2, 1000, np.random.default_rng(1))
    sample.weights = np.random.default_rng(2).random(1000) ** 9
    assert fit(sample, [], PEOPLE).terms == []
    assert fit(Cells(Domain(sizes=(4, 4))), [], PEOPLE).terms == []
