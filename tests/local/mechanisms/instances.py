"""Small instances of every mechanism, whose laws can be enumerated."""

from fractions import Fraction

from discreet.local.mechanisms.classic import DirectResponse, LocalHashing, UnaryEncoding
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.number import NumberResponse
from discreet.local.mechanisms.projective import ProjectiveResponse
from discreet.local.mechanisms.randomness import RANGE
from discreet.local.mechanisms.subset import SubsetSelection

ONE, TWO = Fraction(1), Fraction(2)
ODD = 12345678901234  # a threshold that no ε asks for: below the even chance for most mechanisms


def _projective(prime, coordinates, *, options=None, epsilon=ONE):
    points = (prime**coordinates - 1) // (prime - 1)
    return ProjectiveResponse.for_loss(epsilon, options or points, prime=prime, coordinates=coordinates)


CATEGORICAL = {
    "subset k=2": SubsetSelection.for_loss(ONE, 2),
    "subset k=3, ε=0.01": SubsetSelection.for_loss(Fraction(1, 100), 3),
    "subset k=5, d=1": SubsetSelection.for_loss(TWO, 5),
    "subset k=6, d=2": SubsetSelection(answers=6, chosen=2, keep=ODD),
    "subset k=7, d=3": SubsetSelection.for_loss(Fraction(1, 2), 7),
    "subset k=4, all but one": SubsetSelection(answers=4, chosen=3, keep=RANGE - 1),
    "subset k=9, two bytes": SubsetSelection.for_loss(ONE, 9),
    "projective q=2, t=2": _projective(2, 2),
    "projective q=2, t=3": _projective(2, 3),
    "projective q=2, t=4": _projective(2, 4, options=9),
    "projective q=3, t=2": _projective(3, 2, epsilon=Fraction(16)),
    "projective q=3, t=3": _projective(3, 3, options=5),
    "projective q=3, t=4": _projective(3, 4),
    "projective q=5, t=2": _projective(5, 2, epsilon=TWO),
    "projective q=5, t=3": _projective(5, 3, epsilon=Fraction(1, 10**6)),
    "projective q=5, t=4": _projective(5, 4, options=40),
    "projective, odd threshold": ProjectiveResponse(answers=13, prime=3, coordinates=3, keep=ODD),
    "hadamard k=2": HadamardResponse.for_loss(ONE, 2),
    "hadamard k=3": HadamardResponse.for_loss(Fraction(1, 100), 3),
    "hadamard k=13": HadamardResponse.for_loss(TWO, 13),
    "hadamard, odd threshold": HadamardResponse(answers=5, keep=ODD),
    "direct k=2": DirectResponse.for_loss(ONE, 2),
    "direct k=5": DirectResponse(answers=5, keep=ODD),
    "direct k=12": DirectResponse.for_loss(Fraction(4), 12),
    "unary k=2": UnaryEncoding.for_loss(ONE, 2),
    "unary k=5": UnaryEncoding(answers=5, own=ODD, other=2 * ODD),
    "unary k=9": UnaryEncoding.for_loss(TWO, 9),
    "hashing k=2": LocalHashing.for_loss(Fraction(1, 100), 2),
    "hashing k=7": LocalHashing.for_loss(TWO, 7),
    "hashing k=20": LocalHashing.for_loss(ONE, 20),
    "hashing, odd threshold": LocalHashing(answers=5, prime=5, digits=1, keep=ODD),
}

NUMBERS = {
    "number, Duchi, 1 step": NumberResponse.for_loss(Fraction(1, 2), 1),
    "number, Duchi, 7 steps": NumberResponse.for_loss(Fraction(1, 2), 7),
    "number, hybrid, 1 step": NumberResponse(
        steps=1, low=ODD, rise=ODD, mix=RANGE // 2, stride=3, window=2, keep=RANGE // 2 + 12345
    ),
    "number, hybrid, 4 steps": NumberResponse(
        steps=4, low=RANGE // 4, rise=RANGE // 8 - 1, mix=RANGE // 3, stride=2, window=5, keep=RANGE - ODD
    ),
    "number, hybrid, 5 steps, rarely in the window": NumberResponse(
        steps=5, low=1, rise=RANGE // 7, mix=RANGE - 1, stride=1, window=1, keep=1
    ),
}

ALL = {**CATEGORICAL, **NUMBERS}
