"""Attacks on objective perturbation as a whole: what a fit does, not what its parts promise."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from scipy.special import expit

import discreet.learn as learn
from discreet.accounting.objective import objective_delta
from discreet.errors import InvalidInput
from discreet.learn.core.encoding import ONE
from discreet.learn.objective import perturbation as objective
from discreet.learn.objective.minimum import HALF_BITS, RESIDUAL_ERROR, RIDGE_BITS, STEEPER
from discreet.learn.objective.perturbation import ObjectiveBudget
from discreet.model.exact import exp_bounds
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

EPSILON, DELTA = Fraction(1), Fraction(1, 100)


class Tape:
    """All that a fit releases, and what it is made of; a second fit gets to see the noise of the first.

    So two fits on neighbours take the same way, and every step of theirs can be compared: adaptive
    composition is about exactly that.
    """

    def __init__(self, monkeypatch):
        self.outcomes, self.answers, self.fits = [], [], []
        release, laplace, minimum = DiscreteGaussian.release, DiscreteLaplace.release, objective.minimise
        perturbed = objective.release_minimum

        def seen(mechanism, exact, **options):
            mine = self.fits[-1]["gaussian"]
            if len(mine) == len(self.outcomes):
                self.outcomes.append(release(mechanism, exact, **options))
            mine.append((mechanism.sigma_squared, exact.astype(object)))
            return self.outcomes[len(mine) - 1].copy()

        def last(mechanism, exact, **options):
            self.fits[-1]["laplace"] = mechanism.scale
            if not self.answers:
                self.answers.append(laplace(mechanism, exact, **options))
            return self.answers[0].copy()

        def solved(problem, tolerance):
            point = minimum(problem, tolerance)
            self.fits[-1] |= {"problem": problem, "tolerance": tolerance, "point": point}
            return point

        def planned(values, labels, plan, *arguments, **options):
            self.fits[-1]["plan"] = plan
            return perturbed(values, labels, plan, *arguments, **options)

        monkeypatch.setattr(DiscreteGaussian, "release", seen)
        monkeypatch.setattr(DiscreteLaplace, "release", last)
        monkeypatch.setattr(objective, "minimise", solved)
        monkeypatch.setattr(objective, "release_minimum", planned)

    def fit(self, model, x, y):
        self.fits.append({"gaussian": []})
        model.fit(x, y)
        kept = {name: value for name, value in vars(model).items() if name.endswith("_")}
        return self.fits[-1] | {"kept": kept}


def people(rows=3000, spread=0.05):
    """Most lie close together: a row in a corner is then far from all others."""
    chance = np.random.default_rng(4)
    x = chance.uniform(-spread, spread, size=(rows, 2))
    return x, (chance.random(rows) < expit(x @ [3.0, -1.0])).astype(int)


def model(**settings):
    given = {"epsilon": EPSILON, "delta": DELTA, "bounds": (-1, 1), "classes": (0, 1), "solver": "objective"}
    return learn.LogisticRegression(**given | settings)


def spent(one, other):
    """The δ at ε less what the last noise takes, from what two fits on neighbours really did."""
    before = Fraction(0)
    for (variance, exact), (same, less) in zip(one["gaussian"][:-1], other["gaussian"][:-1], strict=True):
        assert variance == same
        before += Fraction(sum(int(each) ** 2 for each in exact - less)) / (2 * (variance - 9))
    assert one["plan"] == other["plan"]
    assert one["tolerance"] == other["tolerance"]
    variance = one["gaussian"][-1][0] - 9
    assert variance == other["gaussian"][-1][0] - 9
    mine, theirs = one["problem"], other["problem"]
    assert (mine.values[:-1] == theirs.values).all()
    assert (mine.caps[:-1] == theirs.caps).all()
    assert (mine.labels[:-1] == theirs.labels).all()
    assert (mine.ridge == theirs.ridge).all()
    assert mine.noise_bits == theirs.noise_bits
    length = Fraction(sum(int(each) ** 2 for each in mine.values[-1])) / ONE**2  # squared
    cap, ridge = Fraction(int(mine.caps[-1]), 2**HALF_BITS), Fraction(int(min(mine.ridge)), 2**RIDGE_BITS)
    rho = cap**2 * length * Fraction(4) ** mine.noise_bits / (2 * variance)
    middle = max(STEEPER * cap * length / ridge, 2 * rho) - rho
    return before, rho, middle


def apart_from_the_ideal(fit):
    """The most by which the last noise can tell what was computed from the minimum for a normal number.

    A gradient is off by what is left of it, by the residuals' rounding and by the noise's, of 60 units; then
    θ by the same over the ridge, in ℓ₂; and each coordinate by 1 more as it is put on the grid.
    """
    plan, problem, width = fit["plan"], fit["problem"], len(fit["point"])
    gradient = problem.gradient(fit["point"])
    left = Fraction(isqrt(sum(int(each) ** 2 for each in gradient)) + 1, 2**problem.unit_bits)
    assert left <= Fraction(fit["tolerance"]) * (1 + Fraction(1, 10**9))
    assert len(problem.values) <= plan.rows
    residuals = Fraction(plan.rows * plan.longest, ONE) * Fraction(RESIDUAL_ERROR)
    root = Fraction(isqrt(width * 10**12) + 1, 10**6)
    off = Fraction(fit["tolerance"]) + residuals + 60 * root / Fraction(2) ** problem.noise_bits
    ridge = Fraction(int(min(problem.ridge)), 2**RIDGE_BITS)
    moved = root * off / ridge * Fraction(2) ** plan.grid_bits + width
    return moved / fit["laplace"]


EXTREME = {"corner": (1.0, 1.0), "opposite": (-1.0, -1.0), "beyond": (1e9, -1e9), "origin": (0.0, 0.0)}


@pytest.mark.parametrize("row", EXTREME)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"penalty": 1.0}])
@pytest.mark.parametrize("others", [{}, {"rows": 20, "spread": 1.0}, {"rows": 1}])
def test_a_whole_fit_spends_no_more_than_it_says(monkeypatch, row, label, neighbours, settings, others):
    """With one row more, and all outcomes the same: sums and gradients move as the account has it."""
    x, y = people(**others)
    tape = Tape(monkeypatch)
    given = model(neighbours=neighbours, **settings)
    without = tape.fit(given, x, y)
    with_one = tape.fit(given, np.vstack([x, EXTREME[row]]), np.append(y, label))
    assert with_one["kept"].keys() == without["kept"].keys()
    for name, value in with_one["kept"].items():  # nothing is kept that does not follow from the releases
        assert np.array_equal(value, without["kept"][name]), name
    before, rho, middle = spent(with_one, without)
    epsilon, delta = EPSILON, DELTA
    if neighbours == "replace_one":
        epsilon, delta = epsilon / 2, delta / (1 + exp_bounds(epsilon / 2, 40)[0])
    apart = max(apart_from_the_ideal(with_one), apart_from_the_ideal(without))
    left = epsilon - 2 * apart
    found = objective_delta(left, constant=Fraction(0), middle=middle, before=before, rho=rho)
    assert found * exp_bounds(apart, 40)[1] <= delta
    if row == "corner" and not others:  # and this is no idle bound: a little more would be too much
        assert objective_delta(left, constant=Fraction(0), middle=middle, before=3 * before, rho=2 * rho) > (
            delta / 2
        )


def test_a_row_of_no_declared_class_is_in_nothing(monkeypatch):
    x, y = people()
    tape = Tape(monkeypatch)
    without = tape.fit(model(), x, y)
    with_one = tape.fit(model(), np.vstack([x, (1.0, 1.0)]), np.append(y, 7))
    for (_, exact), (_, less) in zip(with_one["gaussian"], without["gaussian"], strict=True):
        assert (exact == less).all()
    assert (with_one["problem"].values == without["problem"].values).all()
    assert with_one["plan"] == without["plan"]


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-12, 1e-9), (1e-10, 1e-40)])
def test_where_a_release_would_be_out_of_range_there_is_no_account(epsilon, delta):
    """A hundredth of its ρ is for a count, and no release costs less than 10⁻²⁴."""
    with pytest.raises(InvalidInput, match="no account"):
        ObjectiveBudget.of(epsilon, delta, Neighbours.ADD_REMOVE)
    fitted = model(epsilon=epsilon, delta=delta, solver="auto").fit(*people())
    assert not isinstance(fitted.loss_, ApproximateLoss)


def test_it_can_be_tried_out_on_public_data():
    x, y = people(400, 1.0)
    found = learn.curve(model(), x, y, [1, 10], fits=1)
    assert found.without_noise > 0.6
