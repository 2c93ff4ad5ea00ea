"""A step on a sample as a black box: how often does an event, fixed in advance, happen with and without one
person?

The lower bound on ε from so many fits is above the claim with probability 10⁻⁶ if the claim is right
(`audit.statistics.epsilon_lower_bound`). Fits on everyone are attacked by `discreet audit`, which
tests/audit/test_learn_mutations.py puts to the test.
"""

import numpy as np

import discreet.learn as learn
from discreet.audit.statistics import epsilon_lower_bound
from discreet.learn.core import account
from discreet.noise.laplace import DiscreteLaplace

FITS = 1600


def sampled_bound():
    """One step on a sample of two people or one, each by a coin; all gradients are as long as may be."""

    def hits(people):
        x, y = np.ones((people, 1)), np.zeros(people)
        one = learn.PrivateDescent(
            gradient=lambda weights, rows, targets: -rows, epsilon=1, clip=1.0, rows=2, steps=1, batch=0.5
        )
        return sum(one.run(np.zeros(1), x, y).weights[0] >= 2 for _ in range(FITS))

    return epsilon_lower_bound(hits(2), hits(1), FITS, 0.0)


def test_a_canary_shows_no_more_than_the_claim():
    assert sampled_bound() <= 1


def test_too_little_noise_is_caught(monkeypatch):
    """A quarter of the noise: the bound is then at most 1 with probability 2·10⁻¹¹."""

    class QuarterLaplace(DiscreteLaplace):
        def release(self, exact, **options):
            return DiscreteLaplace(scale=self.scale / 4).release(exact, **options)

    monkeypatch.setattr(account, "DiscreteLaplace", QuarterLaplace)
    assert sampled_bound() > 1
