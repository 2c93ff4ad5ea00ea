"""What models claim: the exact loss of every release of a fit, on enumerated neighbours.

A fit releases sums, one after the other, each of which may depend on those before. So both neighbours get the
same releases, and only the exact sums behind them are compared. The law of the noise then gives the loss,
without any draw: ε = ‖move‖₁/b for discrete Laplace noise of scale b, and ρ = ‖move‖₂²/2σ² for discrete
Gaussian noise (Canonne, Kamath & Steinke, arXiv 2004.00010v4, Theorem 14). The claim holds if these losses
add up to no more than it, whatever was released.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.audit.claims import ADD_REMOVE, REPLACE_ONE, Claim, Outcomes, Side, Window
from discreet.audit.laws import Probabilities, product_law
from discreet.learn.core.account import FitAccount
from discreet.learn.core.declarations import Scaling
from discreet.learn.core.encoding import ONE, RowOwners, on_grid, person_weights
from discreet.learn.descent.generalized_linear import fit_by_descent
from discreet.learn.descent.gradient import RESIDUAL_ONE, ClippedGradient
from discreet.learn.descent.losses import Logistic, ModelLoss, Poisson, SmoothedHinge, Softmax, Squared
from discreet.learn.descent.own_loss import GRID, on_clipped_grid
from discreet.learn.least_squares.sufficient_statistics import product_sums, release_products
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, Loss, PureLoss, Spend
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

ClaimedRow: TypeAlias = tuple[float, float, float]
"""Two features and a target."""
ClaimedPerson: TypeAlias = tuple[ClaimedRow, ...]
Fit: TypeAlias = Callable[[Floats, Floats, RowOwners, FitAccount], object]
SeenSum: TypeAlias = tuple[NDArray[np.int64], AdditiveNoise]

LAPLACE = PureLoss(epsilon=Fraction(1))
GAUSSIAN = ConcentratedLoss(rho=Fraction(1, 2), delta=Fraction(0))

_ROWS_PER_PERSON = 2
_SIZES = (0.1, 3.0)  # of made-up releases, relative to what one person adds
_CORNER, _RELABELLED, _OPPOSITE = (1.0, 1.0, 1.0), (1.0, 1.0, 0.0), (-1.0, -1.0, 0.0)
_ZERO, _SLANTED, _BEYOND = (0.0, 0.0, 1.0), (-1.0, 0.3, 0.0), (99.0, -99.0, 0.0)
_PEOPLE: list[ClaimedPerson] = [
    (_CORNER,),
    (_ZERO, _SLANTED),
    (_CORNER, _CORNER),
    (_RELABELLED, _RELABELLED),
    (_OPPOSITE, _OPPOSITE),
    (_CORNER, _CORNER, _CORNER),
    (_BEYOND, _BEYOND, _BEYOND, _SLANTED),
]


class Witness(FitAccount):
    """Records the exact sums and the noise that they would get, and releases made-up numbers instead."""

    def __init__(self, total: Loss, neighbours: Neighbours, size: float) -> None:
        super().__init__(total, neighbours=neighbours)
        self.seen: list[SeenSum] = []
        self._size = size

    def release(self, exact: NDArray[np.int64], *, reach: int, share: Fraction) -> NDArray[np.int64]:
        self.seen.append((exact.copy(), self.take(exact.size, reach=reach, share=share)))
        made_up = np.random.default_rng(len(self.seen)).normal(size=exact.shape)
        return np.rint(self._size * reach * made_up).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCheck:
    """A fit, and the most that it may lose between two neighbours, with at most one other person."""

    name: str
    claimed: Spend
    neighbours: Neighbours
    fit: Fit

    def worst(self) -> Fraction:
        """The largest loss: ε of pure claims, ρ of concentrated ones."""
        return max(loss for size in _SIZES for loss in self._losses(size))

    def stated(self) -> Loss:
        """What the account says that a fit spent."""
        account = Witness(self.claimed, self.neighbours, 1.0)
        self._run([_PEOPLE[0]], account)
        return account.spent()

    def _losses(self, size: float) -> Iterator[Fraction]:
        for rest in ([], _PEOPLE[:1], _PEOPLE[-1:]):
            with_one = [self._seen([*rest, person], size) for person in _PEOPLE]
            if self.neighbours is ADD_REMOVE:
                without = self._seen(rest, size)
                yield from (loss_between(one, without) for one in with_one)
            else:
                yield from (loss_between(*pair) for pair in combinations_with_replacement(with_one, 2))

    def _seen(self, people: list[ClaimedPerson], size: float) -> list[SeenSum]:
        account = Witness(self.claimed, self.neighbours, size)
        self._run(people, account)
        return account.seen

    def _run(self, people: list[ClaimedPerson], account: FitAccount) -> None:
        rows = np.array([row for person in people for row in person]).reshape(-1, 3)
        groups = np.repeat(np.arange(len(people)), [len(person) for person in people])
        weights = person_weights(groups, len(rows), _ROWS_PER_PERSON)
        x = Scaling.within(np.full(2, -1.0), np.full(2, 1.0)).apply(rows[:, :2])
        self.fit(x, rows[:, 2], RowOwners(weights=weights, rows_per_person=_ROWS_PER_PERSON), account)


def loss_between(one: list[SeenSum], other: list[SeenSum]) -> Fraction:
    """The loss of all releases together, given that they came out the same on both."""
    total = Fraction(0)
    for (exact, mechanism), (neighbour, _) in zip(one, other, strict=True):
        moves = [abs(int(a) - int(b)) for a, b in zip(exact.flat, neighbour.flat, strict=True)]
        if isinstance(mechanism, DiscreteLaplace):
            total += sum(moves) / mechanism.scale
        else:
            total += sum(move * move for move in moves) / (2 * mechanism.sigma_squared)
    return total


def fit_checks() -> Iterator[FitCheck]:
    """Every model loss and both kinds of linear regression, with either noise, under both relations."""
    descents: dict[str, Fit] = {
        "logistic": partial(_descend, Logistic()),
        "of several classes": partial(_descend, Softmax(), outputs=3),
        "support vectors": partial(_descend, SmoothedHinge()),
        "Poisson": partial(_descend, Poisson(largest=1.0), intercept=False),
        "squares": partial(_descend, Squared(), centre=0.5),
    }
    fits: dict[str, Fit] = {
        **{f"descent, {name}": fit for name, fit in descents.items()},
        "descent, own gradient": _own,
        "sums of products": _products,
    }
    noises: dict[str, Spend] = {"Laplace": LAPLACE, "Gaussian": GAUSSIAN}
    relations = {"": ADD_REMOVE, ", replace": REPLACE_ONE}
    for (name, fit), (noise, claimed), (word, relation) in product(
        fits.items(), noises.items(), relations.items()
    ):
        yield FitCheck(name=f"Learning: {name}, {noise}{word}", claimed=claimed, neighbours=relation, fit=fit)


def _descend(
    loss: ModelLoss,
    x: Floats,
    y: Floats,
    people: RowOwners,
    account: FitAccount,
    *,
    outputs: int = 1,
    intercept: bool = True,
    centre: float = 0.0,
) -> None:
    fit_by_descent(
        x,
        y - centre,
        loss,
        people,
        account,
        marks=np.zeros(2, dtype=np.bool_),
        outputs=outputs,
        intercept=intercept,
        steps=2,
    )


def _products(x: Floats, y: Floats, people: RowOwners, account: FitAccount) -> None:
    values = np.hstack([np.ones((len(x), 1)), x, 2 * y[:, None] - 1])
    rows = people.rows(on_grid(values, np.zeros(1), np.ones(1)))
    release_products(product_sums(rows, account.order), account, Fraction(1))


def _own(x: Floats, y: Floats, people: RowOwners, account: FitAccount) -> None:
    """A gradient that points one way or the other, by the label."""
    total = on_clipped_grid((2 * y - 1)[:, None] * x, people.weights, 0.7, account.order)
    account.release(total, reach=GRID * people.rows_per_person, share=Fraction(1))


def release_claims() -> Iterator[Claim]:
    """A step on gradients of a few units, so that draws show the law of its noise."""
    yield _step("Laplace", LAPLACE, DiscreteLaplace(scale=Fraction(4)))
    yield _step("Gaussian", GAUSSIAN, DiscreteGaussian(sigma_squared=Fraction(16)))


def _step(noise: str, claimed: Spend, mechanism: AdditiveNoise) -> Claim:
    """A person may add 4 units: residuals of ±½ are cut to the 3 that are safely below."""
    exact = [3, 0], [3, -3]
    window = Window.around(mechanism, *exact)

    def law(side: Side) -> Probabilities:
        return product_law(*(window.law(mechanism, centre) for centre in exact[side]))

    def draw(side: Side, count: int) -> Outcomes:
        gradient = _gradient_of_few_units(side + 1, FitAccount(claimed, neighbours=ADD_REMOVE).order)
        drawn = np.empty((count, 2), dtype=np.int64)
        for i in range(count):
            step = gradient.sum(np.zeros((2, 1)))
            drawn[i] = FitAccount(claimed, neighbours=ADD_REMOVE).release(
                step, reach=gradient.reach, share=Fraction(1)
            )[:, 0]
        return window.outcomes(drawn)

    account = FitAccount(claimed, neighbours=ADD_REMOVE)
    account.take(2, reach=_gradient_of_few_units(2, account.order).reach, share=Fraction(1))
    return Claim(
        name=f"Learning: one step, {noise}",
        claimed=claimed,
        stated=account.spent(),
        law=law,
        draw=draw,
        samples=2**11,
    )


def _gradient_of_few_units(people: int, order: int) -> ClippedGradient:
    """The first person has the first feature and label 0, the second the second and label 1."""
    rows = RowOwners(weights=np.ones(people), rows_per_person=1).rows(np.eye(2)[:people])
    clip = 4 / (ONE * RESIDUAL_ONE)
    return ClippedGradient.of(Logistic(), rows, np.arange(float(people)), clip=clip, order=order)
