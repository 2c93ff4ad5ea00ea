"""The thresholds that are chosen for an ε keep to it, exactly, and waste nothing. No false alarms."""

from fractions import Fraction

import pytest

from discreet.errors import InvalidInput
from discreet.local.mechanisms.choice import best_for_options
from discreet.local.mechanisms.classic import DirectResponse, LocalHashing, UnaryEncoding
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.number import DUCHI_UP_TO, NumberResponse
from discreet.local.mechanisms.projective import ProjectiveResponse
from discreet.local.mechanisms.randomness import RANGE
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.mechanisms.thresholds import keep_threshold, odds_of, weight_of
from discreet.model.exact import exp_bounds

EPSILONS = [
    Fraction(text) for text in ("1e-6", "0.01", "0.1", "0.5", "0.61", "0.62", "1", "2", "4", "7.5", "16")
]
OPTIONS = [2, 3, 16, 100, 256, 257, 1000, 10**4, 10**6]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_weight_is_certified_from_below(epsilon):
    assert weight_of(epsilon) < exp_bounds(epsilon, 60)[0]
    assert weight_of(epsilon) > exp_bounds(epsilon, 60)[1] * (1 - Fraction(1, 10**35))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("sizes", [(1, 1), (1, 255), (64, 192), (9841, 19683), (1, 10**6)], ids=str)
def test_a_threshold_is_the_largest_that_keeps_to_epsilon(epsilon, sizes):
    """By a ratio of integers, far from any floating point."""
    keep = keep_threshold(epsilon, *sizes)
    assert odds_of(keep, *sizes) <= weight_of(epsilon)
    if keep < RANGE - 1:
        assert odds_of(keep + 1, *sizes) > weight_of(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_mechanism_that_is_chosen_keeps_to_epsilon(options, epsilon):
    mechanism = best_for_options(epsilon, options)
    assert mechanism.answers == options
    assert 1 < mechanism.odds <= weight_of(epsilon)
    assert mechanism.odds - 1 > (weight_of(epsilon) - 1) * (1 - Fraction(1, 10**4))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("options", [2, 3, 100, 10**4, 2**16])
@pytest.mark.parametrize("kind", [DirectResponse, UnaryEncoding, LocalHashing])
def test_the_classics_keep_to_epsilon(kind, options, epsilon):
    mechanism = kind.for_loss(epsilon, options)
    assert 1 < mechanism.odds <= weight_of(epsilon)
    assert mechanism.odds - 1 > (weight_of(epsilon) - 1) * (1 - Fraction(1, 10**3))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("steps", [1, 2, 100, 4096, 2**16])
def test_numbers_keep_to_epsilon(steps, epsilon):
    mechanism = NumberResponse.for_loss(epsilon, steps)
    assert (mechanism.mix > 0) == (epsilon > DUCHI_UP_TO)
    assert 1 < mechanism.odds <= weight_of(epsilon)
    assert mechanism.odds - 1 > (weight_of(epsilon) - 1) * Fraction(99, 100)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)], ids=str)
@pytest.mark.parametrize("options", [257, 1000, 10**4])
def test_no_mechanism_at_hand_would_have_less_error(options, epsilon):
    best = best_for_options(epsilon, options)
    rivals = [HadamardResponse.for_loss(epsilon, options)]
    for prime, coordinates in ((3, 10), (5, 7), (7, 6), (11, 5), (13, 5), (53, 3), (59, 3), (101, 3)):
        if (prime**coordinates - 1) // (prime - 1) >= options:
            rivals.append(ProjectiveResponse.for_loss(epsilon, options, prime=prime, coordinates=coordinates))
    assert best.mean_variance <= min(rival.mean_variance for rival in rivals)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
@pytest.mark.parametrize("options", [2, 3, 10, 40, 256])
def test_no_other_size_of_the_set_has_less_error(options, epsilon):
    best = SubsetSelection.for_loss(epsilon, options)
    sizes = [
        SubsetSelection(answers=options, chosen=size, keep=keep_threshold(epsilon, size, options - size))
        for size in range(1, options)
    ]
    assert best.mean_variance == min(mechanism.mean_variance for mechanism in sizes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: best_for_options(Fraction(1), 1),
        lambda: best_for_options(Fraction(1), 2**26 + 1),
        lambda: SubsetSelection(answers=257, chosen=1, keep=1),
        lambda: SubsetSelection(answers=5, chosen=5, keep=1),
        lambda: SubsetSelection(answers=5, chosen=1, keep=RANGE),
        lambda: SubsetSelection(answers=5, chosen=1, keep=0),
        lambda: HadamardResponse(answers=1, keep=1),
        lambda: HadamardResponse(answers=5, keep=2.5),
        lambda: ProjectiveResponse(answers=5, prime=4, coordinates=3, keep=1),
        lambda: ProjectiveResponse(answers=14, prime=3, coordinates=3, keep=1),
        lambda: ProjectiveResponse(answers=5, prime=3, coordinates=17, keep=1),
        lambda: ProjectiveResponse(answers=5, prime=3, coordinates=1, keep=1),
        lambda: NumberResponse.for_loss(Fraction(1), 0),
        lambda: NumberResponse(steps=2, low=RANGE // 2, rise=RANGE // 4, mix=0, stride=1, window=1, keep=1),
        lambda: NumberResponse(steps=2, low=1, rise=1, mix=0, stride=2**22, window=1, keep=1),
    ],
)
def test_thresholds_out_of_range_are_refused(make):
    with pytest.raises(InvalidInput):
        make()
