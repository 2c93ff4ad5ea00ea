"""Statistical checks of drawn outcomes: does the code follow the law, and how much loss do they prove?"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.audit.laws import Probabilities
from discreet.noise.binomial import binomial_law, clopper_pearson, tail_at_least

FIT_ALARM = 1e-9
"""How often a right sampler fails the fit: once in a billion audits."""

_LEAST_EXPECTED = 25.0
_COARSE_CELLS = 12

EPSILON_ALARM = 1e-6
"""How often an audit of a right claim fails, over both directions with two bounds each."""


def fit_probability(counts: NDArray[np.int64], law: Probabilities) -> float:
    """The χ² probability of counts at least this far from the law, in fine or in coarse cells.

    Fine cells, each outcome by itself, see any difference; coarse ones, outcomes of similar probability
    together, see a scale that is a little off. Twice the smaller probability, as there are two tests.
    """
    if counts[law == 0].any():
        return 0.0
    order = np.argsort(law, kind="stable")[::-1]
    expected, observed = law[order] * counts.sum(), counts[order].astype(np.float64)
    fine = _chi_square(expected, observed, least=_LEAST_EXPECTED)
    coarse = _chi_square(expected, observed, least=float(counts.sum()) / _COARSE_CELLS)
    return min(1.0, 2 * min(fine, coarse))


def _chi_square(expected: Probabilities, observed: Probabilities, *, least: float) -> float:
    """Cells are joined in order until each expects at least `least`; their final number is odd.

    With an even number of degrees of freedom the χ² tail is a finite sum.
    """
    reached = np.floor(np.cumsum(expected) / max(least, 1.0) + 1e-9)
    starts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(np.maximum.accumulate(reached)) > 0)])
    starts = starts[starts < len(expected)]
    cells, seen = np.add.reduceat(expected, starts), np.add.reduceat(observed, starts)
    small = cells < _LEAST_EXPECTED
    if small.any() and not small.all():
        cells = np.append(cells[~small], cells[small].sum())
        seen = np.append(seen[~small], seen[small].sum())
    if len(cells) == 2:
        return _binomial_probability(int(seen[0]), int(seen.sum()), cells[0] / cells.sum())
    if len(cells) % 2 == 0:
        cells, seen = np.append(cells[:-2], cells[-2:].sum()), np.append(seen[:-2], seen[-2:].sum())
    if len(cells) == 1:
        return 1.0
    statistic = float(((seen - cells) ** 2 / cells).sum())
    return _even_chi_square_tail(statistic, (len(cells) - 1) // 2)


def epsilon_lower_bound(first: int, second: int, samples: int, delta: float) -> float:
    """A lower bound on ε from how often an event, fixed in advance, happened on two neighbours.

    P(first) ≤ e^ε·P(second) + δ, with a Clopper-Pearson bound on each of the two.
    """
    low, _ = clopper_pearson(first, samples, EPSILON_ALARM / 4)
    _, high = clopper_pearson(second, samples, EPSILON_ALARM / 4)
    return math.log((low - delta) / high) if low > delta else -math.inf


def guesses_lower_bound(right: int, guesses: int) -> float:
    """A lower bound on ε from guesses of who is in the data, where a fair coin decided about each.

    Given the outcome and all other coins, the odds of a coin are at most e^ε : 1. So guesses from the outcome
    are right no more often than as many tosses with p = e^ε/(1 + e^ε), whoever else was guessed in the same
    run (Steinke, Nasr & Jagielski, arXiv 2305.08846, for pure privacy).
    """
    if guesses == 0:
        return -math.inf
    low, _ = clopper_pearson(right, guesses, EPSILON_ALARM)
    return math.log(low / (1 - low)) if low > 0 else -math.inf


def gaussian_lower_bound(first: int, second: int, samples: int) -> float:
    """A lower bound on ρ, of Gaussian noise, from how often an event happened on two neighbours.

    Releases with Gaussian noise that cost ρ together are μ-Gaussian differentially private, μ² = 2ρ, which
    says that Φ⁻¹(P(first)) − Φ⁻¹(P(second)) ≤ μ (by definition: Dong, Roth & Su, arXiv 1905.02383; as an
    audit: Nasr et al., arXiv 2302.07956). Read as one (ε, δ), the same counts would prove far less. For
    discrete Gaussian noise this relies on no theorem: it differs from continuous noise by a relative 1/(12σ²)
    or so, 10⁻⁶ from σ = 300 on, which is assumed to be small beside the uncertainty of the counts.
    """
    low, _ = clopper_pearson(first, samples, EPSILON_ALARM / 2)
    _, high = clopper_pearson(second, samples, EPSILON_ALARM / 2)
    if low <= 0 or high >= 1 or low <= high:
        return 0.0
    normal = NormalDist()
    return (normal.inv_cdf(low) - normal.inv_cdf(high)) ** 2 / 2


def telling_event(p: Probabilities, q: Probabilities, samples: int, delta: float) -> NDArray[np.bool_]:
    """The outcomes whose frequencies should show the most loss of p against q in `samples` samples."""
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(p + 1e-300) - np.log(q + 1e-300)), kind="stable")
    in_p, in_q = np.cumsum(p[order]), np.cumsum(q[order])
    spread = 5.0  # standard deviations, about what the bounds at EPSILON_ALARM take
    low = in_p - spread * np.sqrt(in_p * (1 - in_p).clip(0) / samples) - delta
    high = in_q + spread * np.sqrt(in_q * (1 - in_q).clip(0) / samples) + 15 / samples
    value = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    event = np.zeros(len(p), dtype=np.bool_)
    event[order[: int(value.argmax()) + 1]] = True
    return event


def _binomial_probability(successes: int, trials: int, p: float) -> float:
    """Two-sided, by doubling the smaller tail."""
    law = binomial_law(trials, p)
    upper = tail_at_least(law, successes)
    lower = 1 - tail_at_least(law, successes + 1)
    return min(1.0, max(0.0, 2 * min(upper, lower)))


def _even_chi_square_tail(statistic: float, half: int) -> float:
    """P(χ² with 2·half degrees of freedom ≥ statistic) = Σ_{i<half} e^(−s/2)·(s/2)^i/i!."""
    x = statistic / 2
    if x == 0:
        return 1.0
    logs = np.concatenate([[0.0], np.cumsum(np.log(x / np.arange(1, half)))]) - x
    return float(min(1.0, np.exp(logs).sum()))
