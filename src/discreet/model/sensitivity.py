"""What one person can change at most, as exact integers on the grid, and for which neighbours."""

from dataclasses import dataclass

from discreet.errors import InvalidInput
from discreet.model.exact import LARGEST_COUNT, LARGEST_SENSITIVITY, positive_count, whole
from discreet.model.neighbours import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How far a vector of integers moves between two neighbours, in four norms.

    l0: coordinates that move; linf: the farthest that one moves; l1: the sum of the moves;
    l2_squared: the sum of their squares, so that it stays an integer.
    """

    neighbours: Neighbours
    l0: int
    linf: int
    l1: int
    l2_squared: int

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, Neighbours):
            raise InvalidInput(
                "A sensitivity must say which neighbours it is for.",
                remedy="Give Neighbours.ADD_REMOVE or Neighbours.REPLACE_ONE.",
            )
        l0 = whole(self.l0, "l0", 1, LARGEST_COUNT)
        linf = whole(self.linf, "linf", 1, LARGEST_SENSITIVITY)
        l1 = whole(self.l1, "l1", 1, LARGEST_SENSITIVITY)
        l2_squared = whole(self.l2_squared, "l2_squared", 1, LARGEST_SENSITIVITY**2)
        for name, value in (("l0", l0), ("linf", linf), ("l1", l1), ("l2_squared", l2_squared)):
            object.__setattr__(self, name, value)
        possible = linf <= l1 <= l0 * linf and linf**2 <= l2_squared <= min(l1**2, l0 * linf**2)
        if not possible:
            raise InvalidInput(
                "No change of a vector has these norms together.",
                remedy="They must obey linf ≤ l1 ≤ l0·linf and linf² ≤ l2² ≤ min(l1², l0·linf²).",
            )

    @classmethod
    def scalar(cls, change: int, neighbours: Neighbours) -> "Sensitivity":
        """One number that moves by at most `change`. A counting query has change = 1."""
        moved = whole(change, "change", 1, LARGEST_SENSITIVITY)
        return cls(neighbours=neighbours, l0=1, linf=moved, l1=moved, l2_squared=moved**2)

    @classmethod
    def sum(cls, low: int, high: int, neighbours: Neighbours) -> "Sensitivity":
        """A sum of one value a person, each clamped to [low, high].

        Adding a person moves it by a value, replacing one by the difference of two.
        """
        low = whole(low, "low", -LARGEST_SENSITIVITY, LARGEST_SENSITIVITY)
        high = whole(high, "high", -LARGEST_SENSITIVITY, LARGEST_SENSITIVITY)
        if low >= high:
            raise InvalidInput(
                "The lower bound must be below the upper bound.", remedy="Swap or widen the bounds."
            )
        added = max(abs(low), abs(high))
        return cls.scalar(high - low if neighbours is Neighbours.REPLACE_ONE else added, neighbours)

    @classmethod
    def histogram(cls, neighbours: Neighbours, *, max_rows: int = 1) -> "Sensitivity":
        """Counts of rows in disjoint cells, however many cells, for people with at most max_rows.

        Adding a person moves the counts by a vector a ≥ 0 with ‖a‖₁ ≤ max_rows; replacing one by
        the difference a − b of two such vectors, which may touch different cells.
        """
        rows = positive_count(max_rows, "max_rows")
        changes = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        return cls(
            neighbours=neighbours,
            l0=changes * rows,
            linf=rows,
            l1=changes * rows,
            l2_squared=changes * rows**2,
        )

    @classmethod
    def counting_queries(cls, queries: int, neighbours: Neighbours) -> "Sensitivity":
        """Any number of counting queries, which may all count the same person."""
        k = positive_count(queries, "queries")
        return cls(neighbours=neighbours, l0=k, linf=1, l1=k, l2_squared=k)


def vector_sensitivity(value: object) -> Sensitivity:
    """A sensitivity of numbers that get noise; a selection's is of another kind."""
    if not isinstance(value, Sensitivity):
        raise InvalidInput(
            f"A Sensitivity is expected, not {_kind(value)}.",
            remedy="Give one, such as Sensitivity.histogram(Neighbours.ADD_REMOVE).",
        )
    return value


def score_sensitivity(value: object) -> "ScoreSensitivity":
    """A sensitivity of the scores of a selection; that of numbers which get noise is of another kind."""
    if not isinstance(value, ScoreSensitivity):
        raise InvalidInput(
            f"A ScoreSensitivity is expected, not {_kind(value)}.",
            remedy="Give one, such as ScoreSensitivity.counts(Neighbours.ADD_REMOVE).",
        )
    return value


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSensitivity:
    """How unevenly one person can move the scores of a selection.

    Selection looks only at differences of scores: adding the same number to all changes nothing. So
    what counts is the *range* of the moves between two neighbours, (largest − smallest move), over
    all candidates. The factor 2 of the textbooks is this range, derived below.
    """

    neighbours: Neighbours
    range: int

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, Neighbours):
            raise InvalidInput(
                "A sensitivity must say which neighbours it is for.",
                remedy="Give Neighbours.ADD_REMOVE or Neighbours.REPLACE_ONE.",
            )
        object.__setattr__(self, "range", whole(self.range, "range", 1, LARGEST_SENSITIVITY))

    @classmethod
    def additive(cls, low: int, high: int, neighbours: Neighbours) -> "ScoreSensitivity":
        """Scores that are sums over people, each person adding between low and high to each score.

        Adding a person moves every score by something in [low, high]: a range of high − low.
        Replacing one moves it by a difference of two such numbers, in [low − high, high − low]:
        twice that. A count is additive(0, 1): range 1 under add/remove, 2 under replace-one.
        """
        low = whole(low, "low", -LARGEST_SENSITIVITY, LARGEST_SENSITIVITY)
        high = whole(high, "high", -LARGEST_SENSITIVITY, LARGEST_SENSITIVITY)
        if low >= high:
            raise InvalidInput(
                "The lower bound must be below the upper bound.", remedy="Swap or widen the bounds."
            )
        moves = (low - high, high - low) if neighbours is Neighbours.REPLACE_ONE else (low, high)
        return cls(neighbours=neighbours, range=moves[1] - moves[0])

    @classmethod
    def counts(cls, neighbours: Neighbours) -> "ScoreSensitivity":
        """How many people each candidate has, where a person may count for several candidates."""
        return cls.additive(0, 1, neighbours)

    @classmethod
    def bounded(cls, change: int, neighbours: Neighbours) -> "ScoreSensitivity":
        """Any scores that each move by at most `change`, up or down: a range of 2·change."""
        change = whole(change, "change", 1, LARGEST_SENSITIVITY // 2)
        return cls(neighbours=neighbours, range=change - (-change))
