"""What limits leave out of a question, estimated from how many people lose how much (`LeftOut`).

Noise hides people only up to a limit. So nobody can be sure of what is left out: about 3/ε people can lose
any amount, and no estimate at that ε shows it. What can be had is a best guess, with the uncertainty of its
noise, for data as they usually are. The guess follows from a model by Bayes' rule:

- Some number of people lose something, or nobody does. Every order of magnitude is as likely as another.
- How much they lose has one of the usual tails: exponential, or Pareto with index 2.5 or 1.5, most likely
  with a mean of about half of what counts fully. Or all of them lose alike.
- The number of people in each bin is that, give or take 30 %. A bin that stands out from its noise is taken
  at its word, whatever the tail.
- Inside a bin, people lose anything from its least to its most.

All of it is post-processing of noisy numbers. `bench/truth.py` measures how often the intervals hold.
"""

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from discreet.aggregates.vectors import LeftOut
from discreet.aggregates.weights import Norm
from discreet.arrays import Floats
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian

_DRAWS = 2_000
_NOBODY = 0.9
"""How likely it is that nobody loses anything, before anything is known.

A trade. Two values were tried, on made-up tails (5,000 people, limits of 12 to 48, ε = 1 and ρ = 0.02). Where
nothing is left out, intervals were 2.0 to 5.1 times as wide as noise with 0.3, and 1.0 to 1.05 with 0.9.
Where 44 people of a lognormal tail hid in the noise, 91 to 97 % held with 0.3, and 25 to 36 % with 0.9. So an
interval says little about people who do not stand out, and the note on the answer says that.
"""
_PEOPLE = 2.0 ** np.arange(0, 20, 0.5)
_TAILS = ((None, 0.5), (2.5, 0.25), (1.5, 0.15))
"""Exponential, and Pareto by its index, each with how likely it is. The rest is for people who lose alike."""
_ALIKE = 0.1
_SPREAD = 0.3
_STANDS_OUT = 1e-4
"""How often noise makes a bin stand out."""
_KEPT = 300
"""So many of the likeliest explanations are drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What is left out over all groups, in rows, pairs of person and group, or values."""

    low: float
    guess: float
    """0 where noise alone could look like this."""
    high: float
    of_one_group: float
    """The most that one group of people loses: each of them loses less than one there."""
    hidden: float
    """How many could lose far more without standing out from the noise."""


NOTHING = Lost(low=0.0, guess=0.0, high=0.0, of_one_group=0.0, hidden=0.0)


def estimate_lost(
    part: LeftOut, people: Floats, noise: AdditiveNoise, confidence: float, generator: np.random.Generator
) -> Lost:
    """From the noisy number of people in each bin, where the truth lies at this confidence."""
    miss = (1 - confidence) / 2
    drawn = _draw_people(part, people[: part.bins], noise, generator)
    least, most = _sizes(part)
    place = np.clip(generator.uniform(-0.1, 1.1, size=drawn.shape), 0, 1)
    lost = np.sum(drawn * (least + (most - least) * place), axis=1)
    low, guess, high = (float(np.quantile(lost, share)) for share in (miss, 0.5, 1 - miss))
    if float(np.quantile(drawn.sum(axis=1), miss)) < _threshold(noise) / 3:
        low = guess = 0.0
    shares = most / (most + part.weight.limit)
    return Lost(
        low=low,
        guess=guess,
        high=high,
        of_one_group=float(np.quantile(drawn @ shares, 1 - miss)),
        hidden=_threshold(noise),
    )


def _draw_people(
    part: LeftOut, people: Floats, noise: AdditiveNoise, generator: np.random.Generator
) -> Floats:
    """Draws of how many people are in each bin in truth, given the noisy numbers."""
    variance = _variance(noise)
    expected, prior = _explanations(part.weight.limit, part.bins)
    spread = (_SPREAD * expected) ** 2
    log = prior - 0.5 * np.sum(
        (people - expected) ** 2 / (spread + variance) + np.log(spread + variance), axis=1
    )
    likeliest = np.argsort(log)[::-1][:_KEPT]
    chances = np.exp(log[likeliest] - log[likeliest[0]])
    expected, spread = expected[likeliest], spread[likeliest]
    gain = spread / (spread + variance)  # a normal prior and normal noise: the posterior is normal
    mean, deviation = expected + gain * (people - expected), np.sqrt(gain * variance)
    apart = people - mean > _threshold(noise)
    mean, deviation = np.where(apart, people, mean), np.where(apart, np.sqrt(variance), deviation)
    chosen = generator.choice(len(likeliest), _DRAWS, p=chances / chances.sum())
    drawn = mean[chosen] + deviation[chosen] * generator.standard_normal((_DRAWS, part.bins))
    return np.maximum(drawn, 0.0)


def _sizes(part: LeftOut) -> tuple[Floats, Floats]:
    """The least and the most that a person of each bin loses. Rows that are weighed in ℓ₁ lose whole ones."""
    whole = part.weight.norm is Norm.L1
    most = np.array([2.0**b for b in range(part.bins)]) + (0.0 if whole else 0.5)
    least = np.array([0.0, *most[:-1]]) + (1.0 if whole else 0.0)
    return least, most


@cache
def _explanations(limit: int, bins: int) -> tuple[Floats, Floats]:
    """For each explanation, how many people are in each bin, and the logarithm of how likely it is."""
    edges = np.concatenate([[0.0], 2.0 ** np.arange(bins - 1)])
    tails, chances = [], []
    for step in np.arange(-4, 4.01, 0.5):
        mean = max(limit * 2.0**step, 0.5)
        for index, share in _TAILS:
            beyond = np.exp(-edges / mean) if index is None else (1 + edges / mean / (index - 1)) ** -index
            tails.append(beyond - np.append(beyond[1:], 0.0))
            chances.append(share * NormalDist(-1, 1.5).pdf(step))
    alike = [NormalDist(-0.5, 2).pdf(b - np.log2(limit)) for b in range(bins)]
    tails += list(np.eye(bins))
    chances += [_ALIKE * each / sum(alike) * sum(chances) / (1 - _ALIKE) for each in alike]
    some = np.concatenate([people * np.array(tails) for people in _PEOPLE])
    prior = np.tile(np.array(chances) / sum(chances), len(_PEOPLE)) * (1 - _NOBODY) / len(_PEOPLE)
    return np.vstack([np.zeros(bins), some]), np.log(np.concatenate([[_NOBODY], prior]))


def _variance(noise: AdditiveNoise) -> float:
    """Of the noise on each bin. On a grid of ones, the law is as good as continuous."""
    if isinstance(noise, DiscreteGaussian):
        return float(noise.sigma) ** 2
    return 2 * float(noise.scale) ** 2


def _threshold(noise: AdditiveNoise) -> float:
    """What the noise on a bin hardly ever exceeds."""
    if isinstance(noise, DiscreteGaussian):
        return float(noise.sigma) * NormalDist().inv_cdf(1 - _STANDS_OUT)
    return float(noise.scale) * float(np.log(1 / (2 * _STANDS_OUT)))
