"""A whole fit as a black box: how often does an event, fixed in advance, happen with and without one person?

The lower bound on ε from so many fits is above the claim with probability 10⁻⁶ if the claim is right
(`audit.statistics.epsilon_lower_bound`). With half the Laplace noise, or a quarter of the Gaussian, it must
be above it.
"""

import numpy as np
import pytest

import discreet.learn as learn
from discreet.audit.statistics import epsilon_lower_bound
from discreet.learn import account
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

FITS = 1600
ROWS = 5000
CLAIMS = {"Laplace": (1, 0), "Gaussian": (0.5, 0.05)}


def linear_bound(epsilon, delta):
    """Rows of zeros: the canary adds as much as a row may, all of it to the noisy number of rows."""

    def hits(rows):
        x, y = np.zeros((rows, 1)), np.zeros(rows)
        model = learn.LinearRegression(epsilon=epsilon, delta=delta, bounds=(-1, 1), target_bounds=(-1, 1))
        return sum(model.fit(x, y).rows_ >= ROWS + 1 for _ in range(FITS))

    return epsilon_lower_bound(hits(ROWS + 1), hits(ROWS), FITS, delta)


def descent_bound(epsilon):
    """One step on few rows, of which the canary has the label that none of its likes has."""

    def hits(x, y):
        model = learn.LogisticRegression(epsilon=epsilon, bounds=(-1, 1), classes=(0, 1), steps=1)
        return sum(model.fit(x, y).coef_[0, 0] >= 0 for _ in range(FITS))

    x, y = np.tile([[1.0], [-1.0]], (3, 1)), np.tile([0.0, 1.0], 3)
    return epsilon_lower_bound(hits(np.vstack([x, [[1.0]]]), np.append(y, 1.0)), hits(x, y), FITS, 0.0)


def sampled_bound():
    """One step on a sample of two people or one, each by a coin; all gradients are as long as may be."""

    def hits(people):
        x, y = np.ones((people, 1)), np.zeros(people)
        one = learn.PrivateDescent(
            gradient=lambda weights, rows, targets: -rows, epsilon=1, clip=1.0, rows=2, steps=1, batch=0.5
        )
        return sum(one.run(np.zeros(1), x, y).weights[0] >= 2 for _ in range(FITS))

    return epsilon_lower_bound(hits(2), hits(1), FITS, 0.0)


def spoil(patch):
    """Less noise in every release, while the account says what it always says."""

    class HalfLaplace(DiscreteLaplace):
        def release(self, exact, **options):
            return DiscreteLaplace(scale=self.scale / 2).release(exact, **options)

    class QuarterGaussian(DiscreteGaussian):
        def release(self, exact, **options):
            return DiscreteGaussian(sigma_squared=self.sigma_squared / 16).release(exact, **options)

    patch.setattr(account, "DiscreteLaplace", HalfLaplace)
    patch.setattr(account, "DiscreteGaussian", QuarterGaussian)


@pytest.mark.parametrize("noise", CLAIMS)
def test_a_canary_shows_no_more_than_the_claim(noise):
    epsilon, delta = CLAIMS[noise]
    assert linear_bound(epsilon, delta) <= epsilon


@pytest.mark.parametrize("noise", CLAIMS)
def test_too_little_noise_is_caught(noise, monkeypatch):
    epsilon, delta = CLAIMS[noise]
    spoil(monkeypatch)
    assert linear_bound(epsilon, delta) > epsilon


def test_a_canary_shows_no_more_than_the_claim_in_a_descent():
    assert descent_bound(1) <= 1


def test_a_canary_shows_no_more_than_the_claim_in_a_step_on_a_sample():
    assert sampled_bound() <= 1


def test_too_little_noise_in_a_step_on_a_sample_is_caught(monkeypatch):
    """A quarter of the noise: the bound is then at most 1 with probability 2·10⁻¹¹."""

    class QuarterLaplace(DiscreteLaplace):
        def release(self, exact, **options):
            return DiscreteLaplace(scale=self.scale / 4).release(exact, **options)

    monkeypatch.setattr(account, "DiscreteLaplace", QuarterLaplace)
    assert sampled_bound() > 1
