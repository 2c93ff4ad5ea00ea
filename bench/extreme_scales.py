"""Scales that no fast path was made for: below one, past the split at 2³⁰, past what 64 bits hold."""

import sys
from fractions import Fraction

from timing import Figure, best_of_rounds, for_information, judge, show

from discreet.noise.entropy import SYSTEM
from discreet.noise.sampling import discrete_gaussian, discrete_laplace

SCALES = {
    "2⁻²⁰": Fraction(1, 2**20),
    "100": Fraction(100),
    "2³⁰": Fraction(2**30),
    "2⁵²": Fraction(2**52),
    "2⁹⁰": Fraction(2**90),
}
ORDINARY = "100"
SIZE = 10**5


def figures() -> list[Figure]:
    calls = {}
    for label, scale in SCALES.items():
        calls[f"Laplace {label}"] = lambda scale=scale: discrete_laplace(scale, SIZE, SYSTEM)
        calls[f"Gaussian {label}"] = lambda scale=scale: discrete_gaussian(scale**2, SIZE, SYSTEM)
    ns = {name: seconds * 1e9 / SIZE for name, seconds in best_of_rounds(5, calls).items()}
    rows, found = [], []
    for label in SCALES:
        row = [label]
        for law in ("Laplace", "Gaussian"):
            time, ratio = ns[f"{law} {label}"], ns[f"{law} {label}"] / ns[f"{law} {ORDINARY}"]
            row += [f"{time:.1f}", f"{ratio:.2f}×"]
            if label != ORDINARY:
                name = f"discrete {law}, scale {label}: ns per sample, and over scale {ORDINARY}"
                found.append(for_information(name, f"{time:.3g} ns, {ratio:.2g}×"))
        rows.append(row)
    columns = ("scale", "Laplace", f"over scale {ORDINARY}", "Gaussian", f"over scale {ORDINARY}")
    show(f"Extreme scales, n = {SIZE:,}: ns per sample", columns, rows)
    return found


if __name__ == "__main__":
    sys.exit(judge(figures()))
