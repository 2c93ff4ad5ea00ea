"""How far apart two laws are: the exact loss of a mechanism on two neighbours."""

import math

import numpy as np

from discreet.audit.laws import Probabilities

ORDERS = (1.001, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""The Rényi orders at which a concentrated claim is checked."""


def max_divergence(p: Probabilities, q: Probabilities) -> float:
    """The least ε with p ≤ e^ε·q and q ≤ e^ε·p everywhere."""
    either = (p > 0) | (q > 0)
    if (p[either] == 0).any() or (q[either] == 0).any():
        return math.inf
    return float(np.abs(np.log(p[either]) - np.log(q[either])).max())


def hockey_stick(p: Probabilities, q: Probabilities, epsilon: float) -> float:
    """The least δ at this ε: the larger of Σ max(0, p − e^ε·q) and the same with p and q swapped."""
    factor = math.exp(epsilon)
    return float(max(np.maximum(0, p - factor * q).sum(), np.maximum(0, q - factor * p).sum()))


def concentration(p: Probabilities, q: Probabilities) -> float:
    """The least ρ with D_α(p‖q) ≤ ρα and D_α(q‖p) ≤ ρα at all the ORDERS."""
    either = (p > 0) | (q > 0)
    if (p[either] == 0).any() or (q[either] == 0).any():
        return math.inf
    log_p, log_q = np.log(p[either]), np.log(q[either])
    return max(
        _log_sum_exp(alpha * a + (1 - alpha) * b) / (alpha - 1) / alpha
        for alpha in ORDERS
        for a, b in ((log_p, log_q), (log_q, log_p))
    )


def _log_sum_exp(x: Probabilities) -> float:
    top = float(x.max())
    return top + math.log(float(np.exp(x - top).sum()))
