"""Layer 1, without noise: enumerate small data sets and all their neighbours, and measure the moves.

A data set is a list of people, a person a tuple of rows, a row the number of a cell. What the model says
that one person can change is compared with what one person does change, in each norm.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import QuantileTree

SmallPerson: TypeAlias = tuple[int, ...]
SmallDataset: TypeAlias = list[SmallPerson]
SmallQuery: TypeAlias = Callable[[SmallDataset], NDArray[np.int64]]

_CELLS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityCheck:
    """A query, the people that there can be, and the claimed sensitivity."""

    name: str
    claimed: Sensitivity | ScoreSensitivity
    people: list[SmallPerson]
    query: SmallQuery

    def moves(self) -> Iterator[NDArray[np.int64]]:
        """The change of the query between any two neighbours, with any two other people or fewer."""
        crowds = (combinations_with_replacement(self.people, size) for size in range(3))
        for rest in chain.from_iterable(crowds):
            base = self.query(list(rest))
            added = [self.query([*rest, person]) for person in self.people]
            if self.claimed.neighbours is Neighbours.ADD_REMOVE:
                yield from (with_person - base for with_person in added)
            else:
                yield from (one - other for one, other in product(added, added))

    def worst(self) -> dict[str, int]:
        """The largest move in each norm."""
        moves = np.array(list(self.moves()))
        if isinstance(self.claimed, ScoreSensitivity):
            return {"range": int((moves.max(axis=1) - moves.min(axis=1)).max())}
        return {
            "l0": int((moves != 0).sum(axis=1).max()),
            "linf": int(np.abs(moves).max()),
            "l1": int(np.abs(moves).sum(axis=1).max()),
            "l2_squared": int((moves**2).sum(axis=1).max()),
        }

    def claims(self, norms: Iterable[str]) -> dict[str, int]:
        return {norm: getattr(self.claimed, norm) for norm in norms}


def registered_sensitivities() -> Iterator[SensitivityCheck]:
    """Every way that the model derives a sensitivity, under both relations."""
    words = {Neighbours.ADD_REMOVE: "add/remove", Neighbours.REPLACE_ONE: "replace"}
    for relation, word in words.items():
        yield from _vector_checks(relation, word)
    for relation, word in words.items():
        yield from _score_checks(relation, word)


def _vector_checks(relation: Neighbours, word: str) -> Iterator[SensitivityCheck]:
    yield SensitivityCheck(
        name=f"Sensitivity: count, {word}",
        claimed=Sensitivity.scalar(1, relation),
        people=[(0,), (1,)],
        query=_total,
    )
    for rows in (1, 2):
        yield SensitivityCheck(
            name=f"Sensitivity: histogram, at most {rows}, {word}",
            claimed=Sensitivity.histogram(relation, max_rows=rows),
            people=_people_with(rows),
            query=_histogram,
        )
    for low, high in ((-3, 5), (-5, 3), (2, 4)):
        yield SensitivityCheck(
            name=f"Sensitivity: sum in [{low}, {high}], {word}".replace("-", "−"),
            claimed=Sensitivity.sum(low, high, relation),
            people=[(value,) for value in range(low, high + 1)],
            query=_total,
        )
    yield SensitivityCheck(
        name=f"Sensitivity: 3 counting queries, {word}",
        claimed=Sensitivity.counting_queries(_CELLS, relation),
        people=_subsets(),
        query=_histogram,
    )
    tree = QuantileTree(noise=DiscreteLaplace(scale=Fraction(1)), leaves=_CELLS, branching=2)
    yield SensitivityCheck(
        name=f"Sensitivity: quantile tree, at most 2, {word}",
        claimed=tree.sensitivity(relation, max_rows=2),
        people=_people_with(2),
        query=lambda people: tree.shape.count(_histogram(people)),
    )


def _score_checks(relation: Neighbours, word: str) -> Iterator[SensitivityCheck]:
    yield SensitivityCheck(
        name=f"Selection range: counts, {word}",
        claimed=ScoreSensitivity.counts(relation),
        people=_subsets(),
        query=_histogram,
    )
    yield SensitivityCheck(
        name=f"Selection range: −1 to 2 a person, {word}",
        claimed=ScoreSensitivity.additive(-1, 2, relation),
        people=_subsets(),
        query=lambda people: 3 * _histogram(people) - len(people),
    )
    yield SensitivityCheck(
        name=f"Selection range: moves of ±2, {word}",
        claimed=ScoreSensitivity.bounded(2, relation),
        people=_subsets(),
        query=_alternating if relation is Neighbours.ADD_REMOVE else _replaced_scores,
    )


def _total(people: SmallDataset) -> NDArray[np.int64]:
    return np.array([sum(value for (value,) in people)])


def _people_with(rows: int) -> list[SmallPerson]:
    return [
        person for size in range(rows + 1) for person in combinations_with_replacement(range(_CELLS), size)
    ]


def _subsets() -> list[SmallPerson]:
    """People who may count for any of the cells, each at most once."""
    return [tuple(cell for cell in range(_CELLS) if mask >> cell & 1) for mask in range(2**_CELLS)]


def _histogram(people: SmallDataset) -> NDArray[np.int64]:
    return np.bincount([cell for person in people for cell in person], minlength=_CELLS)


def _alternating(people: SmallDataset) -> NDArray[np.int64]:
    """Scores that one person raises or lowers by 2."""
    counts = _histogram(people)
    return 2 * (2 * counts - len(people))


def _replaced_scores(people: SmallDataset) -> NDArray[np.int64]:
    """The same, halved, so that replacing a person moves a score by at most 2."""
    return _alternating(people) // 2
