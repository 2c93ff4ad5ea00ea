"""Selection: who is picked, how far from the best, at what price."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.audit.laws import exponential_law, permute_and_flip_law
from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity
from discreet.noise.entropy import ScriptedEntropy
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from tests.bad_values import BAD_QUANTITIES

COUNTS = ScoreSensitivity.counts(Neighbours.ADD_REMOVE)
LAWS = {PermuteAndFlip: permute_and_flip_law, ExponentialMechanism: exponential_law}
KINDS = list(LAWS)
IDS = ["permute-and-flip", "exponential"]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_stated_distance_from_the_best_holds_for_all_scores_and_is_attained(kind, confidence):
    """Enumerates every score vector of four candidates with scores up to 9."""
    mechanism = kind(temperature=Fraction(2))
    reach = -int(mechanism.interval(confidence, candidates=4).low)
    worst, nearer = 0.0, 0.0
    for rest in product(range(10), repeat=3):
        scores = [*sorted(rest), 9]
        probabilities = LAWS[kind](scores, 2.0)
        gaps = 9 - np.array(scores)
        worst = max(worst, probabilities[gaps > reach].sum())
        nearer = max(nearer, probabilities[gaps > reach - 1].sum())
    if reach < 9:
        assert worst <= 1 - confidence + 1e-12
    assert reach == 0 or reach > 9 or nearer > 1 - confidence - 1e-12


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_the_least_loss_for_a_distance(kind):
    mechanism = kind.for_error(10, 0.95, candidates=1000)
    assert -mechanism.interval(0.95, candidates=1000).low == 10
    warmer = kind(temperature=mechanism.temperature * Fraction(1001, 1000))
    assert -warmer.interval(0.95, candidates=1000).low == 11


def test_permute_and_flip_is_never_worse():
    for candidates in (2, 10, 10_000):
        flip = PermuteAndFlip(temperature=Fraction(50)).interval(0.95, candidates=candidates)
        exponential = ExponentialMechanism(temperature=Fraction(50)).interval(0.95, candidates=candidates)
        assert flip.low >= exponential.low


def test_what_is_asked_for_is_what_is_spent():
    mechanism = PermuteAndFlip.for_loss(0.3, COUNTS, picks=3)
    assert mechanism.loss(COUNTS, picks=3) == PureLoss(epsilon=Fraction(3, 10))
    exponential = ExponentialMechanism.for_loss(1, COUNTS)
    assert exponential.concentrated_loss(COUNTS) == ConcentratedLoss(rho=Fraction(1, 8), delta=Fraction(0))


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_a_clear_winner_wins(kind):
    """At temperature 1 a lead of 200 loses with probability below 10⁻⁸⁰."""
    assert all(kind(temperature=Fraction(1)).release([0, 200, 3]) == 1 for _ in range(50))


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_scores_at_the_ends_of_64_bits_do_not_wrap(kind):
    scores = np.array([-(2**63), 2**63 - 1, 0])
    assert kind(temperature=Fraction(1)).release(scores) == 1
    assert kind(temperature=Fraction(1)).release([10**40, 0]) == 0


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_ties_in_the_first_64_bits_are_resolved_with_more(kind):
    same = [12345678901234567, 12345678901234567]
    chosen = [
        kind(temperature=Fraction(1)).release([5, 5], entropy=ScriptedEntropy(same, [first], [second]))
        for first, second in ((1, 2**63), (2**63, 1))
    ]
    assert sorted(chosen) == [0, 1]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_words_of_zeros_and_ones_are_no_trouble(kind):
    for words in ([0, 0], [2**64 - 1, 2**64 - 1], [0, 2**64 - 1]):
        assert kind(temperature=Fraction(1)).release([1, 1], entropy=ScriptedEntropy(words, [7], [9])) in (
            0,
            1,
        )


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_top_picks_are_distinct(kind):
    picks = kind(temperature=Fraction(3)).release_top(list(range(30)), 30)
    assert sorted(picks) == list(range(30))


@pytest.mark.parametrize("scores", [[], [0.5], [True], ["1"], None, [[1, 2]], 5, [1, None]], ids=repr)
def test_scores_are_a_list_of_whole_numbers(scores):
    for kind in KINDS:
        with pytest.raises(InvalidInput):
            kind(temperature=Fraction(1)).release(scores)


@pytest.mark.parametrize("picks", [0, -1, 4, 1.0, "1", True, None], ids=repr)
def test_no_more_picks_than_candidates(picks):
    with pytest.raises(InvalidInput):
        PermuteAndFlip(temperature=Fraction(1)).release_top([1, 2, 3], picks)


@pytest.mark.parametrize("value", BAD_QUANTITIES, ids=repr)
def test_a_temperature_or_epsilon_is_a_number(value):
    for kind in KINDS:
        with pytest.raises(InvalidInput):
            kind(temperature=value)
        with pytest.raises(InvalidInput):
            kind.for_loss(value, COUNTS)
