"""The whole loop: what it costs, what it may look at, and that it learns."""

import functools
import inspect
from fractions import Fraction

import numpy as np
import pytest

from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core import measurement, synthesis
from discreet.synth.core import what_to_measure as worth
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.synthesis import synthesise
from discreet.synth.core.synthetic import decode_measurements, encode_measurements

HISTOGRAM = Sensitivity.histogram(Neighbours.ADD_REMOVE)


def rho(amount):
    return ConcentratedLoss(rho=Fraction(amount), delta=Fraction(0))


def epsilon(amount):
    return PureLoss(epsilon=Fraction(amount))


SMALL, WIDE = Domain(sizes=(3, 4, 2, 5)), Domain(sizes=(50, 40, 30, 20, 10, 9))
MAYBE = Domain(sizes=(4, 5, 2, 6), optional=(True, True, False, True))


def table(domain, rows=20_000, seed=1):
    """Attributes that have much to do with the one before."""
    chance = np.random.default_rng(seed)
    columns = [chance.integers(0, domain.sizes[0], rows)]
    for size in domain.sizes[1:]:
        follows = columns[-1] * size // (columns[-1].max(initial=0) + 1)
        columns.append(np.where(chance.random(rows) < 0.7, follows, chance.integers(0, size, rows)))
    return columns


def counting(columns, asked=None):
    def exact(marginals):
        if asked is not None:
            asked.extend((each.attributes, each.shape) for each in marginals)
        return [each.counts(columns) for each in marginals]

    return exact


def distance(columns, rows, marginal):
    first, second = (
        np.bincount(marginal.places(each), minlength=marginal.cells) / len(each[0])
        for each in (columns, rows)
    )
    return np.abs(first - second).sum() / 2


@pytest.mark.parametrize("domain", [SMALL, WIDE, MAYBE])
@pytest.mark.parametrize("rows", [0, 20, 20_000])
@pytest.mark.parametrize("whole", [rho(Fraction(3, 7)), epsilon(Fraction(3, 7))])
def test_measurements_cost_the_loss_together(domain, rows, whole, monkeypatch):
    """By the mechanisms that made the noise, whatever was measured in the end."""
    spent = []
    mechanism = measurement.additive

    def noted(loss, sensitivity):
        made, caller = mechanism(loss, sensitivity), inspect.stack()[1]
        if caller.function in ("measure", "distances"):
            numbers = len(caller.frame.f_locals.get("sums", "1"))  # each distance is released as one number
            spent.extend([made.loss(sensitivity)] * numbers)
        return made

    monkeypatch.setattr(measurement, "additive", noted)
    monkeypatch.setattr(synthesis, "sample_size", lambda _: 2000)
    synthetic = synthesise(domain, counting(table(domain, rows)), loss=whole, sensitivity=HISTOGRAM)
    assert len(spent) >= len(synthetic.measurements)
    assert functools.reduce(lambda a, b: a.compose(b), spent) == whole


def test_what_is_measured_depends_on_measurements_alone(monkeypatch):
    """Two tables that differ in everything, and the same noisy counts: the same is asked of both."""
    replies, measure, distances = {}, measurement.measure, measurement.distances

    def same(marginal, exact, **rest):
        key = marginal.attributes, marginal.shape
        return replies.setdefault(key, measure(marginal, exact, **rest))

    def same_distances(exact, expected, **rest):
        return replies.setdefault("distances", distances(exact, expected, **rest))

    monkeypatch.setattr(measurement, "measure", same)
    monkeypatch.setattr(measurement, "distances", same_distances)
    monkeypatch.setattr(synthesis, "sample_size", lambda _: 2000)
    for domain in (SMALL, WIDE, MAYBE):
        asked = []
        for seed, rows in ((1, 20_000), (2, 10)):
            asked.append([])
            exact = counting(table(domain, rows, seed), asked[-1])
            synthesise(domain, exact, loss=rho(Fraction(1, 10)), sensitivity=HISTOGRAM)
        assert asked[0] == asked[1]
        replies.clear()


def test_every_table_of_a_small_domain_is_measured_when_there_are_people():
    asked = []
    synthesise(SMALL, counting(table(SMALL), asked), loss=rho(Fraction(1, 10)), sensitivity=HISTOGRAM)
    assert len(asked) == 4 + 6 + 4


@pytest.mark.parametrize("loss", [rho(Fraction(1, 1000)), epsilon(Fraction(1, 20))])
def test_tables_that_would_drown_are_not_measured(loss):
    """50 people: tables of one attribute are measured twice, with the noise of the whole loss."""
    asked = []
    synthetic = synthesise(SMALL, counting(table(SMALL, 50), asked), loss=loss, sensitivity=HISTOGRAM)
    assert [attributes for attributes, _ in asked] == 2 * [(0,), (1,), (2,), (3,)]
    shares = worth.divided(SMALL.sizes, pure=isinstance(loss, PureLoss))
    for each, share in zip(synthetic.measurements, shares, strict=True):
        whole = measurement.noise(measurement.share_of(loss, share), HISTOGRAM)
        assert 0.9 * whole < each.variance < 2 * whole


@pytest.mark.parametrize("loss", [rho(Fraction(1, 1000)), epsilon(Fraction(1, 20))])
def test_no_pair_is_looked_at_where_scores_would_drown(loss):
    """20 people: they are not counted as 1,000 by noise that is 6 standard deviations off, or more (10⁻⁹)."""
    asked = []
    exact = counting(table(WIDE, 20), asked)
    found = synthesis.measure_tables(WIDE, exact, loss=loss, sensitivity=HISTOGRAM)
    assert [attributes for attributes, _ in asked] == 2 * [(i,) for i in range(6)]
    assert len(found) == 6


def test_optional_values_that_nobody_has_are_dropped():
    columns = table(Domain(sizes=(3, 4, 2, 5)))
    columns[3] = np.where(np.arange(len(columns[3])) % 4 == 0, 5, columns[3])  # a quarter has no value
    asked = []
    synthetic = synthesise(MAYBE, counting(columns, asked), loss=rho(1), sensitivity=HISTOGRAM)
    assert asked[:4] == [((0,), (4,)), ((1,), (5,)), ((2,), (2,)), ((3,), (6,))]
    assert asked[-1] == ((1, 2, 3), (4, 2, 6))
    rows = synthetic.rows(20_000)
    assert [column.max() for column in rows] == [2, 3, 1, 5]
    assert abs((rows[3] == 5).mean() - 0.25) < 0.01
    assert synthetic.domain == MAYBE


@pytest.mark.parametrize("sigmas", [4.9, 5.1])
def test_noise_alone_makes_no_missing_values(sigmas):
    """With Gaussian noise, a column in which nothing is missing shows NULL with probability 3·10⁻⁷."""
    domain = Domain(sizes=(3,), optional=(True,))
    counts = np.array([500.0, 400.0, sigmas * 10])
    (marginal,) = domain.marginals(1)
    ones = [measurement.Measurement(marginal=marginal, counts=counts, variance=100.0)]
    assert worth.empty(domain, ones) == [sigmas < 5]


def test_people_with_a_dropped_value_are_in_no_cell():
    marginal = Marginal(attributes=(0, 1), codes=(np.arange(2), np.arange(3)))
    columns = [np.array([0, 1, 2, 1]), np.array([0, 2, 1, 3])]
    assert marginal.counts(columns).tolist() == [1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("domain", "order", "most"), [(SMALL, 3, 0.02), (WIDE, 2, 0.1)])
def test_tables_are_learnt(domain, order, most):
    """Far from independent: without learning, the tables of neighbours would be 0.4 off."""
    columns = table(domain)
    synthetic = synthesise(domain, counting(columns), loss=rho(1), sensitivity=HISTOGRAM)
    rows = synthetic.rows(20_000)
    assert np.mean([distance(columns, rows, marginal) for marginal in domain.marginals(order)]) < most
    assert abs(synthetic.people - 20_000) < 100
    assert all(column.max() < size for column, size in zip(rows, domain.sizes, strict=True))


def test_the_error_falls_with_rho():
    columns = table(SMALL)
    errors = []
    for amount in (Fraction(1, 10_000), Fraction(1, 100), Fraction(1)):
        synthetic = synthesise(SMALL, counting(columns), loss=rho(amount), sensitivity=HISTOGRAM)
        rows = synthetic.rows(20_000)
        errors.append(np.mean([distance(columns, rows, marginal) for marginal in SMALL.marginals(3)]))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_counts_in_parts_of_a_person():
    columns = table(SMALL)
    sensitivity = Sensitivity.scalar(1024, Neighbours.ADD_REMOVE)

    def exact(marginals):
        return [1024 * each for each in counting(columns)(marginals)]

    synthetic = synthesise(SMALL, exact, loss=rho(1), sensitivity=sensitivity, unit=1024)
    assert abs(synthetic.people - 20_000) < 100


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (1, 1, 1), (2, 1, 3)])
def test_few_attributes_and_no_people(sizes):
    domain = Domain(sizes=sizes)
    empty = [np.empty(0, dtype=np.int64) for _ in sizes]
    synthetic = synthesise(domain, counting(empty), loss=rho(Fraction(1, 10)), sensitivity=HISTOGRAM)
    rows = synthetic.rows(100)
    assert [len(column) for column in rows] == [100] * len(sizes)
    assert np.isfinite(synthetic.records.weights).all()


def test_a_wide_table_is_fitted_the_same_way_from_what_was_stored(monkeypatch):
    monkeypatch.setattr(synthesis, "sample_size", lambda _: 2000)
    found = synthesis.measure_tables(WIDE, counting(table(WIDE)), loss=rho(1), sensitivity=HISTOGRAM)
    assert len(found) > 6
    first, again = (
        synthesis.fitted(WIDE, each) for each in (found, decode_measurements(encode_measurements(found)))
    )
    assert first.encode() == again.encode()


@pytest.mark.parametrize("dropped", [True, False])
def test_what_was_dropped_stays_dropped_when_tables_of_one_attribute_are_measured_again(monkeypatch, dropped):
    """A second look may find people with an optional value that had none, or none where there were some."""
    monkeypatch.setattr(synthesis, "sample_size", lambda _: 2000)
    domain = Domain(sizes=(12,) * 6, optional=(True,) * 6)
    monkeypatch.setattr(synthesis, "empty", lambda *_: [dropped] * 6)
    found = synthesis.measure_tables(domain, counting(table(domain)), loss=rho(1), sensitivity=HISTOGRAM)
    monkeypatch.setattr(synthesis, "empty", lambda *_: [not dropped] * 6)
    pairs = found[6:]
    assert {code.size for each in pairs for code in each.marginal.codes} == {12 - dropped}
    rows = synthesis.fitted(domain, found).rows(2000)
    inside = {attribute for each in pairs for attribute in each.marginal.attributes}
    assert {int(rows[attribute].max()) for attribute in inside} <= set(range(12 - dropped))
    assert all(len(each.codes[0]) == 12 - dropped for each in synthesis.left_out(domain, found, 1.0))


def test_what_is_said_of_a_wide_table_beforehand():
    """As many pairs as usual, at what they get of the loss; all of it if there are few columns."""
    for columns, pairs in ((6, 15), (32, 128)):
        ones, twos = synthesis.stages_of(Domain(sizes=(12,) * columns), loss=rho(1), sensitivity=HISTOGRAM)
        assert (ones.order, ones.tables, ones.cells) == (1, columns, 12 * columns)
        assert (twos.order, twos.tables, twos.cells) == (2, pairs, 144 * pairs)
        assert twos.sigma**2 == pytest.approx(pairs / (2 * 0.6), rel=1e-6)
        assert ones.sigma**2 == pytest.approx(columns / (2 * 0.3), rel=1e-6)
