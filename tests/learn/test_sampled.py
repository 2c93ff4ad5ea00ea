"""Steps on samples: the code's own law is within what it says it spent, and the coins are people's own."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from discreet.accounting.laws import GaussianNoise
from discreet.accounting.sampled_steps import largest_step_rho
from discreet.accounting.schedule import Event, pld_epsilon
from discreet.audit.divergence import hockey_stick, max_divergence
from discreet.audit.laws import gaussian_law, laplace_law, product_law
from discreet.errors import BudgetExceeded, InvalidInput
from discreet.learn.core import account as module
from discreet.learn.core.account import OwnBudget
from discreet.learn.descent import sampled_account as sampled
from discreet.learn.descent.sampled_account import SampledAccount, of_one
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, PureLoss
from discreet.noise.entropy import SYSTEM
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

RATE = Fraction(3, 10)
HALF = Fraction(1, 2)


class Coins:
    """Entropy of which the first words are the coins of the people: as few or as many as 64 bits can be."""

    def __init__(self, words):
        self.first = list(words)

    def words(self, count):
        if self.first:
            given, self.first = self.first, []
            assert count == len(given)
            return np.array(given, dtype=np.uint64)
        return SYSTEM.words(count)


def opened(people, *, epsilon=1, delta=1e-3, noise="auto", entropy=SYSTEM, **settings):
    given = {"rate": RATE, "steps": 2, "share": Fraction(1), "neighbours": Neighbours.ADD_REMOVE} | settings
    budget = OwnBudget(epsilon=epsilon, delta=delta, noise=noise)
    return SampledAccount(budget, people=np.asarray(people), entropy=entropy, **given)


@pytest.fixture
def released(monkeypatch):
    """The noise and the exact integers of each release, as they meet."""
    seen = []

    class Laplace(DiscreteLaplace):
        def release(self, exact, **options):
            seen.append((self.scale, exact.copy()))
            return super().release(exact, **options)

    class Gaussian(DiscreteGaussian):
        def release(self, exact, **options):
            seen.append((self.sigma_squared, exact.copy()))
            return super().release(exact, **options)

    monkeypatch.setattr(module, "DiscreteLaplace", Laplace)
    monkeypatch.setattr(sampled, "DiscreteGaussian", Gaussian)
    return seen


def law_of_a_step(released, people, parts, *, reach, share, **settings):
    """Of what the code releases, all coins enumerated, within a window of integers."""
    parts, total = np.asarray(parts), 0.0
    persons = int(max(people)) + 1
    for coins in itertools.product((True, False), repeat=persons):
        words = [0 if coin else 2**64 - 1 for coin in coins]
        account = opened(people, entropy=Coins(words), **settings)
        account.release_step(lambda rows: parts[rows].sum(axis=0, keepdims=True), reach=reach, share=share)
        noise, exact = released.pop()
        of_noise = gaussian_law if account.order == 2 else laplace_law
        reached = math.ceil(20 * math.sqrt(noise) if account.order == 2 else 40 * noise)
        window = min(reached, 500) + 9
        chance = math.prod(float(RATE if coin else 1 - RATE) for coin in coins)
        total = total + chance * of_noise(float(noise), int(exact[0]), -window, window)
    return total


PEOPLE, PARTS = [0, 1, 1, 2], [-2, 1, 2, 1]
"""Of three people the second has two rows, which add up to as much as one may: 3."""


@pytest.mark.parametrize("epsilon", [0.5, 2])
@pytest.mark.parametrize("delta", [0.1, 1e-3])
def test_two_steps_of_the_code_are_within_what_they_say_they_spend(epsilon, delta, released):
    """The exact δ at the stated ε, with and without a person, both ways; the claim is not idle."""
    settings = {"epsilon": epsilon, "delta": delta, "reach": 3, "share": HALF}
    person = law_of_a_step(released, PEOPLE, PARTS, **settings)
    without = law_of_a_step(released, [0, 1], [-2, 1], **settings)
    account = opened(PEOPLE, epsilon=epsilon, delta=delta)
    for _ in range(2):
        account.release_step(lambda rows: np.zeros(1, dtype=np.int64), reach=3, share=HALF)
    spent = account.spent()
    assert spent == ApproximateLoss(epsilon=spent.epsilon, delta=Fraction(str(delta)))
    assert 0.999 * epsilon <= spent.epsilon <= epsilon
    twice = product_law(person, person), product_law(without, without)
    assert 0 < hockey_stick(*twice, float(spent.epsilon)) <= delta
    assert hockey_stick(*twice, float(spent.epsilon) / 3) > delta / 3


def test_less_noise_would_be_caught(released, monkeypatch):
    """Of the code with a quarter of the variance, the exact δ is beyond the claim."""
    honest = sampled.DiscreteGaussian.release
    monkeypatch.setattr(
        sampled.DiscreteGaussian,
        "release",
        lambda self, exact, **options: honest(
            type(self)(sigma_squared=self.sigma_squared / 4), exact, **options
        ),
    )
    settings = {"epsilon": 2, "delta": 0.01, "reach": 3, "share": HALF}
    person = law_of_a_step(released, [0, 0], [1, 2], **settings)
    without = law_of_a_step(released, [0], [0], **settings)
    twice = product_law(person, person), product_law(without, without)
    assert hockey_stick(*twice, 2.0) > 0.01


@pytest.mark.parametrize("epsilon", [0.5, 3])
def test_a_step_with_laplace_noise_is_within_its_epsilon(epsilon, released):
    settings = {"epsilon": epsilon, "delta": 0, "reach": 3, "share": Fraction(1)}
    person = law_of_a_step(released, PEOPLE, PARTS, **settings)
    for people, parts in (([0, 1], [-2, 1]), ([0, 1, 1], [1, 1, 2])):
        without = law_of_a_step(released, people, parts, **settings)
        assert max_divergence(person, without) <= epsilon * (1 + 1e-9)
    alone = law_of_a_step(released, [0], [3], **settings)
    nobody = law_of_a_step(released, [0], [0], **settings)
    assert max_divergence(alone, nobody) == pytest.approx(epsilon, rel=1e-6)
    account = opened(PEOPLE, epsilon=epsilon, delta=0)
    account.release_step(lambda rows: np.zeros(1, dtype=np.int64), reach=3, share=Fraction(1))
    assert isinstance(account.spent(), PureLoss)
    assert epsilon * (1 - 1e-9) <= account.spent().epsilon <= epsilon


@pytest.mark.parametrize("delta", [0, 0.01], ids=["Laplace", "Gaussian"])
def test_replacing_a_person_is_within_what_is_said(delta, released):
    """From one end of what a person may add to the other."""
    settings = {
        "epsilon": 2,
        "delta": delta,
        "reach": 3,
        "share": HALF,
        "neighbours": Neighbours.REPLACE_ONE,
    }
    one = law_of_a_step(released, [0, 1], [2, 3], **settings)
    other = law_of_a_step(released, [0, 1], [2, -3], **settings)
    twice = product_law(one, one), product_law(other, other)
    assert hockey_stick(*twice, 2.0) <= delta + 1e-12
    assert hockey_stick(*twice, 0.5) > delta
    account = opened([0, 1], epsilon=2, delta=delta, neighbours=Neighbours.REPLACE_ONE)
    for _ in range(2):
        account.release_step(lambda rows: np.zeros(1, dtype=np.int64), reach=3, share=HALF)
    assert account.spent().delta == Fraction(str(delta))
    assert 1.99 <= account.spent().epsilon <= 2


def test_noise_for_replacing_a_person_is_that_for_half_of_epsilon():
    account = opened([0], epsilon=2, delta=Fraction(1, 1000), neighbours=Neighbours.REPLACE_ONE)
    own = of_one(Fraction(2), Fraction(1, 1000), 2, "")
    assert own[0] == 1
    assert account._step == largest_step_rho(*own, RATE, 2)
    assert account._step < opened([0], epsilon=1, delta=Fraction(1, 1000))._step


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(30)])
def test_removing_and_adding_a_person_together_are_what_was_asked(epsilon):
    """By group privacy as the losses have it, of which all but the roundings is used."""
    delta = Fraction(1, 10**6)
    half, own = of_one(epsilon, delta, 2, "batch=None")
    both = ApproximateLoss(epsilon=half, delta=own).for_group(2)
    assert both.epsilon == epsilon
    assert both.delta == pytest.approx(delta, rel=1e-12)


def batches(people, times, **settings):
    """The places of the rows in each of so many steps of one account."""
    account, seen = opened(people, steps=times, **settings), []

    def sums(rows):
        seen.append(rows)
        return np.zeros(1, dtype=np.int64)

    for _ in range(times):
        account.release_step(sums, reach=1, share=Fraction(1, times))
    return seen


def coins_of(people, times):
    """For each step and person whether they are in; all of their rows or none."""
    people = np.asarray(people)
    found = np.zeros((times, people.max() + 1), dtype=int)
    sizes = np.bincount(people)
    for step, rows in enumerate(batches(people, times)):
        assert len(set(rows)) == len(rows)
        mine = np.bincount(people[rows], minlength=len(sizes))
        assert np.all((mine == 0) | (mine == sizes))
        found[step] = mine > 0
    return found


def test_people_are_sampled_with_all_of_their_rows_and_each_by_a_coin_of_their_own():
    """Numbers of people in a step are binomial: χ², false alarm 10⁻⁷. Of rows they would be spread less."""
    people = np.repeat(np.arange(24), np.arange(24) % 5 + 1)
    taken = coins_of(np.random.default_rng(1).permutation(people), 3000).sum(axis=1)
    law = stats.binom.pmf(np.arange(25), 24, float(RATE))
    lumped = [(0, 3), *((k, k + 1) for k in range(3, 12)), (12, 25)]
    found = np.array([((taken >= low) & (taken < high)).sum() for low, high in lumped])
    expected = np.array([law[low:high].sum() for low, high in lumped]) * len(taken)
    assert stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > 1e-7


def test_coins_of_steps_and_of_people_are_independent():
    """How often a person is in two steps after another, and two people in the same: false alarm 2·10⁻⁷."""
    coins = coins_of(np.arange(40), 2000)
    square = float(RATE) ** 2
    for pairs in (coins[0::2] & coins[1::2], coins[:, 0::2] & coins[:, 1::2]):
        assert stats.binomtest(int(pairs.sum()), pairs.size, square).pvalue > 1e-7
    assert stats.binomtest(int(coins.sum()), coins.size, float(RATE)).pvalue > 1e-7


@pytest.mark.parametrize("rate", [Fraction(1, 1000), RATE, Fraction(99, 100)])
def test_the_rate_of_the_coins_is_the_rate_of_the_account(rate):
    """Coins fall at the very word at which they must: no false alarm."""
    edge = math.floor(rate * 2**64)
    account = opened([0, 1, 2], rate=rate, entropy=Coins([edge - 1, edge + 1, 0]))
    rows = []
    account.release_step(lambda taken: rows.extend(taken) or np.zeros(1, dtype=np.int64), reach=1, share=HALF)
    assert rows == [0, 2]
    assert account.rate == rate


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_sums_over_everyone_pay_in_full_and_all_together_are_within_what_was_asked(delta):
    account = opened([0, 1], delta=delta, steps=10, share=Fraction(3, 4))
    vector = np.zeros(3, dtype=np.int64)
    account.release(vector, reach=5, share=Fraction(1, 4))
    for _ in range(10):
        account.release_step(lambda rows: vector, reach=5, share=Fraction(3, 40))
    assert Fraction(999, 1000) < account.spent().epsilon <= 1
    assert (len(account.losses), len(account.sampled_losses)) == (1, 10)
    paid = account.losses[0].epsilon if delta == 0 else account.losses[0].rho
    whole = account.total.epsilon if delta == 0 else account.total.rho
    assert paid == whole / 4
    with pytest.raises(BudgetExceeded):
        account.release_step(lambda rows: vector, reach=5, share=Fraction(1, 10**6))
    with pytest.raises(BudgetExceeded):
        account.release(vector, reach=5, share=Fraction(1, 10**6))


def test_what_is_released_on_everyone_is_in_the_account_of_the_steps():
    """With a quarter of the budget on everyone, a step has as much less, at δ = 10⁻⁵ of all together."""
    account = opened([0], delta=1e-5, steps=10, share=Fraction(3, 4))
    alone = opened([0], delta=1e-5, steps=10)
    assert account._step < alone._step
    events = [
        Event(law=GaussianNoise(sigma=_sigma(account.total.rho / 4))),
        Event(law=GaussianNoise(sigma=_sigma(account._step)), times=10, sampling_probability=RATE),
    ]
    assert 0.99 < pld_epsilon(events, 1e-5) <= 1


def _sigma(rho):
    return math.sqrt(1 / (2 * rho))


def test_only_the_steps_that_are_accounted_for_are_made():
    """Not one more, none of another size, and nothing on everyone that was not planned."""
    zero = np.zeros(1, dtype=np.int64)
    with pytest.raises(BudgetExceeded):
        opened([0]).release(zero, reach=1, share=Fraction(1, 10))
    with pytest.raises(BudgetExceeded):
        opened([0], steps=4).release_step(lambda rows: pytest.fail("summed"), reach=1, share=HALF)
    account = opened([0], steps=4, share=HALF)
    for _ in range(4):
        account.release_step(lambda rows: zero, reach=1, share=Fraction(1, 8))
    with pytest.raises(BudgetExceeded):
        account.release_step(lambda rows: pytest.fail("summed"), reach=1, share=Fraction(1, 8))
    account.release(zero, reach=1, share=HALF)
    with pytest.raises(BudgetExceeded):
        account.release(zero, reach=1, share=Fraction(1, 10**9))


@pytest.mark.parametrize("moved", [(5, 0), (3, 4), (-4, 3), (0, -5)])
def test_vectors_that_move_in_any_direction_are_within_the_claim(moved, released):
    """Discrete noise is not alike in all directions; every outcome of one step on a plane is enumerated."""
    epsilon, delta = 2, 0.01
    account = opened([0], epsilon=epsilon, delta=delta, steps=1)
    account.release_step(lambda rows: np.zeros(2, dtype=np.int64), reach=5, share=Fraction(1))
    variance, _ = released.pop()
    window = math.ceil(12 * math.sqrt(variance)) + 5
    still, *taken = (gaussian_law(float(variance), centre, -window, window) for centre in (0, *moved))
    without = product_law(still, still).reshape(-1)
    person = float(RATE) * product_law(*taken).reshape(-1) + (1 - float(RATE)) * without
    for pair in ((person, without), (without, person)):
        assert hockey_stick(*pair, float(epsilon)) <= delta
    assert hockey_stick(person, without, float(epsilon) / 2) > delta


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("delta", [0, Fraction(1, 7 * 10**5)])
def test_no_rounding_states_more_than_was_asked(delta, neighbours):
    """At numbers that have no end as decimals."""
    asked = Fraction(1, 3)
    account = opened([0], epsilon=asked, delta=delta, steps=7, rate=Fraction(2, 7), neighbours=neighbours)
    for _ in range(7):
        account.release_step(lambda rows: np.zeros(1, dtype=np.int64), reach=1, share=Fraction(1, 7))
    assert asked * (1 - Fraction(1, 10**9)) <= account.spent().epsilon <= asked
    assert account.spent().delta == delta


def test_no_coin_is_tossed_and_no_row_is_summed_without_budget():
    account = opened([0, 1])
    with pytest.raises(BudgetExceeded):
        account.release_step(lambda rows: pytest.fail("summed"), reach=1, share=Fraction(2))


def test_sampling_buys_less_noise_but_never_a_better_sum_than_everyone():
    """Beside the sum over everyone the noise of all steps together is larger, but a little only.

    Everyone is here too in the tightest account: δ of one Gaussian with all of ρ.
    """

    def delta_of(rho):
        mu = math.sqrt(2 * rho)
        return stats.norm.cdf(mu / 2 - 1 / mu) - math.e * stats.norm.cdf(-mu / 2 - 1 / mu)

    full = 1 / math.sqrt(2 * brentq(lambda rho: delta_of(rho) - 1e-5, 1e-3, 1))
    for rate, steps, most in ((0.5, 100, 1.1), (0.1, 100, 1.1), (0.1, 1000, 1.03), (0.01, 1000, 1.25)):
        found = opened([0], delta=1e-5, rate=rate, steps=steps).deviation_of_steps(Fraction(1), 1.0, steps)
        assert full <= found <= most * full
    laplace = module.FitAccount(
        module.loss_of(1, 0, "auto"), neighbours=Neighbours.ADD_REMOVE
    ).deviation_of_steps(Fraction(1), 1.0, 10)
    found = opened([0], delta=0, rate=0.1).deviation_of_steps(Fraction(1), 1.0, 10)
    assert laplace <= found <= 1.6 * laplace


@pytest.mark.parametrize("bad", [0, 1, 1.0, -0.5, 32, math.nan, True, "0.1"])
def test_rates_are_checked(bad):
    with pytest.raises(InvalidInput, match="batch"):
        opened([0], rate=bad)


def test_other_settings_are_checked():
    for bad in ({"steps": 0}, {"epsilon": 0}, {"delta": 1}, {"delta": 0, "noise": "gaussian"}):
        with pytest.raises(InvalidInput):
            opened([0], **bad)
    for name in ("replace_one", "add_remove", None):
        with pytest.raises(InvalidInput, match="neighbours"):
            opened([0], neighbours=name)
    with pytest.raises(InvalidInput, match="replacing"):
        opened([0], epsilon=10**4, neighbours=Neighbours.REPLACE_ONE)


def test_gaussian_noise_is_larger_than_continuous_noise_by_what_smooths_the_lattice(released):
    """On everyone and on samples: 5 more than Δ²/2ρ."""
    account = opened([0], steps=2, share=HALF)
    account.release(np.zeros(1, dtype=np.int64), reach=7, share=HALF)
    account.release_step(lambda rows: np.zeros(1, dtype=np.int64), reach=7, share=Fraction(1, 4))
    (everyone, _), (sampled_one, _) = released
    assert everyone == Fraction(49) / account.total.rho + 5
    assert sampled_one == Fraction(49) / (2 * account._step) + 5
    assert account.losses[0].rho == account.total.rho / 2
