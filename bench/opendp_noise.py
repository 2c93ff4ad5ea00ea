"""OpenDP's discrete Laplace and discrete Gaussian measurements, set up for speed.

They are for 64-bit integers, and to be called with numpy arrays, which OpenDP takes faster than lists.
"""

from collections.abc import Callable
from typing import Any

import opendp.prelude as dp

dp.enable_features("contrib")

Measurement = Callable[[Any], Any]


def vector_laplace(scale: float) -> Measurement:
    return dp.m.make_laplace(_vectors(), dp.l1_distance(T="i64"), scale=scale)


def vector_gaussian(sigma: float) -> Measurement:
    return dp.m.make_gaussian(_vectors(), dp.l2_distance(T="f64"), scale=sigma)


def scalar_laplace(scale: float) -> Measurement:
    return dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)


def scalar_gaussian(sigma: float) -> Measurement:
    return dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="f64"), scale=sigma)


def _vectors() -> Any:
    return dp.vector_domain(dp.atom_domain(T="i64"))
