"""Whole fits as black boxes: how well does a fitted model tell whether a canary was in its data?

A canary is a person whose row adds as much as a row may, where nobody else adds anything. The audit looks at
attributes of the fitted model. Under Laplace noise a coin decides whether a canary is in the data, and the
audit guesses; one fit has many canaries if they share nothing. Under Gaussian noise an event, fixed in
advance, is counted on two neighbours. Either test notices if the noise is halved
(`tests/audit/test_learn_mutations.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claims import Side
from discreet.audit.statistics import gaussian_lower_bound, guesses_lower_bound
from discreet.learn.descent.own_loss import PrivateDescent
from discreet.model.conversion import largest_rho
from discreet.model.exact import exact_fraction
from discreet.model.privacy import ConcentratedLoss, PureLoss

Coins: TypeAlias = NDArray[np.bool_]
Guesses: TypeAlias = NDArray[np.int64]
"""1 for a canary that is guessed to be in, −1 for out, 0 for no guess."""

_PURE: dict[str, Any] = {"epsilon": 2, "delta": 0}
_GAUSSIAN: dict[str, Any] = {"epsilon": 10, "delta": 1e-4}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedCanaries:
    """A claim of ε, and a fit on the canaries that the coins select, which are then guessed."""

    name: str
    claimed: PureLoss
    guess: Callable[[Coins], Guesses]
    canaries: int
    fits: int

    def at_least(self, times: int = 1) -> float:
        """A lower bound on ε that the fits prove."""
        right = guessed = 0
        for _ in range(self.fits * times):
            coins = np.random.default_rng().integers(0, 2, self.canaries).astype(np.bool_)
            guesses = self.guess(coins)
            right += int((guesses == np.where(coins, 1, -1)).sum())
            guessed += int((guesses != 0).sum())
        return guesses_lower_bound(right, guessed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCanary:
    """A claim of ρ, and a fit on one of two neighbours, in which an event happens or not."""

    name: str
    claimed: ConcentratedLoss
    event: Callable[[Side], bool]
    """Likelier on side 1."""
    fits: int

    def at_least(self, times: int = 1) -> float:
        """A lower bound on ρ that the fits prove."""
        fits = self.fits * times
        first, second = (sum(self.event(side) for _ in range(fits)) for side in (1, 0))
        return gaussian_lower_bound(first, second, fits)


Canary: TypeAlias = GuessedCanaries | CountedCanary


def registered_canaries() -> Iterator[Canary]:
    """All canaries. Those that need scikit-learn are left out if it is not installed."""
    if find_spec("sklearn"):
        yield _guessed("one step", _signs_of_coefficients, canaries=48, fits=96)
        yield _counted("linear regression", _one_row_more, fits=400)
        yield _counted("two steps, a person of 3 rows, replace", _sign_after_two_steps, fits=512)
    yield _counted("own gradient", _own_gradient, fits=400)


def _guessed(name: str, guess: Callable[[Coins], Guesses], *, canaries: int, fits: int) -> Canary:
    claimed = PureLoss(epsilon=exact_fraction(_PURE["epsilon"], "epsilon"))
    title = f"Canary: {name}, Laplace"
    return GuessedCanaries(name=title, claimed=claimed, guess=guess, canaries=canaries, fits=fits)


def _counted(name: str, event: Callable[[Side], bool], *, fits: int) -> Canary:
    rho = largest_rho(*(exact_fraction(value, name) for name, value in _GAUSSIAN.items()))
    claimed = ConcentratedLoss(rho=rho, delta=Fraction(0))
    return CountedCanary(name=f"Canary: {name}, Gaussian", claimed=claimed, event=event, fits=fits)


_ROWS = 1000  # enough for the fit to learn how long rows are


def _one_row_more(side: Side) -> bool:
    """Rows of zeros add only to the number of rows, which is noisy and which the model keeps."""
    from discreet.learn.estimators.regressors import LinearRegression

    x, y = np.zeros((_ROWS + side, 1)), np.zeros(_ROWS + side)
    model = LinearRegression(**_GAUSSIAN, bounds=(-1, 1), target_bounds=(-1, 1))
    return model.fit(x, y).rows_ >= _ROWS + 0.5


def _signs_of_coefficients(coins: Coins) -> Guesses:
    """Each canary has a feature of its own and pulls its coefficient up. Below zero, the guess is “out”."""
    from discreet.learn.estimators.classifiers import LogisticRegression

    x = np.vstack([np.zeros(len(coins)), np.eye(len(coins))[coins]])
    model = LogisticRegression(
        **_PURE, bounds=(-1, 1), classes=(0, 1), steps=1, clip=0.1, fit_intercept=False
    )
    coefficients = model.fit(x, np.ones(len(x), dtype=np.int64)).coef_[0]
    return np.where(coefficients < 0, -1, 0)


def _sign_after_two_steps(side: Side) -> bool:
    """Three rows of one person, of whom two count fully, pull one way or the other. All others are zeros."""
    from discreet.learn.estimators.classifiers import LogisticRegression

    x = np.concatenate([np.ones(3), np.zeros(97)])[:, None]
    groups = np.concatenate([np.zeros(3), np.arange(1, 98)])
    model = LogisticRegression(
        **_GAUSSIAN,
        bounds=(-1, 1),
        classes=(0, 1),
        steps=2,
        clip=0.2,
        fit_intercept=False,
        rows_per_person=2,
        neighbours="replace_one",
    )
    coefficients = model.fit(x, np.full(100, side), groups=groups).coef_
    return bool(coefficients[0, 0] > 0)


def _own_gradient(side: Side) -> bool:
    """The canary's gradient is longer than the clip, 1. The other person's is ½, in the other direction."""
    descent = PrivateDescent(
        gradient=lambda _weights, _x, y: -y[:, None], **_GAUSSIAN, clip=1.0, rows=1, steps=1, momentum=0.0
    )
    y = np.array([-0.5, 9.0][: side + 1])
    return bool(descent.run(np.zeros(1), np.zeros((side + 1, 1)), y).weights[0] > 0)
