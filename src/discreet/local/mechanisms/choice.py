"""The mechanism with the least error for a question, by its variance in closed form."""

from collections.abc import Iterator
from fractions import Fraction

from discreet.local.mechanisms import hadamard, subset
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.mechanism import Categorical
from discreet.local.mechanisms.projective import LARGEST_PRIME, ProjectiveResponse, fits, is_prime
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.mechanisms.thresholds import weight_of
from discreet.model.exact import whole


def best_for_options(epsilon: Fraction, options: int) -> Categorical:
    """Subset selection while its bitmap is short, then the best geometry whose table fits, or Hadamard's."""
    whole(options, "options", 2, hadamard.MOST_OPTIONS)
    if options <= subset.MOST_OPTIONS:
        return SubsetSelection.for_loss(epsilon, options)
    candidates: list[Categorical] = [HadamardResponse.for_loss(epsilon, options)]
    candidates += geometries(epsilon, options)
    return min(candidates, key=lambda mechanism: (mechanism.mean_variance, mechanism.cells))


def geometries(epsilon: Fraction, options: int) -> Iterator[ProjectiveResponse]:
    """One for each odd prime around e^ε + 1, with as few coordinates as hold the options.

    For 2 the geometry is that of Hadamard response, which needs less memory.
    """
    ideal = float(weight_of(epsilon)) + 1
    for prime in range(3, int(min(2 * ideal + 3, LARGEST_PRIME)) + 1):
        if not is_prime(prime):
            continue
        coordinates = 2
        while (prime**coordinates - 1) // (prime - 1) < options:
            coordinates += 1
        if fits(prime, coordinates):
            yield ProjectiveResponse.for_loss(epsilon, options, prime=prime, coordinates=coordinates)
