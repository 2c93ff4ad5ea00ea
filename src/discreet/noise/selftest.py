"""Known answers: does this machine's cipher, logarithm and arithmetic do what the proofs assume?

Runs once a process, before the first random bit leaves, in a few milliseconds.
"""

from fractions import Fraction

import numpy as np

from discreet.errors import SelfTestFailed
from discreet.model.exact import ln_bounds
from discreet.noise import sampling
from discreet.noise.entropy import ScriptedEntropy, keystream
from discreet.noise.uniform import LOG_ERROR

_AES256_ZERO_BLOCK = "dc95c078a2408989ad48a21492842087"
_WORDS = [(2 * i + 1) * 0x0F1E2D3C4B5A6978 % 2**64 for i in range(8)]
_SIGNS = [(2 * i + 1) * 0x9E3779B97F4A7C15 % 2**64 for i in range(8)]


def run_self_test() -> None:
    """Raise SelfTestFailed unless every known answer comes out."""
    _check(
        "The AES keystream",
        keystream(bytes(32), bytes(16)).update(bytes(16)).hex(),
        _AES256_ZERO_BLOCK,
    )
    _check("The logarithm", _logarithm_is_accurate(), True)
    _check(
        "The geometric sampler",
        sampling.geometric(Fraction(10**6), 8, ScriptedEntropy(_WORDS)).tolist(),
        [2829299, 1730687, 1219861, 883389, 632074, 431404, 264350, 121249],
    )
    _check(
        "The discrete Laplace sampler",
        sampling.discrete_laplace(Fraction(7, 2), 8, ScriptedEntropy(_WORDS, _SIGNS)).tolist(),
        [9, 6, -5, -4, 2, 1, -1, -1],
    )
    _check(
        "The discrete Gaussian sampler",
        sampling.gaussian_acceptance(np.arange(0, 16, 2), 4, Fraction(10), ScriptedEntropy(_WORDS)).tolist(),
        [True, True, True, True, False, False, False, False],
    )


def _logarithm_is_accurate() -> bool:
    """Compare np.log with decimals, both where it is vectorised and on the elements that are left over."""
    points = np.concatenate([(np.arange(53) + 0.37) / 53, 2.0 ** -np.arange(1.0, 62.0, 4)])
    for point, value in zip(points.tolist(), np.log(points).tolist(), strict=True):
        low, high = ln_bounds(Fraction(point), 25)
        if max(Fraction(value) - low, high - Fraction(value)) > -low * Fraction(LOG_ERROR):
            return False
    return True


def _check(part: str, found: object, expected: object) -> None:
    if found != expected:
        raise SelfTestFailed(
            f"{part} did not give its known answer on this machine, so no noise can be trusted.",
            remedy="Reinstall numpy and cryptography from the lock file, then run `discreet audit`.",
        )
