"""Bounds on binomial probabilities, against exact ones. No false alarms: nothing is drawn."""

from fractions import Fraction
from itertools import accumulate
from math import comb

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.noise.binomial_tails import MARGIN, point_bound, tail_fraction


def exact_law(trials, chance):
    return [comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]


@pytest.mark.parametrize("trials", [0, 1, 2, 5, 15, 16, 17, 40, 150, 500])
@pytest.mark.parametrize("chance", [1 / 2, 1 / 8, 7 / 8, 1 / 64])
def test_a_point_has_at_most_what_is_said(trials, chance):
    law = exact_law(trials, Fraction(chance))
    k = np.arange(trials + 1.0)
    excess = np.array([float(each - trials * Fraction(chance)) for each in range(trials + 1)])
    said = point_bound(np.full_like(k, trials), k, excess, chance)
    for found, truth in zip(said, law, strict=True):
        if truth > 1e-300:
            assert truth <= Fraction(found) <= truth * (1 + Fraction(MARGIN))


@pytest.mark.parametrize("trials", [10**6, 10**9, 2**40])
@pytest.mark.parametrize("chance", [0.5, 0.3, 1e-5])
@pytest.mark.parametrize("away", [-30, -3, 0.1, 5, 20])
def test_so_it_does_for_as_many_trials_as_there_are_people(trials, chance, away):
    k = max(0, int(trials * chance + away * (trials * chance * (1 - chance)) ** 0.5))
    excess = float(k - trials * Fraction(chance))
    (said,) = point_bound(np.array([float(trials)]), np.array([float(k)]), np.array([excess]), chance)
    with mp.workdps(50):
        p = mpf(chance)
        logs = mp.loggamma(trials + 1) - mp.loggamma(k + 1) - mp.loggamma(trials - k + 1)
        truth = mp.exp(logs + k * mp.log(p) + (trials - k) * mp.log(1 - p))
        assert truth <= mpf(said) <= truth * (1 + MARGIN)


@pytest.mark.parametrize("trials", [1, 2, 5, 28, 200])
@pytest.mark.parametrize("chance", [1 / 2, 1 / 8, 7 / 8, 1 / 64])
def test_the_tail_is_between_its_two_bounds(trials, chance):
    """The fraction ends after as many terms as are left: up to 30, the bounds are the tail itself."""
    exact = Fraction(chance)
    law = exact_law(trials, exact)
    tails = list(accumulate(reversed(law)))[::-1]
    least = [k for k in range(1, trials + 1) if k >= (trials + 1) * exact]
    if not least:
        return
    k = np.array(least, dtype=float)
    beyond = np.array([float(each - (trials + 1) * exact) for each in least])
    under, over = (tail_fraction(k, trials - k + 1, chance, beyond, over=over) for over in (False, True))
    for each, low, high in zip(least, under, over, strict=True):
        truth = tails[each] / (law[each] * each * (1 - exact))
        assert Fraction(low) < truth < Fraction(high)
        if trials <= 30:
            assert high - low < 3e-12 * low


@pytest.mark.parametrize(("away", "close"), [(0.5, 0.03), (1, 1e-3), (2, 1e-7), (4, 1e-11)])
def test_away_from_the_middle_the_bounds_are_close(away, close):
    trials = 10**9
    least = int(trials / 2 + away * trials**0.5 / 2) + 1
    where = [np.array([float(each)]) for each in (least, trials - least + 1, least - (trials + 1) / 2)]
    under, over = (tail_fraction(where[0], where[1], 0.5, where[2], over=over)[0] for over in (False, True))
    assert under < over < under * (1 + close)
