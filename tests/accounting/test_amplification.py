"""What sampled releases cost: beside enumerated laws, in both directions, and beside dp-accounting."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.amplification import (
    MOST_ORDER,
    best_order,
    largest_pure,
    largest_sampled_rho,
    renyi_budget,
    renyi_epsilon,
    renyi_step_rho,
    sampled_epsilon,
    sampled_pure,
    sampled_renyi,
)
from discreet.errors import InvalidInput
from discreet.model.conversion import concentrated_epsilon

RATES = [Fraction(1, 100), Fraction(3, 10), Fraction(9, 10)]
MOVES = [(1,), (2,), (5,), (1, 1), (2, 1), (0, 3)]


def log_gaussian(sigma_squared, centre, grid):
    """ln P of a vector of discrete Gaussians around a vector of integers, on all points of a grid."""
    logs = np.zeros([len(axis) for axis in grid])
    for place, (axis, at) in enumerate(zip(grid, centre, strict=True)):
        line = -((axis - at) ** 2) / (2 * sigma_squared)
        reach = np.arange(-2000, 2001)
        line = line - np.log(np.exp(-(reach**2) / (2 * sigma_squared)).sum())
        logs += line.reshape([-1 if i == place else 1 for i in range(len(grid))])
    return logs


def renyi(log_p, log_q, order):
    logs = order * log_p + (1 - order) * log_q
    return (logs.max() + math.log(np.exp(logs - logs.max()).sum())) / (order - 1)


def mixture(log_q, log_p, rate):
    return np.logaddexp(math.log1p(-rate) + log_q, math.log(rate) + log_p)


def grid_for(move, sigma_squared, order):
    """All points that matter to moments of this order: the mass of order l is around l times the move."""
    tail = math.ceil(12 * math.sqrt(sigma_squared)) + 3
    return [np.arange(-tail, order * abs(each) + tail + 1.0) for each in move]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("sigma_squared", [Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(6)])
@pytest.mark.parametrize("move", MOVES)
def test_the_divergence_is_exact_and_the_other_direction_is_no_more(move, sigma_squared, rate):
    """Of vectors of discrete Gaussians, whatever direction they move in, also where σ is far below 1."""
    rho = Fraction(sum(each * each for each in move)) / (2 * sigma_squared)
    for order in (2, 3, 7):
        grid = grid_for(move, float(sigma_squared), order)
        q = log_gaussian(float(sigma_squared), [0] * len(move), grid)
        m = mixture(q, log_gaussian(float(sigma_squared), move, grid), float(rate))
        claim = float(sampled_renyi(rho, rate, order))
        assert renyi(m, q, order) == pytest.approx(claim, rel=1e-9, abs=1e-13)
        assert renyi(q, m, order) <= claim * (1 + 1e-9)


@pytest.mark.parametrize("order", [1.01, 1.5, 2.5, 11.3])
def test_the_other_direction_is_no_more_at_any_order(order):
    for move, rate, sigma_squared in itertools.product(MOVES, (0.02, 0.5, 0.97), (0.2, 2.0)):
        grid = grid_for(move, sigma_squared, 12)
        q = log_gaussian(sigma_squared, [0] * len(move), grid)
        m = mixture(q, log_gaussian(sigma_squared, move, grid), rate)
        assert renyi(q, m, order) <= renyi(m, q, order) * (1 + 1e-9) + 1e-14


def sampled_law(parts, rate, log_at):
    """The law of noise on the sum over a sample of people, all samples enumerated."""
    total = None
    for coins in itertools.product((0, 1), repeat=len(parts)):
        weight = math.prod(float(rate if coin else 1 - rate) for coin in coins)
        each = math.log(weight) + log_at(sum(p for p, coin in zip(parts, coins, strict=True) if coin))
        total = each if total is None else np.logaddexp(total, each)
    return total


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("others", [(), (1,), (-2, 3, 1)])
def test_the_coins_of_others_add_nothing(others, rate):
    """The person adds 2 at most; what the others add, and whether they are sampled, does not matter."""
    grid = [np.arange(-80, 120.0)]
    rho = Fraction(4, 2 * 3)

    def at(centre):
        return log_gaussian(3.0, [centre], grid)

    without = sampled_law(others, rate, at)
    for own in (-2, -1, 1, 2):
        person = sampled_law((*others, own), rate, at)
        for order in (2, 5):
            claim = float(sampled_renyi(rho, rate, order)) * (1 + 1e-9)
            assert renyi(person, without, order) <= claim
            assert renyi(without, person, order) <= claim


@pytest.mark.parametrize("rate", RATES)
def test_pure_losses_on_samples(rate):
    grid = np.arange(-60, 61.0)

    def at(centre):
        return -np.abs(grid - centre) / 2

    for others in ((), (1,), (-2, 3)):
        without = sampled_law(others, rate, at)
        for own in (-3, -1, 2, 3):
            ratios = np.abs(sampled_law((*others, own), rate, at) - without)
            assert ratios.max() <= float(sampled_pure(Fraction(3, 2), rate)) * (1 + 1e-12)
    alone = np.abs(sampled_law((3,), rate, at) - at(0)).max()
    assert alone == pytest.approx(float(sampled_pure(Fraction(3, 2), rate)), rel=1e-9)


@pytest.mark.parametrize("rate", RATES)
def test_two_steps_are_within_epsilon_and_delta(rate):
    """Every pair of outcomes enumerated: the exact δ at the stated ε, both ways."""
    grid = [np.arange(-60, 90.0)]
    q = log_gaussian(4.0, [0], grid)
    m = mixture(q, log_gaussian(4.0, [3], grid), float(rate))
    for delta in (1e-1, 1e-3, 1e-6):
        epsilon = float(sampled_epsilon(Fraction(9, 8), rate, 2, delta))
        for first, second in ((m, q), (q, m)):
            upper, lower = (np.exp(np.add.outer(law, law)) for law in (first, second))
            assert np.maximum(0, upper - math.exp(epsilon) * lower).sum() <= delta


def test_it_is_dp_accounting_s_divergence_at_whole_orders():
    """The formula for the continuous law is the same; for the discrete one it is proved above."""
    accounting = pytest.importorskip("dp_accounting")
    orders = [2, 3, 8, 31, 200]
    for sigma, rate in itertools.product((0.7, 2.0, 30.0), (0.001, 0.1, 0.6)):
        accountant = accounting.rdp.RdpAccountant(orders)
        noise = accounting.GaussianDpEvent(sigma)
        accountant.compose(accounting.PoissonSampledDpEvent(rate, noise), 1)
        ours = [
            float(sampled_renyi(1 / (2 * Fraction(str(sigma)) ** 2), Fraction(str(rate)), a)) for a in orders
        ]
        assert ours == pytest.approx(list(accountant.rdp), rel=1e-6)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "most"),
    [(2, 0.01, 1000, 1.25), (4, 0.1, 200, 1.25), (1, 0.01, 100, 1.6)],
)
def test_it_is_near_the_tightest_account_of_continuous_noise(sigma, rate, steps, most):
    """Privacy loss distributions are tighter, most where noise is small and steps are few."""
    pytest.importorskip("dp_accounting")
    from discreet.accounting.laws import GaussianNoise
    from discreet.accounting.schedule import Event, pld_epsilon, rdp_epsilon

    events = [Event(law=GaussianNoise(sigma=sigma), times=steps, sampling_probability=rate)]
    ours = sampled_epsilon(Fraction(1, 2 * sigma**2), rate, steps, 1e-6)
    assert pld_epsilon(events, 1e-6) < ours < float(pld_epsilon(events, 1e-6)) * most
    assert float(ours) == pytest.approx(float(rdp_epsilon(events, 1e-6)), rel=0.01)


def test_sampling_everyone_is_the_limit_and_less_is_cheaper():
    for order, rho in itertools.product((2, 9, 100), (Fraction(1, 1000), Fraction(1, 3), Fraction(5))):
        costs = [sampled_renyi(rho, Fraction(share, 10**6), order) for share in (1, 10**4, 10**5, 999_999)]
        assert costs == sorted(costs)
        assert 0 < costs[0] < costs[-1] <= order * rho
        assert float(costs[-1]) == pytest.approx(float(order * rho), rel=1e-3)


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), *RATES, 1 - Fraction(1, 10**9)])
@pytest.mark.parametrize("order", [2, 17, 3000])
def test_the_inverse_is_the_largest_that_fits(rate, order):
    """Certified from above; and a millionth more would be too much."""
    for renyi_amount in (Fraction(1, 10**9), Fraction(1, 50), Fraction(3), Fraction(2000)):
        rho = largest_sampled_rho(renyi_amount, rate, order)
        assert rho >= renyi_amount / order
        assert sampled_renyi(rho, rate, order) <= renyi_amount
        more = rho * (1 + Fraction(1, 10**6))
        assert sampled_renyi(more, rate, order) > renyi_amount * (1 - Fraction(1, 10**8))


@pytest.mark.parametrize("rate", RATES)
def test_the_inverse_for_pure_losses(rate):
    for epsilon in (Fraction(1, 10**6), Fraction(1, 3), Fraction(7), Fraction(400)):
        found = largest_pure(epsilon, rate)
        assert found > epsilon
        assert epsilon * (1 - Fraction(1, 10**12)) <= sampled_pure(found, rate) <= epsilon
    assert largest_pure(10**5, rate) == sampled_pure(10**5, rate) == 10**5


@pytest.mark.parametrize("order", [2, 5, 60, 4000])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-50])
def test_a_budget_of_divergence_is_worth_its_epsilon_and_no_more(order, delta):
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(300)):
        budget = renyi_budget(epsilon, delta, order)
        if budget > 0:
            back = renyi_epsilon(budget, delta, order)
            assert epsilon * (1 - Fraction(1, 10**12)) <= back <= epsilon


def test_the_conversion_is_that_of_concentrated_losses():
    """At its best order, of which all are tried, a divergence of αρ costs what ρ-zCDP does."""
    rho, delta = Fraction(1, 50), Fraction(1, 10**6)
    best = min(renyi_epsilon(order * rho, delta, order) for order in range(2, 100))
    assert 1 <= best / concentrated_epsilon(rho, delta) < 1 + Fraction(1, 1000)


@pytest.mark.parametrize("case", [(1, 1e-5, 0.1, 100), (0.1, 1e-9, 0.02, 30), (8, 1e-6, 0.01, 300)])
def test_the_least_noise_is_within_what_was_asked_for(case):
    epsilon, delta, rate, steps = case
    rho = renyi_step_rho(epsilon, delta, rate, steps)
    order = best_order(Fraction(str(epsilon)), Fraction(str(delta)), Fraction(str(rate)), steps, Fraction(0))
    total = steps * sampled_renyi(rho, Fraction(str(rate)), order)
    assert renyi_epsilon(total, delta, order) <= Fraction(str(epsilon))
    assert sampled_epsilon(rho, rate, steps, delta) == pytest.approx(epsilon, rel=1e-3)
    others = [max(2, order // 2), order + 1, 2 * order]
    for other in others:
        budget = renyi_budget(epsilon, delta, other)
        if budget > 0:
            assert largest_sampled_rho(budget / steps, Fraction(str(rate)), other) <= rho * Fraction(
                1001, 1000
            )


def test_extremes_have_an_answer():
    assert renyi_step_rho(10**5, 1e-6, 0.1, 30) > 1000
    assert renyi_step_rho(1e-2, 1e-9, 0.5, 10) > 0
    assert renyi_step_rho(1, 1e-50, 0.5, 10**6) > 0
    with pytest.raises(InvalidInput, match="no account"):
        renyi_step_rho(1e-5, 1e-9, 0.5, 10)


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, 32, math.nan, True, "0.1", None])
def test_rates_are_checked(bad):
    for call in (
        lambda: sampled_pure(1, bad),
        lambda: largest_pure(1, bad),
        lambda: sampled_epsilon(1, bad, 1, 1e-6),
        lambda: renyi_step_rho(1, 1e-6, bad, 1),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_other_arguments_are_checked():
    half = Fraction(1, 2)
    for call in (
        lambda: sampled_renyi(Fraction(0), half, 2),
        lambda: sampled_renyi(Fraction(1), half, 1),
        lambda: sampled_renyi(Fraction(1), half, MOST_ORDER + 1),
        lambda: sampled_renyi(Fraction(1), half, 2.5),
        lambda: sampled_epsilon(1, half, 0, 1e-6),
        lambda: sampled_epsilon(1, half, 1, 0),
        lambda: renyi_step_rho(0, 1e-6, half, 1),
        lambda: renyi_budget(1, 1, 2),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_a_rate_that_is_1_as_a_float_costs_as_everyone_does():
    """To ten digits, and never more."""
    rate = 1 - Fraction(1, 10**20)
    rho = renyi_step_rho(1, 1e-6, rate, 10)
    assert rho == pytest.approx(renyi_step_rho(1, 1e-6, 1 - Fraction(1, 10**12), 10), rel=1e-9)
    assert sampled_epsilon(rho, rate, 10, 1e-6) <= 1
