"""One weight for each person: nothing is dropped at random, and nobody counts for more than declared.

Let n be the vector of a person's row counts over the groups of a question (or of ones, where people are
counted), and L the largest norm of it that counts fully. All rows of the person get the weight

    w = ⌊2^s · min(1, L/‖n‖)⌋        in ℓ₁: ‖n‖ = Σn, the number of rows;  in ℓ₂: ‖n‖² = Σn²

so that w·‖n‖ ≤ L·2^s. Under ℓ₂ it is the largest integer with w²·Σn² ≤ L²·4^s, computed exactly.
Where the sums select private keys, a w below a quarter of 2^s is 0.
The ℓ₁ weight is for Laplace noise. It bounds both norms, also after groups are merged. The ℓ₂ weight is for
Gaussian noise: the noise is the same, and a person with rows in several groups keeps more of their weight.
"""

from dataclasses import dataclass
from enum import Enum
from math import isqrt

from discreet.errors import QueryRefused
from discreet.model.exact import LARGEST_COUNT, LARGEST_SENSITIVITY
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity

MOST_BITS = 20
"""Weights are multiples of 2⁻²⁰ at the finest."""
NAMING_BITS = 8
NAMING_QUARTER = 2
"""Where a count selects private keys, weights below 2⁻² are zero: each group that a person can reach costs δ,
and raises the threshold for all."""

_MOST_REACHED = LARGEST_COUNT // 2**8
"""The most groups that one person can reach; 2⁸ times as many can still be counted."""


class Norm(Enum):
    """Which norm of a person's row counts is bounded."""

    L1 = "ℓ₁"
    L2 = "ℓ₂"


class Unit(Enum):
    """What is summed over."""

    ROWS = "rows"
    PEOPLE = "people"
    """Distinct pairs of person and group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How much the rows of one person count for."""

    norm: Norm
    unit: Unit
    square: int
    """L²."""
    bits: int
    least: int = 1
    """A smaller weight becomes 0."""

    @classmethod
    def one(cls, unit: Unit) -> "Weight":
        """The weight 1, where everybody has one row or is counted once."""
        return cls(norm=Norm.L1, unit=unit, square=1, bits=0)

    @classmethod
    def for_rows(cls, rows: int, norm: Norm, *, names_keys: bool = False) -> "Weight":
        """A person with up to `rows` rows counts fully, whichever groups they are in."""
        return cls._fitting(norm, Unit.ROWS, rows**2, names_keys=names_keys)

    @classmethod
    def for_people(cls, groups: int, norm: Norm, *, names_keys: bool = False) -> "Weight":
        """A person in up to `groups` groups counts fully in each."""
        square = groups if norm is Norm.L2 else groups**2
        return cls._fitting(norm, Unit.PEOPLE, square, names_keys=names_keys)

    @classmethod
    def _fitting(cls, norm: Norm, unit: Unit, square: int, *, names_keys: bool) -> "Weight":
        """As many bits as possible, such that the groups that a person can reach can still be counted."""
        room = (_MOST_REACHED // (square if norm is Norm.L2 else isqrt(square))).bit_length() - 1
        if room < 0:
            raise QueryRefused(
                "One person could have too many rows in this question.",
                remedy="The owner can declare a smaller max_rows or max_groups.",
            )
        bits = min(NAMING_BITS if names_keys else MOST_BITS, room // 2 if norm is Norm.L2 else room)
        least = 1 << max(0, bits - NAMING_QUARTER) if names_keys else 1
        return cls(norm=norm, unit=unit, square=square, bits=bits, least=least)

    @property
    def whole(self) -> int:
        """The weight of a person who counts fully."""
        return 1 << self.bits

    @property
    def limit(self) -> int:
        """⌊L⌋. It differs from L only where people are counted in ℓ₂."""
        return isqrt(self.square)

    @property
    def most(self) -> int:
        """The largest Σn (ℓ₁) or Σn² (ℓ₂) with a weight above zero."""
        scaled = self.square * self.whole**2
        return isqrt(scaled) // self.least if self.norm is Norm.L1 else scaled // self.least**2

    def sensitivity(
        self,
        neighbours: Neighbours,
        *,
        largest: int,
        signed: bool,
        one_group: bool,
        one_each: bool = False,
        shared: bool = False,
    ) -> Sensitivity:
        """How far a vector of sums of w·q, |q| ≤ largest, moves if a person is added, removed or replaced.

        If replaced, the move is one person's vector minus another's. In a shared group the two add up only if
        values have both signs; in different groups each counts on its own. `one_group` is whether there is
        no other group, `one_each` whether no person is in two, and `shared` whether rows may be in other
        vectors instead, which are measured together with this one.
        """
        scaled = self.square * self.whole**2
        in_one = self.whole if self.unit is Unit.PEOPLE else isqrt(scaled)
        if one_group or one_each:
            groups, l1, l2_squared = 1, in_one, in_one**2
        elif self.norm is Norm.L1:
            l1 = isqrt(scaled)
            groups = l1 // self.least
            l2_squared = self.whole**2 * self.limit if self.unit is Unit.PEOPLE else scaled
        else:
            groups, l1, l2_squared = scaled // self.least**2, scaled // self.least, scaled
        if in_one * largest >= 2**110 or l1 * largest > LARGEST_SENSITIVITY // 4:
            raise too_large()
        if neighbours is Neighbours.ADD_REMOVE:
            moved = together = 1
        else:
            moved, together = (1 if one_group and not shared else 2), (2 if signed else 1)
        return Sensitivity(
            neighbours=neighbours,
            l0=moved * groups,
            linf=together * in_one * largest,
            l1=max(moved, together) * l1 * largest,
            l2_squared=max(together**2, moved) * l2_squared * largest**2,
        )

    def profiles(self) -> list[tuple[int, int]]:
        """Where people are counted in ℓ₂: for each weight, the most groups of a person who has it."""
        scaled = self.square * self.whole**2
        return [(scaled // weight**2, weight) for weight in range(self.least, self.whole + 1)]


def too_large() -> QueryRefused:
    return QueryRefused(
        "This measure is too large to be computed exactly.",
        remedy="The owner can declare narrower bounds, or a coarser unit.",
    )


def together(sensitivities: list[Sensitivity]) -> Sensitivity:
    """The sensitivity of several vectors together, such as one for each grouping set."""
    return Sensitivity(
        neighbours=sensitivities[0].neighbours,
        l0=sum(each.l0 for each in sensitivities),
        linf=max(each.linf for each in sensitivities),
        l1=sum(each.l1 for each in sensitivities),
        l2_squared=sum(each.l2_squared for each in sensitivities),
    )
