"""A marginal with exact noise: all that the fit ever sees of the data."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.model.sensitivity import Sensitivity
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.synth.domain import Marginal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """Noisy counts of people in each cell, all with the same variance."""

    marginal: Marginal
    counts: NDArray[np.float64]
    variance: float


def measure(
    marginal: Marginal,
    exact: NDArray[np.int64],
    *,
    rho: Fraction,
    sensitivity: Sensitivity,
    unit: int = 1,
    entropy: Entropy = SYSTEM,
) -> Measurement:
    """Costs ρ (`DiscreteGaussian`). Exact counts are in 1/unit of a person, as weights make them."""
    mechanism = DiscreteGaussian.for_loss(rho, sensitivity)
    noisy = mechanism.release(exact, entropy=entropy)
    return Measurement(
        marginal=marginal,
        counts=np.asarray(noisy, dtype=np.float64) / unit,
        variance=float(mechanism.sigma_squared) / unit**2,
    )
