"""What limits and bounds leave out of a question, estimated from how many people lose how much (`LeftOut`).

Noise hides people only up to a limit. So nobody can be sure of what is left out: about 3/ε people can lose
any amount, and no estimate at that ε shows it. What can be had is a best guess, with the uncertainty of its
noise, for data as they usually are. The guess follows from a model by Bayes' rule. One of three things is so:

- Nobody has more than counts fully.
- The people with more are those of a usual distribution of sizes (`size_laws`) that is seen below the limit,
  too. Its upper half is counted in bins of its own, so that it tells what is beyond.
- They are people of another kind: some number of them, of every order of magnitude as likely as another. What
  they lose has a usual tail: exponential, or Pareto with index 2.5 or 1.5. Or all of them lose alike.

The number of people in each bin is what the model says, give or take 30 %. A bin that stands out from its
noise is taken at its word. Inside a bin, people lose anything from its least to its most.

All of it is post-processing of noisy numbers. `bench/truth.py` measures how often the intervals hold. The
constants below were chosen by its four tables, in five rounds of trying.
"""

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np

from discreet.aggregates.size_laws import ends_of_sizes, expected_people
from discreet.aggregates.vectors import BEYOND_BINS, SIZES, LeftOut
from discreet.aggregates.weights import Norm
from discreet.arrays import Floats
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian

_DRAWS = 1_000
_NOBODY, _SAME, _OTHERS = 0.475, 0.475, 0.05
"""How likely each of the three is, before anything is known."""
_NOBODY_BEYOND = 0.4
"""How likely it is that nobody has values beyond the bounds."""
_PEOPLE = 2.0 ** np.arange(0, 20, 0.5)
_TAILS = ((None, 0.5), (2.5, 0.25), (1.5, 0.15))
"""Exponential, and Pareto by its index, each with how likely it is. The rest is for people who lose alike."""
_ALIKE = 0.05
_SPREAD = 0.3
_SPREADS_BELOW = (0.5, 0.3, 0.3)
"""Of the bins of people who have a quarter of the limit or more, and count fully."""
_ANY_NUMBER = 14.0
"""The logarithm of a million: a number of people that can be anything up to that."""
_STANDS_OUT = 1e-4
"""How often noise makes a bin stand out."""
_UNEVEN = 4
_KEPT = 300
"""So many of the likeliest explanations are drawn from."""
_USUAL_BEYOND = 48
"""What clamping takes off is mostly about so many 64ths of the bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """Where something lies."""

    low: float = 0.0
    guess: float = 0.0
    """0 where noise alone could look like this."""
    high: float = 0.0
    squares: float = 0.0
    """The most that the squares add up to, if each person has one."""


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
    near: bool = False
    """Whether people come near the limit, so that more of them may be beyond it than is seen."""
    counted: float = 0.0
    """What counts in all, roughly; 0 if that is not known."""
    heavy: tuple[tuple[float, float], ...] = ()
    """Of people of whom something is left out, those who lose most first: how much of them counts, and what
    they lose for each that counts."""
    seen: tuple[tuple[float, float], ...] = ()
    """Of these, the ones who are there at this confidence."""
    above: Guess = field(default_factory=Guess)
    """What clamping takes off above the bounds, in widths of them."""
    below: Guess = field(default_factory=Guess)

    def of_counted(self, counted: Floats) -> Floats:
        """The most that groups lose of which so much counts: those who lose most may be in any of them.

        But no group loses more than four times its share by people who may not exist at all. So it was in 15
        of 18 ways to group the tables of `bench/truth_tables.py`; the most was 5.2 times.
        """
        if not self.heavy:
            return np.full_like(counted, self.high)
        most: Floats = np.minimum(_all_in_one(self.heavy, counted), self.high)
        return np.minimum(most, self.in_proportion(counted))

    def in_proportion(self, counted: Floats) -> Floats:
        """Four times the share of groups of which so much counts, or what people lose who are there and may
        all be in one of them: such as a ward with a few patients who come every other day. Everything if it
        is not known of what.
        """
        if not self.counted:
            return np.full_like(counted, np.inf)
        with np.errstate(over="ignore"):
            most: Floats = _UNEVEN * self.high * np.maximum(counted, 0.0) / self.counted
        return np.maximum(most, _all_in_one(self.seen, counted))


def _all_in_one(people: tuple[tuple[float, float], ...], counted: Floats) -> Floats:
    """What groups lose of which so much counts, if it is of these people, those who lose most first."""
    masses, ratios = np.array(people).reshape(-1, 2).T
    ends = np.concatenate([[0.0], np.cumsum(masses)])
    lost = np.concatenate([[0.0], np.cumsum(masses * ratios)])
    found: Floats = np.interp(np.maximum(counted, 0.0), ends, lost)
    return found


NOTHING = Lost(low=0.0, guess=0.0, high=0.0, of_one_group=0.0, hidden=0.0)


def estimate_lost(
    part: LeftOut,
    people: Floats,
    noise: AdditiveNoise,
    confidence: float,
    generator: np.random.Generator,
    most: int | None = None,
) -> Lost:
    """From the noisy number of people in each bin, where the truth lies at this confidence.

    Nobody has more than `most`, if that is known. At first only people who lose something were counted.
    """
    miss = (1 - confidence) / 2
    beyond = people[part.first_beyond :]
    above, below = (
        _estimate_beyond(beyond[start : start + BEYOND_BINS], noise, miss, generator)
        for start in (0, BEYOND_BINS)
    )
    if part.only_clamps:
        return replace(NOTHING, above=above, below=below)
    sizes = people[part.bins : part.first_beyond]
    drawn = _draw_people(part, people[: part.bins], sizes, noise, generator)
    least, largest = _sizes(part)
    if most is not None:
        possible = _largest_loss(part, most)
        drawn = np.where(least <= possible, drawn, 0.0)
        largest = np.minimum(largest, max(possible, 0.0))
    lost = np.sum(drawn * (least + (largest - least) * _places(drawn, generator)), axis=1)
    low, guess, high = np.quantile(lost, (miss, 0.5, 1 - miss)).tolist()
    if float(np.quantile(drawn.sum(axis=1), miss)) < _threshold(noise) / 3:
        low = guess = 0.0
    fewest, heavy = np.quantile(drawn, (miss, 1 - miss), axis=0)
    by_loss = [
        ((float(number * part.weight.limit), float(loss / part.weight.limit)), least >= 1)
        for number, loss, least in zip(heavy[::-1], largest[::-1], fewest[::-1], strict=True)
        if number > 0
    ]
    return Lost(
        low=low,
        guess=guess,
        high=high,
        of_one_group=float(np.quantile(drawn @ _shares(part, largest), 1 - miss)),
        hidden=_threshold(noise),
        near=len(sizes) == 0 or bool(sizes[-2:].sum() > 2 * _threshold(noise)),
        counted=_counted(part, people) if len(sizes) else 0.0,
        heavy=tuple(each for each, _ in by_loss),
        seen=tuple(each for each, seen in by_loss if seen),
        above=above,
        below=below,
    )


def _counted(part: LeftOut, people: Floats) -> float:
    """How much counts of all people together, by the middles of their bins."""
    ends = ends_of_sizes(part)
    middles = (np.concatenate([[1.0], ends[:-1] + 1]) + ends) / 2
    sizes = np.maximum(people[part.bins : part.bins + len(SIZES)], 0.0)
    inside = float(sizes @ middles)
    each = inside / max(float(sizes.sum()), 1.0)
    heavy = max(float(people[: part.bins].sum()), 0.0) * part.weight.limit
    return max(inside + max(float(people[part.bins + len(SIZES) :].sum()), 0.0) * each + heavy, 0.0)


def _estimate_beyond(
    people: Floats, noise: AdditiveNoise, miss: float, generator: np.random.Generator
) -> Guess:
    """What clamping takes off of people by octave, from 1/64 of the bounds."""
    if not len(people):
        return Guess()
    expected, prior = _others(_USUAL_BEYOND, len(people), _NOBODY_BEYOND)
    drawn = _drawn(_likelihoods(people, expected, noise) + prior, expected, people, noise, generator)
    most = 2.0 ** np.arange(len(people)) / 64
    least = np.concatenate([[0.0], most[:-1]])
    each = least + (most - least) * _places(drawn, generator)
    taken, squares = np.sum(drawn * each, axis=1), np.sum(drawn * each**2, axis=1)
    low, guess, high = np.quantile(taken, (miss, 0.5, 1 - miss)).tolist()
    if float(np.quantile(drawn.sum(axis=1), miss)) < _threshold(noise) / 4:
        low = guess = 0.0
    return Guess(low=low, guess=guess, high=high, squares=float(np.quantile(squares, 1 - miss)))


def _draw_people(
    part: LeftOut, people: Floats, sizes: Floats, noise: AdditiveNoise, generator: np.random.Generator
) -> Floats:
    """Draws of how many people are in each bin in truth, given the noisy numbers."""
    variance = _variance(noise)
    if not len(sizes):
        expected, prior = _others(part.weight.limit, part.bins, 2 * _NOBODY)
        return _drawn(_likelihoods(people, expected, noise) + prior, expected, people, noise, generator)
    near = sizes[-len(_SPREADS_BELOW) :]
    expected, prior = _others(part.weight.limit, part.bins, _NOBODY / (_NOBODY + _OTHERS))
    free = -np.log(_ANY_NUMBER * np.maximum(np.abs(near), variance**0.5)).sum() + np.log(_NOBODY + _OTHERS)
    others = _likelihoods(people, expected, noise) + prior + free
    below, beyond, chances = expected_people(part)
    same = _likelihoods(people, beyond, noise) + _likelihoods(near, below, noise, _SPREADS_BELOW)
    same += np.log(_SAME) + chances
    return _drawn(
        np.concatenate([others, same]), np.concatenate([expected, beyond]), people, noise, generator
    )


def _likelihoods(
    people: Floats, expected: Floats, noise: AdditiveNoise, spreads: tuple[float, ...] = (_SPREAD,)
) -> Floats:
    """The logarithm of how likely these numbers are, by explanation. The law is that of the noise, wider."""
    scales, logarithms = _wider(_Explanations(expected), spreads, _variance(noise))
    off = (people - expected) * scales
    if isinstance(noise, DiscreteGaussian):
        each, most = 0.5 * np.einsum("ij,ij->i", off, off), (2 * np.pi) ** -0.5
    else:
        each, most = 2**0.5 * (np.abs(off) @ np.ones(len(people))), 2**-0.5
    found: Floats = len(people) * np.log(most) - logarithms - each
    return found


@dataclass(frozen=True, slots=True)
class _Explanations:
    """How many people each explanation expects: one of the arrays that are kept, so its identity tells."""

    expected: Floats

    def __hash__(self) -> int:
        return id(self.expected)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Explanations) and self.expected is other.expected


@lru_cache(maxsize=32)
def _wider(explanations: _Explanations, spreads: tuple[float, ...], variance: float) -> tuple[Floats, Floats]:
    """Of laws as wide as the noise and the spread of the numbers: 1 / deviation, and the logarithms of the
    deviations added up.
    """
    expected = explanations.expected
    variances = (np.array(spreads) * expected) ** 2 + expected + variance
    return 1 / np.sqrt(variances), 0.5 * np.log(variances).sum(axis=1)


def _drawn(
    log: Floats, expected: Floats, people: Floats, noise: AdditiveNoise, generator: np.random.Generator
) -> Floats:
    """Draws from the likeliest explanations."""
    variance = _variance(noise)
    kept = min(_KEPT, len(log))
    likeliest = np.argpartition(-log, kept - 1)[:kept]
    chances = np.exp(log[likeliest] - log[likeliest].max())
    expected = expected[likeliest]
    spread = (_SPREAD * expected) ** 2 + expected
    gain = spread / (spread + variance)  # a normal prior and normal noise: the posterior is normal
    mean, deviation = expected + gain * (people - expected), np.sqrt(gain * variance)
    apart = people - mean > _threshold(noise)
    mean, deviation = np.where(apart, people, mean), np.where(apart, np.sqrt(variance), deviation)
    chosen = generator.choice(len(likeliest), _DRAWS, p=chances / chances.sum())
    drawn = mean[chosen] + deviation[chosen] * generator.standard_normal((_DRAWS, len(people)))
    return np.maximum(drawn, 0.0)


def _places(drawn: Floats, generator: np.random.Generator) -> Floats:
    """Where people lie in a bin on average: where fewer lose more, near its least, and so in all bins."""
    common = generator.uniform(-0.2, 0.9, size=(len(drawn), 1))
    places: Floats = np.clip((2 * common + generator.uniform(0, 1, size=drawn.shape)) / 3, 0, 1)
    return places


def _sizes(part: LeftOut) -> tuple[Floats, Floats]:
    """The least and the most that a person of each bin loses. Rows that are weighed in ℓ₁ lose whole ones."""
    whole = part.weight.norm is Norm.L1
    most = np.array([2.0**b for b in range(part.bins)]) + (0.0 if whole else 0.5)
    least = np.array([0.0, *most[:-1]]) + (1.0 if whole else 0.0)
    return least, most


def _shares(part: LeftOut, most: Floats) -> Floats:
    """The most that a person of each bin loses of one group: all, if their weight may be 0."""
    shares: Floats = most / (most + part.weight.limit)
    return np.where(most > part.weight.most, 1.0, shares) if part.weight.least > 1 else shares


def _largest_loss(part: LeftOut, most: int) -> float:
    """Of a person who has so much."""
    if part.weight.norm is Norm.L1:
        return float(most - part.weight.limit)
    return float(most - (part.weight.square * most) ** 0.5)


@cache
def _others(limit: int, bins: int, nobody: float) -> tuple[Floats, Floats]:
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
    prior = np.tile(np.array(chances) / sum(chances), len(_PEOPLE)) * (1 - nobody) / len(_PEOPLE)
    return np.vstack([np.zeros(bins), some]), np.log(np.concatenate([[nobody], prior]))


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
