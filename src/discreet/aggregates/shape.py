"""How a number moves with the noisy sums that it is computed from. `release.shape` says what follows."""

from enum import IntEnum


class Shape(IntEnum):
    """From what no noise moves to what may turn."""

    CONSTANT = 0
    AFFINE = 1
    """A constant plus multiples of noisy sums."""
    SMOOTH = 2
    """A quotient of two such, or nearly."""
    BENT = 3
    """Anything else."""
