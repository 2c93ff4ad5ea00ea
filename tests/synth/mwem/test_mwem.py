"""Multiplicative weights: what they cost, what they learn, and the theorem."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.entropy import SYSTEM
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sampling import discrete_gaussian, discrete_laplace
from discreet.noise.selection import PermuteAndFlip, Selection
from discreet.synth.core.domain import Domain
from discreet.synth.core.measurement import Measurement, combined
from discreet.synth.core.weight_array import table
from discreet.synth.mwem.learner import Fitting
from discreet.synth.mwem.mwem import MOST_CELLS, error_bound, mwem
from discreet.synth.mwem.price import FIRST_ROUNDS, Concentrated, Pace, Pure, variance
from discreet.synth.mwem.workload import Workload

HISTOGRAM = Sensitivity.histogram(Neighbours.ADD_REMOVE)
DOMAIN = Domain(sizes=(4, 3, 5))
WORKLOADS = {
    "tables": Workload.marginals(DOMAIN, 2),
    "tables of all orders": Workload.marginals(DOMAIN, 1) + Workload.marginals(DOMAIN, 2),
    "cells": Workload.marginals(DOMAIN, 2, each_cell=True),
    "ranges": Workload.ranges(DOMAIN, 2),
    "masks": Workload.masks(DOMAIN, np.random.default_rng(1).random((50, 60)) < 0.5),
}
LOSSES = [PureLoss(epsilon=Fraction(3, 7)), ConcentratedLoss(rho=Fraction(3, 70), delta=Fraction(0))]


def histogram(people, domain=DOMAIN):
    law = np.random.default_rng(2).dirichlet(np.full(domain.cells, 0.2))
    return np.random.default_rng(3).multinomial(people, law)


def counting(counts, domain=DOMAIN):
    def exact(marginals):
        return [np.rint(table(counts.astype(float), domain, each)).astype(np.int64) for each in marginals]

    return exact


def largest_error(workload, counts, synthetic):
    """Of all questions, in people."""
    off = counts - synthetic.records.weights * synthetic.people
    return max(
        np.abs(family.answers(table(off, workload.domain, family.marginal))).max()
        for family in workload.families
    )


@pytest.mark.parametrize("rounds", [None, 1, 7])
@pytest.mark.parametrize("people", [None, 5000.0])
@pytest.mark.parametrize("loss", LOSSES, ids=["pure", "concentrated"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_what_is_asked_is_what_is_spent(monkeypatch, name, loss, people, rounds):
    """By the mechanisms that were used, each at the sensitivity that its input has."""
    spent, workload = [], WORKLOADS[name]
    moves = ScoreSensitivity.bounded(1, Neighbours.ADD_REMOVE)
    pure = isinstance(loss, PureLoss)

    def note(kind, cost):
        release = kind.release

        def noted(mechanism, values, **options):
            spent.append(cost(mechanism))
            return release(mechanism, values, **options)

        monkeypatch.setattr(kind, "release", noted)

    note(Selection, lambda each: each.loss(moves).epsilon if pure else each.concentrated_loss(moves).rho)
    note(DiscreteLaplace, lambda each: each.loss(HISTOGRAM).epsilon)
    note(DiscreteGaussian, lambda each: each.loss(HISTOGRAM).rho)
    learnt = mwem(
        workload, counting(histogram(5000)), loss=loss, sensitivity=HISTOGRAM, people=people, rounds=rounds
    )
    amount = loss.epsilon if pure else loss.rho
    assert sum(each.amount for each in learnt.rounds) == amount * (1 if people else Fraction(19, 20))
    assert amount * (1 - Fraction(1, 10**15)) < sum(spent) <= amount  # a root of ρ is rounded to less loss
    assert sum(spent) == amount or not pure
    assert rounds is None or len(learnt.rounds) == rounds


@given(
    total=st.fractions(Fraction(1, 10**6), 100),
    attributes=st.integers(1, 50),
    rounds=st.none() | st.integers(1, 300),
    teaches=st.lists(st.booleans(), min_size=1),
    price=st.sampled_from([Pure(Fraction(1)), Concentrated(Fraction(1))]),
)
def test_amounts_add_up_exactly_however_much_rounds_teach(total, attributes, rounds, teaches, price):
    pace, taken = Pace(price, total, attributes, rounds), []
    while pace.left:
        taken.append(pace.take())
        if not teaches[len(taken) % len(teaches)]:
            pace.taught_little()
    assert sum(taken) == total
    assert min(taken) > 0
    assert len(taken) <= (rounds or FIRST_ROUNDS * attributes)
    assert rounds is None or len(set(taken)) == 1


def test_an_amount_grows_by_what_half_the_noise_costs():
    for price in (Pure(Fraction(1)), Concentrated(Fraction(1))):
        noises = [price.noise(Fraction(k, 10**6), HISTOGRAM) for k in (1, price.growth)]
        first, second = map(variance, noises)
        assert first / second == pytest.approx(4)


@pytest.mark.parametrize("scale", [0.2, 1, 10, 1000])
def test_variances_are_those_of_the_noise(scale):
    """Of 200,000 draws. Off by a fifth is ten standard deviations, as no kurtosis is above 80."""
    for noise, drawn in (
        (DiscreteLaplace(scale=Fraction(scale)), discrete_laplace(Fraction(scale), 200_000, SYSTEM)),
        (
            DiscreteGaussian(sigma_squared=Fraction(scale + 1)),
            discrete_gaussian(Fraction(scale + 1), 200_000, SYSTEM),
        ),
    ):
        assert np.var(drawn.astype(float)) == pytest.approx(variance(noise), rel=0.2)
    assert variance(DiscreteLaplace(scale=Fraction(1, 10**6))) > 0


@pytest.mark.parametrize(
    "loss", [PureLoss(epsilon=Fraction(5)), ConcentratedLoss(rho=Fraction(1), delta=Fraction(0))]
)
@pytest.mark.parametrize("rounds", [None, 40])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_learnt(name, rounds, loss):
    """Uniform weights would be off by 0.1 of the people and more."""
    counts = histogram(100_000)
    workload = WORKLOADS[name]
    learnt = mwem(workload, counting(counts), loss=loss, sensitivity=HISTOGRAM, rounds=rounds)
    assert learnt.synthetic.records.weights.sum() == pytest.approx(1)
    assert largest_error(workload, counts, learnt.synthetic) < 0.03 * 100_000
    rows = learnt.synthetic.rows(1000)
    assert all(column.max() < size for column, size in zip(rows, DOMAIN.sizes, strict=True))


def test_a_domain_too_large_to_fit_again_is_learnt(monkeypatch):
    monkeypatch.setattr("discreet.synth.mwem.learner.MOST_FITTED", 10)
    monkeypatch.setattr("discreet.synth.mwem.learner.fit", None)
    counts = histogram(100_000)
    loss = ConcentratedLoss(rho=Fraction(1), delta=Fraction(0))
    learnt = mwem(WORKLOADS["tables"], counting(counts), loss=loss, sensitivity=HISTOGRAM)
    assert learnt.synthetic.records.weights.sum() == pytest.approx(1)
    assert largest_error(WORKLOADS["tables"], counts, learnt.synthetic) < 0.03 * 100_000


SMALL = Domain(sizes=(4, 4))
THEOREM = Workload.masks(SMALL, np.random.default_rng(4).random((200, 16)) < 0.5)


def averaged(people, epsilon, rounds):
    counts = histogram(people, SMALL)
    loss = PureLoss(epsilon=Fraction(epsilon))
    learnt = mwem(
        THEOREM,
        counting(counts, SMALL),
        loss=loss,
        sensitivity=HISTOGRAM,
        people=people,
        rounds=rounds,
        average=True,
    )
    return largest_error(THEOREM, counts, learnt.synthetic)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 10])
@pytest.mark.parametrize(("people", "rounds"), [(1000, 10), (100_000, 30), (10**7, 300)])
def test_the_theorem(people, epsilon, rounds):
    """The bound fails once in 10⁶ times at most."""
    bound = error_bound(
        THEOREM,
        loss=PureLoss(epsilon=Fraction(epsilon)),
        sensitivity=HISTOGRAM,
        people=people,
        rounds=rounds,
        confidence=1 - Fraction(1, 10**6),
    )
    assert averaged(people, epsilon, rounds) <= bound


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 10])
@pytest.mark.parametrize("rounds", [10, 50])
@pytest.mark.parametrize("people", [100, 10**6])
def test_our_bound_is_no_worse_than_the_papers(epsilon, rounds, people):
    """At the confidence of Theorem 2.2, 1 − 2T/|Q|."""
    bound = error_bound(
        THEOREM,
        loss=PureLoss(epsilon=Fraction(epsilon)),
        sensitivity=HISTOGRAM,
        people=people,
        rounds=rounds,
        confidence=1 - Fraction(2 * rounds, THEOREM.questions),
    )
    paper = 2 * people * sqrt(log(SMALL.cells) / rounds) + 10 * rounds * log(THEOREM.questions) / epsilon
    assert bound <= paper


def test_the_bound_has_noise_and_missed_picks_in_it():
    """With one person and two rounds: noise of scale 2T/ε twice, and picks at a temperature of twice that."""
    bound = error_bound(
        THEOREM,
        loss=PureLoss(epsilon=Fraction(1)),
        sensitivity=HISTOGRAM,
        people=1,
        rounds=2,
        confidence=Fraction(9, 10),
    )
    noisy = DiscreteLaplace(scale=Fraction(4)).interval(Fraction(95, 100), values=2).high
    short = -PermuteAndFlip(temperature=Fraction(8)).interval(Fraction(975, 1000), candidates=200).low
    assert bound == pytest.approx(sqrt(4 * log(16) / 2 + noisy**2) + short + 1)


def test_the_share_of_people_that_is_wrong_falls_with_epsilon_and_with_people():
    """Means of five; each is less than the other by a factor of 2.6, give or take 0.15."""
    base, sharp, many = (
        np.mean([averaged(people, epsilon, 100) for _ in range(5)]) / people
        for people, epsilon in ((1000, 1), (1000, 100), (100_000, 1))
    )
    assert base > 1.6 * sharp
    assert base > 1.6 * many


def test_the_error_without_averages_falls_too():
    counts = histogram(10_000)
    errors = []
    for epsilon in (Fraction(1, 100), 1, 100):
        learnt = mwem(
            WORKLOADS["tables"],
            counting(counts),
            loss=PureLoss(epsilon=Fraction(epsilon)),
            sensitivity=HISTOGRAM,
            people=10_000,
        )
        errors.append(largest_error(WORKLOADS["tables"], counts, learnt.synthetic))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_the_update_is_that_of_the_paper():
    """A question measured at m: its records weigh e^((m − q)/2n) times as much, then all are scaled to 1."""
    workload = Workload.masks(SMALL, np.random.default_rng(5).random((1, 16)) < 0.5)
    counts = histogram(1000, SMALL)
    learnt = mwem(
        workload,
        counting(counts, SMALL),
        loss=PureLoss(epsilon=Fraction(10)),
        sensitivity=HISTOGRAM,
        people=1000,
        rounds=2,
        average=True,
    )
    first = np.full(16, 1 / 16)
    mask = workload.families[0].mask(0)
    measured = learnt.rounds[0].measurement.counts[1] / 1000
    second = first * np.exp(mask * (measured - first[mask].sum()) / 2)
    second /= second.sum()
    np.testing.assert_allclose(learnt.synthetic.records.weights, (first + second) / 2, rtol=1e-9)


def test_all_measurements_are_met_as_far_as_their_noise_lets_them():
    """At the end of many passes, exponents are (measured − fitted)/λσ², whatever is added to all."""
    chance, weights = np.random.default_rng(6), Fitting(SMALL, 1000.0)
    for i, marginal in enumerate(SMALL.marginals(1)):
        news = Measurement(marginal=marginal, counts=chance.dirichlet(np.ones(4)) * 1000, variance=400.0)
        weights.learn(i, news)
    for _ in range(100):
        weights._update(news, weights.shares(news.marginal))
    for i, measurement in weights.measured.items():
        off = measurement.counts - weights.shares(measurement.marginal) * 1000
        assert np.ptp(off / (400 / 16) - weights._terms[i].exponents) < 1e-6
        assert np.abs(off).max() > 1


def test_what_is_measured_again_is_measured_better():
    (marginal,) = SMALL.marginals(2)
    parts = [
        Measurement(marginal=marginal, counts=np.full(16, 10.0), variance=1.0),
        Measurement(marginal=marginal, counts=np.full(16, 20.0), variance=4.0),
    ]
    both = combined(*parts)
    assert both.counts[0] == pytest.approx((10 / 1 + 20 / 4) / (1 + 1 / 4))
    assert both.variance == pytest.approx(1 / (1 + 1 / 4))
    weights = Fitting(SMALL, 160.0)
    for part in parts:
        weights.learn(0, part)
    assert list(weights.measured) == [0]


@pytest.mark.parametrize("name", WORKLOADS)
def test_counts_in_parts_of_a_person(name):
    counts = histogram(20_000)
    sensitivity = Sensitivity.scalar(1024, Neighbours.ADD_REMOVE)
    learnt = mwem(
        WORKLOADS[name],
        counting(1024 * counts),
        loss=PureLoss(epsilon=Fraction(10)),
        sensitivity=sensitivity,
        unit=1024,
    )
    assert abs(learnt.synthetic.people - 20_000) < 100
    assert largest_error(WORKLOADS[name], counts, learnt.synthetic) < 0.1 * 20_000


@pytest.mark.parametrize(
    "loss", [PureLoss(epsilon=Fraction(1, 10**9)), *LOSSES, PureLoss(epsilon=Fraction(10**6))]
)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("people", [0, 1, 10])
def test_few_people_and_any_loss(people, average, loss):
    for name in ("tables", "ranges"):
        learnt = mwem(
            WORKLOADS[name],
            counting(histogram(people)),
            loss=loss,
            sensitivity=HISTOGRAM,
            rounds=5,
            average=average,
        )
        assert np.isfinite(learnt.synthetic.records.weights).all()
        assert learnt.synthetic.records.weights.sum() == pytest.approx(1)


def test_progress_is_told():
    seen = []
    mwem(
        WORKLOADS["tables"],
        counting(histogram(100)),
        loss=LOSSES[0],
        sensitivity=HISTOGRAM,
        rounds=4,
        people=100,
        progress=lambda *told: seen.append(told),
    )
    assert seen == [(1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)]


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": 0},
        {"rounds": 2.0},
        {"rounds": 10**6},
        {"average": True},
        {"unit": 0},
        {"loss": ApproximateLoss(epsilon=Fraction(1), delta=Fraction(0))},
        {"loss": PureLoss(epsilon=Fraction(0))},
        {"loss": 1},
        {"sensitivity": ScoreSensitivity.counts(Neighbours.ADD_REMOVE)},
        {"workload": Workload.marginals(Domain(sizes=(MOST_CELLS // 4096 + 1, 64, 64)), 1)},
    ],
    ids=repr,
)
def test_what_cannot_be_is_refused_before_anything_is_counted(options):
    def exact(_):
        raise AssertionError("counted")

    given = {"workload": WORKLOADS["tables"], "loss": LOSSES[0], "sensitivity": HISTOGRAM} | options
    with pytest.raises(InvalidInput):
        mwem(exact=exact, **given)
