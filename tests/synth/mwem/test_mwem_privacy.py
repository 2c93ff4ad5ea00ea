"""The privacy of the loop: its whole law on tiny domains, for every neighbour, and the code's own draws.

The loop is run on decisions that are told to it. At the first that is not, it says what the law of that one
is, from the scores or counts and the mechanism that it was about to use. So the joint law of all picks and
measurements comes from the loop itself, and the laws of the mechanisms from the papers (`audit.laws`).
Noisy counts are clipped to a window, which is post-processing.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from discreet.audit.divergence import concentration, max_divergence
from discreet.audit.laws import exponential_law, gaussian_law, laplace_law, permute_and_flip_law, product_law
from discreet.audit.statistics import FIT_ALARM, fit_probability
from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import PermuteAndFlip, Selection
from discreet.synth.core.domain import Domain
from discreet.synth.mwem import learner
from discreet.synth.mwem.mwem import _ExactAnswers, mwem
from discreet.synth.mwem.price import Concentrated, Pure
from discreet.synth.mwem.workload import Workload

EPSILON, RHO = PureLoss(epsilon=Fraction(2)), ConcentratedLoss(rho=Fraction(1, 2), delta=Fraction(0))
ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
TWO, THREE, FOUR = Domain(sizes=(2,)), Domain(sizes=(3,)), Domain(sizes=(2, 2))
ODD = np.array([[True, False, True, False], [True, True, True, False], [False, False, False, True]])
WORKLOADS = {
    "cells": Workload.marginals(TWO, 1, each_cell=True),
    "ranges": Workload.ranges(THREE),
    "masks": Workload.masks(FOUR, ODD),
    "tables": Workload.marginals(FOUR, 1),
    "both": Workload.marginals(TWO, 1) + Workload.prefixes(TWO),
}


class Undecided(BaseException):
    def __init__(self, law):
        self.law = law


class Director:
    """Takes the place of every mechanism's release."""

    def __init__(self, monkeypatch, reach):
        self.low, self.high = -reach, reach + 2
        monkeypatch.setattr(Selection, "release", lambda each, scores, **_: self._picked(each, scores))
        for kind in (DiscreteLaplace, DiscreteGaussian):
            monkeypatch.setattr(kind, "release", lambda each, exact, **_: self._noised(each, exact))

    def joint(self, run, decisions, told=()):
        """The law of all decisions, the last one running fastest."""
        self._told = list(told)
        try:
            run()
        except Undecided as undecided:
            law = undecided.law
        if len(told) + 1 == decisions:
            return law
        return np.concatenate([p * self.joint(run, decisions, (*told, i)) for i, p in enumerate(law)])

    def _picked(self, selection, scores):
        flips = isinstance(selection, PermuteAndFlip)
        return self._decided(picking_law(flips, tuple(map(int, scores)), float(selection.temperature)))

    def _noised(self, noise, exact):
        values = np.atleast_1d(exact)
        laws = [self._law(noise, int(value)) for value in values]
        outcome = self._decided(product_law(*laws))
        places = np.unravel_index(outcome, [len(law) for law in laws])
        noisy = np.array(places) + self.low
        return noisy if isinstance(exact, np.ndarray) else int(noisy[0])

    def _law(self, noise, value):
        if isinstance(noise, DiscreteLaplace):
            return laplace_law(float(noise.scale), value, self.low, self.high)
        return gaussian_law(float(noise.sigma_squared), value, self.low, self.high)

    def _decided(self, law):
        if not self._told:
            raise Undecided(law)
        return self._told.pop(0)


@cache
def picking_law(flips, scores, temperature):
    return (permute_and_flip_law if flips else exponential_law)(list(scores), temperature)


def counting(histogram, domain):
    columns = np.unravel_index(np.repeat(np.arange(domain.cells), histogram), domain.sizes)
    return lambda marginals: [np.bincount(each.places(columns), minlength=each.cells) for each in marginals]


def people_of(rows, cells):
    """All that one person can be: up to so many rows."""
    return [np.array(each) for each in product(range(rows + 1), repeat=cells) if sum(each) <= rows]


def neighbours(domain, relation, rows=1):
    """Pairs of histograms: every person that can join, or be another, with a few others there."""
    others = [np.zeros(domain.cells, dtype=int), np.arange(domain.cells) % 3]
    persons = people_of(rows, domain.cells)
    for rest in others:
        for first in persons if relation is REPLACE_ONE else [np.zeros(domain.cells, dtype=int)]:
            for second in persons:
                if (first != second).any():
                    yield rest + first, rest + second


def worst(director, workload, loss, relation, *, rows=1, rounds=1, people=3.0, decisions=None, **options):
    """The largest loss between any two neighbours."""
    sensitivity = Sensitivity.histogram(relation, max_rows=rows)
    found = {}

    def law(histogram):
        key = tuple(histogram)
        if key not in found:
            exact = counting(histogram, workload.domain)
            found[key] = director.joint(
                lambda: mwem(
                    workload,
                    exact,
                    loss=loss,
                    sensitivity=sensitivity,
                    people=people,
                    rounds=rounds,
                    **options,
                ),
                decisions or 2 * rounds,
            )
            assert found[key].sum() == pytest.approx(1)
        return found[key]

    divergence = max_divergence if isinstance(loss, PureLoss) else concentration
    pairs = neighbours(workload.domain, relation, rows)
    return max(divergence(law(first), law(second)) for first, second in pairs)


def amount(loss):
    return float(loss.epsilon if isinstance(loss, PureLoss) else loss.rho)


@pytest.mark.parametrize("loss", [EPSILON, RHO], ids=["pure", "concentrated"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE], ids=["add or remove", "replace"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_one_round_costs_no_more_than_it_says(monkeypatch, name, relation, loss):
    director = Director(monkeypatch, reach=6)
    found = worst(director, WORKLOADS[name], loss, relation)
    assert 0.3 * amount(loss) < found <= amount(loss) * (1 + 1e-9)


@pytest.mark.parametrize("average", [False, True], ids=["fitted", "averaged"])
@pytest.mark.parametrize("loss", [EPSILON, RHO], ids=["pure", "concentrated"])
@pytest.mark.parametrize("name", ["cells", "both"])
def test_two_rounds_of_which_the_second_depends_on_the_first(monkeypatch, name, loss, average):
    director = Director(monkeypatch, reach=2)
    found = worst(director, WORKLOADS[name], loss, ADD_REMOVE, rounds=2, average=average)
    assert 0.3 * amount(loss) < found <= amount(loss) * (1 + 1e-9)


@pytest.mark.parametrize("loss", [EPSILON, RHO], ids=["pure", "concentrated"])
def test_a_number_of_people_that_is_not_public_is_paid_for(monkeypatch, loss):
    director = Director(monkeypatch, reach=4)
    found = worst(director, WORKLOADS["both"], loss, ADD_REMOVE, people=None, decisions=3)
    assert 0.3 * amount(loss) < found <= amount(loss) * (1 + 1e-9)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE], ids=["add or remove", "replace"])
@pytest.mark.parametrize("name", ["cells", "tables"])
def test_people_with_several_rows(monkeypatch, name, relation):
    director = Director(monkeypatch, reach=6)
    found = worst(director, WORKLOADS[name], EPSILON, relation, rows=2)
    assert 0.3 * amount(EPSILON) < found <= amount(EPSILON) * (1 + 1e-9)


def outcomes(workload, loss, histogram, low, high, runs):
    """How often the code made each pick with each clipped count, in one round."""
    exact = counting(histogram, workload.domain)
    sensitivity = Sensitivity.histogram(ADD_REMOVE)
    counts = np.zeros((workload.candidates, high - low + 1), dtype=np.int64)
    for _ in range(runs):
        (only,) = mwem(workload, exact, loss=loss, sensitivity=sensitivity, people=3.0, rounds=1).rounds
        counts[only.candidate, np.clip(round(only.measurement.counts[1]), low, high) - low] += 1
    return counts.ravel()


@pytest.mark.parametrize("loss", [EPSILON, RHO], ids=["pure", "concentrated"])
@pytest.mark.parametrize("factor", [1, 2], ids=["as it is", "half the scale"])
def test_the_codes_own_draws_follow_that_law(monkeypatch, loss, factor):
    """χ², which a right sampler fails once in 10⁹ times; half the scale passes less often than that."""
    monkeypatch.setattr(learner.Fitting, "finish", lambda each: each.cells)
    monkeypatch.setattr(learner.Fitting, "learn", lambda *_: 0.0)
    workload, histogram = WORKLOADS["masks"], np.array([1, 0, 2, 1])
    with monkeypatch.context() as patched:
        director = Director(patched, reach=6)
        law = director.joint(
            lambda: mwem(
                workload,
                counting(histogram, FOUR),
                loss=loss,
                sensitivity=Sensitivity.histogram(ADD_REMOVE),
                people=3.0,
                rounds=1,
            ),
            2,
        )
    for kind in (Pure, Concentrated):
        noise = kind.noise
        monkeypatch.setattr(
            kind, "noise", lambda each, paid, s, noise=noise: noise(each, paid * factor**2, s)
        )
    counts = outcomes(workload, loss, histogram, director.low, director.high, 1500)
    assert (fit_probability(counts, law) > FIT_ALARM) == (factor == 1)


def breaks(monkeypatch, *, name="cells", relation=ADD_REMOVE, decisions=None, **options):
    director = Director(monkeypatch, reach=6)
    return worst(director, WORKLOADS[name], EPSILON, relation, decisions=decisions, **options) > amount(
        EPSILON
    )


def test_half_the_scale_is_noticed(monkeypatch):
    noise = Pure.noise
    monkeypatch.setattr(Pure, "noise", lambda self, paid, s: noise(self, 2 * paid, s))
    assert breaks(monkeypatch)


def test_selection_that_takes_a_move_for_a_range_is_noticed(monkeypatch):
    one_way = staticmethod(lambda change, relation: ScoreSensitivity(neighbours=relation, range=change))
    monkeypatch.setattr(ScoreSensitivity, "bounded", one_way)
    assert breaks(monkeypatch)


def test_tables_scored_as_if_they_were_one_count_are_noticed(monkeypatch):
    monkeypatch.setattr(
        "discreet.synth.mwem.mwem._of_scores", lambda _, s: ScoreSensitivity.bounded(s.linf, s.neighbours)
    )
    assert breaks(monkeypatch, name="tables", relation=REPLACE_ONE)


def test_measuring_twice_on_one_charge_is_noticed(monkeypatch):
    measure = _ExactAnswers.measure

    def twice(self, *arguments):
        measure(self, *arguments)
        return measure(self, *arguments)

    monkeypatch.setattr(_ExactAnswers, "measure", twice)
    assert breaks(monkeypatch, decisions=3)


def test_people_counted_for_free_are_noticed(monkeypatch):
    monkeypatch.setattr("discreet.synth.mwem.mwem.ON_PEOPLE", Fraction(1, 20))
    people = _ExactAnswers.people
    monkeypatch.setattr(_ExactAnswers, "people", lambda self, paid: people(self, 20 * paid))
    assert breaks(monkeypatch, people=None, decisions=3)


def test_scores_that_are_rounded_after_the_difference_are_noticed(monkeypatch):
    """A half is rounded to even: one person more can then make it 2 more."""

    def late(_, exact, family, weights):
        off = np.abs(exact - family.answers(weights.shares(family.marginal)) * weights.people)
        return np.rint(off).astype(np.int64)

    monkeypatch.setattr(_ExactAnswers, "_scores", late)
    assert breaks(monkeypatch, people=3.0)


def test_scores_that_are_not_rounded_are_refused(monkeypatch):
    def unrounded(_, exact, family, weights):
        return np.abs(exact - family.answers(weights.shares(family.marginal)) * weights.people)

    monkeypatch.setattr(_ExactAnswers, "_scores", unrounded)
    with pytest.raises(InvalidInput):
        outcomes(WORKLOADS["cells"], EPSILON, np.array([1, 2]), 0, 1, 1)
