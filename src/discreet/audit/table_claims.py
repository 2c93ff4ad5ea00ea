"""What profiles claim, and questions that estimate what limits leave out, through the real SQL.

Others measure vectors together, which cost what one of them costs (`aggregates.joint`). Profiles, and what
is left out, count people in bins. Nobody may be in two bins of a histogram, whatever their rows hold. One
charge pays for several vectors, which a person moves together: all histograms of a profile, or the sums of
a question and the people of whom something is left out. So small tables and all their neighbours are summed
by DuckDB. By the law of the noise, what all vectors lose together is within ε or ρ (see
`learn_claims.loss_between`). Then noise is drawn, on the neighbours that are worst, and only numbers that a
person moves are looked at.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claims import ADD_REMOVE, REPLACE_ONE, Claim, Outcomes, Side
from discreet.audit.laws import Probabilities, gaussian_below, laplace_below, product_law
from discreet.audit.learn_claims import SeenSum, loss_between
from discreet.audit.sensitivities import SmallDataset, SmallPerson
from discreet.audit.small_tables import TableRelease, profile_release, question_release, results_of
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.noise.additive import AdditiveNoise
from discreet.noise.laplace import DiscreteLaplace

PlannedRelease: TypeAlias = Callable[[Spend, Neighbours], TableRelease]

LAPLACE, GAUSSIAN = PureLoss(epsilon=Fraction(2)), ConcentratedLoss(rho=Fraction(1, 2), delta=Fraction(0))
_NOISES: dict[str, Spend] = {"Laplace": LAPLACE, "Gaussian": GAUSSIAN}
_RELATIONS = {"": ADD_REMOVE, ", replace": REPLACE_ONE}

_ROWS = "SELECT count(*) FROM visits"
_GROUPS = "SELECT ward, count(DISTINCT person) FROM visits GROUP BY ward"
_CLAMPED = "SELECT ward, sum(cost), sum(age) FROM visits GROUP BY ward"
_CELLS = (
    "SELECT ward, count(*) FILTER (WHERE note = 'a'), count(*) FILTER (WHERE age > 9), count(*) FROM visits"
)
_POLYNOMIALS = "SELECT avg(age), variance(age), count(*), sum(age) FILTER (WHERE note = 'a') FROM visits"
RELEASES: dict[str, PlannedRelease] = {
    "Profile: histograms": profile_release,
    "Left out: rows": partial(question_release, _ROWS),
    "Left out: rows by group": partial(question_release, "SELECT ward, count(*) FROM visits GROUP BY ward"),
    "Left out: groups": partial(question_release, _GROUPS),
    "Left out: values": partial(question_release, "SELECT count(DISTINCT note) FROM visits"),
    "Left out: clamped": partial(question_release, _CLAMPED),
    "Together: cells": partial(question_release, f"{_CELLS} GROUP BY ward"),
    "Together: polynomials": partial(question_release, _POLYNOMIALS),
}
_PEOPLE: list[SmallPerson] = [
    (0,),
    (1,),
    (2,),
    (3,),
    (4,),
    (0, 1),
    (2, 3),
    (0, 0, 0),
    (0, 1, 1, 2, 2),
    (1,) * 9,
    (0, 1, 2, 3, 4, 5, 6),
]
_CROWDS: tuple[SmallDataset, ...] = ([], [(0, 1), (1,) * 5])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCheck:
    """A release, and the most that it may lose between any two neighbours of some small tables."""

    name: str
    claimed: Spend
    neighbours: Neighbours
    planned: PlannedRelease

    def release(self) -> TableRelease:
        return self.planned(self.claimed, self.neighbours)

    def worst_moves(self, release: TableRelease) -> dict[str, int]:
        """The largest move of a histogram of people, in each norm."""
        moves = [
            one[0] - other[0]
            for pair in self._neighbours(release)
            for place in release.people
            for one, other in [[vectors[place] for vectors in pair]]
        ]
        return {
            "l0": max(int((move != 0).sum()) for move in moves),
            "linf": max(int(np.abs(move).max()) for move in moves),
            "l1": max(int(np.abs(move).sum()) for move in moves),
            "l2_squared": max(int((move**2).sum()) for move in moves),
        }

    def worst_loss(self, release: TableRelease) -> Fraction:
        """The largest loss of all vectors together: ε of pure claims, ρ of concentrated ones."""
        return max(loss_between(*pair) for pair in self._neighbours(release))

    def _neighbours(self, release: TableRelease) -> Iterator[tuple[list[SeenSum], list[SeenSum]]]:
        for crowd in _CROWDS:
            with_one = [_seen(release, [*crowd, person]) for person in _PEOPLE]
            if self.neighbours is ADD_REMOVE:
                without = _seen(release, crowd)
                yield from ((one, without) for one in with_one)
            else:
                yield from combinations(with_one, 2)


def _seen(release: TableRelease, people: SmallDataset) -> list[SeenSum]:
    return list(zip(release.exact(results_of(release, people)), release.noises, strict=True))


def table_checks() -> Iterator[TableCheck]:
    """Profiles, and every way of leaving out something, with either noise, under both relations."""
    for (name, planned), (noise, claimed), (word, relation) in product(
        RELEASES.items(), _NOISES.items(), _RELATIONS.items()
    ):
        title = f"{name}, {noise}{word}"
        yield TableCheck(name=title, claimed=claimed, neighbours=relation, planned=planned)


def table_claims() -> Iterator[Claim]:
    """Draws on neighbours that are about the worst for each."""
    profile, rows, _, groups, _, clamped, cells, polynomials = RELEASES.values()
    few, many, in_both, beyond = (0,), (0,) * 9, (0, 1), (1, 1)
    for noise, loss in _NOISES.items():
        yield _claim(f"Profile: a person comes, {noise}", profile, loss, None, many)
        yield _claim(f"Left out: a person with many rows comes, {noise}", rows, loss, None, many)
    yield _claim("Profile: a person is another, Laplace", profile, LAPLACE, few, beyond)
    yield _claim("Left out: a person is in more groups, Laplace", groups, LAPLACE, few, in_both)
    yield _claim("Left out: values move beyond their bounds, Gaussian", clamped, GAUSSIAN, few, beyond)
    yield _claim("Together: a person is in other cells, Laplace", cells, LAPLACE, few, (2,))
    yield _claim("Together: a person comes with another value, Gaussian", polynomials, GAUSSIAN, None, (1,))


def _claim(
    name: str, planned: PlannedRelease, loss: Spend, before: SmallPerson | None, after: SmallPerson
) -> Claim:
    """The first table has the person as before, or not at all. Somebody else is in both."""
    rest: list[SmallPerson] = [(0, 1)]
    tables = [*rest] if before is None else [*rest, before], [*rest, after]
    release = planned(loss, ADD_REMOVE if before is None else REPLACE_ONE)

    def moved() -> list["MovedNumber"]:
        first, second = (release.exact(results_of(release, table)) for table in tables)
        places = [
            (vector, int(place))
            for vector, (one, other) in enumerate(zip(first, second, strict=True))
            for place in np.flatnonzero(one != other)
        ]
        return [
            MovedNumber.between(
                vector,
                place,
                release.noises[vector],
                (int(first[vector][place]), int(second[vector][place])),
                len(places),
            )
            for vector, place in places
        ]

    def law(side: Side) -> Probabilities:
        return product_law(*(number.law(side) for number in moved()))

    def draw(side: Side, count: int) -> Outcomes:
        results, numbers = results_of(release, tables[side]), moved()
        outcomes = np.zeros(count, dtype=np.int64)
        drawn = [release.draw(results) for _ in range(count)]
        for number in numbers:
            seen = np.array([int(vectors[number.vector][number.place]) for vectors in drawn])
            outcomes = outcomes * number.size + number.digits(seen)
        return outcomes

    return Claim(name=name, claimed=loss, stated=release.stated, law=law, draw=draw, samples=2**11)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedNumber:
    """One noisy number of a release that differs between two neighbours, in buckets of some integers each."""

    vector: int
    place: int
    noise: AdditiveNoise
    centres: tuple[int, int]
    edges: tuple[int, ...]

    @classmethod
    def between(
        cls, vector: int, place: int, noise: AdditiveNoise, centres: tuple[int, int], numbers: int
    ) -> "MovedNumber":
        """Buckets of half a standard deviation or so; fewer if there are many numbers side by side."""
        spread = float(noise.scale) if isinstance(noise, DiscreteLaplace) else noise.sigma
        half = {1: 8, 2: 8, 3: 5, 4: 3}.get(numbers, 1)
        step = ceil(max(1.0, spread / 2 if half > 1 else spread))
        middle = max(centres)
        edges = tuple(middle + i * step for i in range(1 - half, half + 1))
        return cls(vector=vector, place=place, noise=noise, centres=centres, edges=edges)

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def digits(self, seen: NDArray[np.int64]) -> Outcomes:
        return np.searchsorted(np.array(self.edges), seen, side="right")

    def law(self, side: Side) -> Probabilities:
        centre, edges = self.centres[side], np.array(self.edges)
        if isinstance(self.noise, DiscreteLaplace):
            below = laplace_below(float(self.noise.scale), centre, edges)
        else:
            below = gaussian_below(float(self.noise.sigma_squared), centre, edges)
        return np.diff(below, prepend=0.0, append=1.0)
