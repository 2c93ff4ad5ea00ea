"""What local privacy costs. No false alarms: nothing is drawn."""

from fractions import Fraction
from itertools import product
from math import exp, log

import pytest

from discreet.errors import InvalidInput
from discreet.local.compare import beliefs, compare, rivals
from discreet.local.mechanisms.choice import best_for_options
from discreet.local.shuffle import shuffled_loss

ONE = Fraction(1)


def test_yes_or_no_of_a_hundred_thousand_people():
    found = compare(people=10**5, options=2, epsilon=1, delta=1e-6)
    assert found.error_of("local") == pytest.approx(0.0059, abs=0.0001)
    assert found.error_of("central") == pytest.approx(0.00003, abs=0.000001)
    assert found.error_of("central") < found.error_of("shuffled") < found.error_of("local")
    assert found.people_for_central_error == pytest.approx(3.9e9, rel=0.01)


def test_the_central_error_is_that_of_laplace_noise():
    """ln 20 scales of noise, rounded to a count; of a histogram with one answer replaced it is 2/ε."""
    for options, scale in ((2, 1), (3, 2), (1000, 2)):
        found = compare(people=10**6, options=options, epsilon=Fraction(1, 10))
        assert found.error_of("central") * 10**6 == pytest.approx(10 * scale * log(20), abs=1)


def test_shuffled_devices_spend_what_the_theorem_allows():
    found = compare(people=10**6, options=100, epsilon=1, delta=1e-8)
    local, shuffled, _ = found.errors
    assert shuffled.epsilon > 4 > local.epsilon
    assert shuffled_loss(shuffled.epsilon, people=10**6, delta=1e-8) <= 1
    best = best_for_options(shuffled.epsilon, 100)
    assert shuffled.error == pytest.approx(1.96 * (best.mean_variance / 10**6) ** 0.5, rel=1e-4)


def test_few_people_gain_by_shuffling_too_and_one_nothing():
    found = compare(people=50, options=5, epsilon=Fraction(1, 10))
    assert found.error_of("shuffled") < found.error_of("local") / 4
    alone = compare(people=1, options=5, epsilon=Fraction(1, 10), delta=1e-9)
    assert alone.error_of("shuffled") == alone.error_of("local")
    assert found.delta == Fraction(1, 500)


@pytest.mark.parametrize("options", [2, 5, 256, 257, 10**4])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), ONE, Fraction(4)], ids=str)
def test_the_chosen_mechanism_is_marked(options, epsilon):
    found = list(rivals(epsilon, options))
    assert {rival.name for rival in found} == {
        "subset", "projective", "hadamard", "direct", "unary", "hashing"
    }  # fmt: skip
    (chosen,) = [rival for rival in found if rival.chosen]
    best = best_for_options(epsilon, options)
    assert (chosen.name, chosen.size, chosen.variance) == (best.name, best.size, best.mean_variance)
    assert [rival.variance for rival in found] == sorted(rival.variance for rival in found)


def test_all_mechanisms_at_ten_thousand_options():
    found = {rival.name: rival for rival in rivals(ONE, 10**4)}
    optimum = 4 * exp(1) / (exp(1) - 1) ** 2
    for name in ("subset", "unary", "hashing", "projective"):
        assert optimum * 0.999 < found[name].variance < optimum * 1.03
    assert found["hadamard"].variance == pytest.approx(((exp(1) + 1) / (exp(1) - 1)) ** 2, rel=0.01)
    assert found["direct"].variance > 3000
    assert (found["subset"].size, found["unary"].size, found["projective"].size) == (1250, 1250, 2)


def test_subset_selection_beyond_its_bitmap_is_the_same_formula():
    """At 256 options the class itself, at 257 its closed form: next to each other."""
    (at,), (beyond,) = ([r for r in rivals(ONE, k) if r.name == "subset"] for k in (256, 257))
    assert beyond.variance == pytest.approx(at.variance, rel=0.01)
    assert (at.size, beyond.size) == (32, 33)


def guessed_right(keep, days):
    """By going through all 2^days sequences of true and false reports."""
    total = 0.0
    for reports in product((True, False), repeat=days):
        true = sum(reports)
        chance = keep**true * (1 - keep) ** (days - true)
        total += chance * (1 if 2 * true > days else 0.5 if 2 * true == days else 0)
    return total


def test_what_repeated_reports_reveal():
    keep = exp(1) / (exp(1) + 1)
    found = list(beliefs(ONE))
    assert [belief.day for belief in found] == list(range(1, 31))
    for belief in found:
        assert belief.remembered == pytest.approx(keep, rel=1e-9)
        if belief.day <= 12:
            assert belief.fresh == pytest.approx(guessed_right(keep, belief.day), rel=1e-9)
    assert found[-1].fresh > 0.99
    assert [belief.fresh for belief in found] == sorted(belief.fresh for belief in found)


def test_a_small_loss_grows_too():
    *_, last = beliefs(Fraction(1, 4))
    assert last.fresh == pytest.approx(0.74, abs=0.02)
    assert last.remembered == pytest.approx(0.562, abs=0.001)


@pytest.mark.parametrize(
    "wrong", [{"people": 0}, {"options": 1}, {"epsilon": 0}, {"epsilon": 17}, {"delta": 0}, {"people": 1.5}]
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(InvalidInput):
        compare(**{"people": 1000, "options": 5, "epsilon": 1, "delta": 1e-6, **wrong})
