"""Objective perturbation's δ: certified, and no less than what numerical integration finds."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from discreet.accounting.objective import (
    gaussian_profile,
    largest_objective_rho,
    least_ridge,
    objective_delta,
)

NONE = Fraction(0)


def fraction(text):
    return Fraction(text)


def exact_profile(epsilon, change):
    """P[N > t] − e^ε·P[N > t + Δ] with 60 digits."""
    with mpmath.workdps(60):
        e, d = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(change.numerator)
        d /= change.denominator
        t = e / d - d / 2

        def tail(x):
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        found = tail(t) - mpmath.exp(e) * tail(t + d)
        return Fraction(mpmath.nstr(found, 40))


@pytest.mark.parametrize(
    ("epsilon", "change"),
    [("1", "27/100"), ("1/10", "3/100"), ("10", "2"), ("1/2", "1/3"), ("30", "4"), ("1/100", "1/200")],
)
def test_the_profile_is_that_of_gaussian_noise_and_never_below_it(epsilon, change):
    epsilon, change = fraction(epsilon), fraction(change)
    found, exact = gaussian_profile(epsilon, change), exact_profile(epsilon, change)
    assert exact <= found <= exact * (1 + Fraction(1, 10**12))

    def integrand(n):
        return stats.norm.pdf(n) * -np.expm1(float(epsilon - change**2 / 2) - float(change) * n)

    start = float(epsilon / change - change / 2)
    summed, _ = integrate.quad(integrand, start, start + 30, epsabs=0)
    assert float(found) == pytest.approx(summed, rel=1e-6)


def test_the_profile_is_given_up_where_delta_would_be_large():
    assert gaussian_profile(Fraction(0), Fraction(1)) == 1
    assert gaussian_profile(Fraction(-1), Fraction(1, 10)) == 1
    assert 0 < gaussian_profile(Fraction(30), Fraction(1, 10)) < Fraction(1, 10**300)


def test_no_row_loses_more_than_the_theorem_says():
    """q·v(1 − v) + v²Δ²/2 + vΔN ≤ max(m, Δ²/2 + ΔN) for all gradients, noise and parameters."""
    chance = np.random.default_rng(1)
    v = np.linspace(0, 1, 401)
    for _ in range(2000):
        change, q = np.exp(chance.uniform(-4, 1, size=2))
        noise = chance.normal() * 3
        lost = q * v * (1 - v) + v**2 * change**2 / 2 + v * change * noise
        middle = max(q, change**2) - change**2 / 2
        assert lost.max() <= max(middle, change**2 / 2 + change * noise) + 1e-12


@pytest.mark.parametrize("before", ["0", "1/1000", "1/100"])
def test_delta_is_no_less_than_the_expectation_that_it_bounds(before):
    """E[(1 − e^(ε − L₁ − Y))⁺], L₁ the loss of Gaussian noise with ρ₁ and Y as in the theorem."""
    epsilon, rho, before = Fraction(1), Fraction(3, 100), Fraction(before)
    constant, middle = Fraction(1, 100), Fraction(1, 2)
    stated = objective_delta(epsilon, constant=constant, middle=middle, before=before, rho=rho)
    n = np.linspace(-12, 12, 4001)
    weights = stats.norm.pdf(n) * (n[1] - n[0])
    change, first = float(2 * rho) ** 0.5, float(2 * before) ** 0.5
    own = float(constant) + np.maximum(float(middle), change**2 / 2 + change * n)
    earlier = first**2 / 2 + first * n
    lost = np.maximum(0, -np.expm1(1 - own[:, None] - earlier[None, :]))
    expected = weights @ lost @ weights
    assert expected <= float(stated) * (1 + 1e-3)
    assert float(stated) <= 1.2 * expected


def test_a_middle_that_no_ridge_gives_is_no_claim():
    given = {"constant": NONE, "before": NONE, "rho": Fraction(1, 10)}
    assert objective_delta(Fraction(2), middle=Fraction(1, 20), **given) == 1
    assert objective_delta(Fraction(2), middle=Fraction(3), **given) == 1
    assert objective_delta(Fraction(2), middle=Fraction(1), **given) < Fraction(1, 100)


@pytest.mark.parametrize("epsilon", ["1/100", "1/10", "1", "10", "30"])
@pytest.mark.parametrize("delta", ["1/1000", "1/100000", "1/1000000000000"])
def test_the_largest_rho_fits_and_a_little_more_does_not(epsilon, delta):
    epsilon, delta, share = Fraction(epsilon), Fraction(delta), Fraction(16, 100)
    given = {"constant": epsilon / 10**8, "middle": epsilon / 2}
    rho = largest_objective_rho(epsilon, delta, share_before=share, inflated=Fraction(1), **given)

    def at(amount):
        return objective_delta(epsilon, before=amount * share, rho=amount * (1 - share), **given)

    assert at(rho) <= delta < at(rho * Fraction(1001, 1000))


def test_the_ridge_makes_the_middle_what_it_is_to_be():
    middle, rho, steepness, reach = Fraction(1, 2), Fraction(1, 30), Fraction(7), Fraction(3, 2)
    ridge = least_ridge(middle=middle, rho=rho, steepness=steepness, reach=reach)
    assert max(steepness * reach / ridge, 2 * rho) - rho == middle
