"""Objective perturbation: its law is the theorem's, its numbers fit, and only public facts choose it."""

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from discreet.accounting.objective import objective_delta
from discreet.learn.core.encoding import ONE, RowOwners, on_grid
from discreet.learn.objective import perturbation as objective
from discreet.learn.objective.minimum import (
    FARTHEST_POINT,
    FLAT,
    HALF_BITS,
    POINT_BITS,
    RIDGE_BITS,
    STEEPER,
    Perturbed,
)
from discreet.learn.objective.perturbation import (
    ObjectiveBudget,
    ObjectivePlan,
    fit_by_objective,
    gradient_caps,
    release_minimum,
    shortened,
)
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss
from discreet.noise.entropy import SYSTEM
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
DRAWS = 3000
SETTINGS = list(itertools.product([0.05, 1, 5, 30], [1e-2, 1e-6, 1e-12]))
SHAPES = list(itertools.product([1, 15, 1001], [1, 10**4, 10**8]))


def plan_of(budget, *, clip=ONE // 2, width=1, rows=20, longest=ONE, **given):
    return ObjectivePlan.of(budget, width=width, longest=longest, clip=clip, rows=rows, **given)


# The law, for one feature: θ ≤ t exactly if the noise is at least what makes t the minimum.


def pull(rows, plan, t):
    """−b for which t is the minimum; rows are (feature, label), or (feature, label, how often)."""
    total = plan.ridge / 2**RIDGE_BITS * t
    for x, label, *often in rows:
        c, sign = min(1.0, plan.clip / ONE / abs(x)), 1 - 2 * label
        total = total + sum(often, start=not often) * sign * c * expit(sign * t * x - np.log(c)) * x
    return total


def farthest(rows, plan, budget):
    """How far drawn minima are from the law of the theorem, in the largest difference of probabilities."""
    values = np.array([[x * ONE] for x, _ in rows]).reshape(-1, 1)
    labels = np.array([float(label) for _, label in rows])
    drawn = [
        release_minimum(values, labels, plan, budget, intercept=False, entropy=SYSTEM)[0]
        for _ in range(DRAWS)
    ]
    law = stats.norm.cdf(pull(rows, plan, np.sort(drawn)) / float(plan.variance) ** 0.5)
    seen = np.arange(DRAWS + 1) / DRAWS
    return max(np.abs(law - seen[1:]).max(), np.abs(law - seen[:-1]).max())


ALLOWED = (np.log(2e9) / (2 * DRAWS)) ** 0.5 + 0.03
"""Beyond the first with probability 10⁻⁹ (Dvoretzky, Kiefer, Wolfowitz, Massart); last noise adds 0.03."""
ROWS = {"nobody": [], "one": [(1.0, 1)], "several": [(1.0, 0), (-0.6, 1), (0.3, 1), (1.0, 0)]}


@pytest.mark.parametrize("rows", ROWS)
def test_the_law_of_the_code_is_that_of_the_theorem(rows):
    """Fails for no reason with probability 10⁻⁹."""
    budget = ObjectiveBudget.of(1, 1e-2, ADD)
    assert farthest(ROWS[rows], plan_of(budget), budget) <= ALLOWED


def test_half_the_noise_is_seen(monkeypatch):
    class Half(DiscreteGaussian):
        def release(self, exact, **options):
            return DiscreteGaussian(sigma_squared=self.sigma_squared / 4).release(exact, **options)

    monkeypatch.setattr(objective, "DiscreteGaussian", Half)
    budget = ObjectiveBudget.of(1, 1e-2, ADD)
    assert farthest(ROWS["one"], plan_of(budget), budget) > ALLOWED


# The divergence, for one feature: exact, by summing up densities.


def divergence(one, other, plan, epsilon, *, ridge=1.0, noise=1.0):
    """The δ at ε between the laws with and without a row, from `one` to `other`."""
    sigma = noise * float(plan.variance) ** 0.5
    strength = ridge * plan.ridge / 2**RIDGE_BITS
    t = np.linspace(-14, 14, 40_001) * sigma / strength
    step = t[1] - t[0]

    def density(rows):
        b = pull(rows, plan, t) - (1 - ridge) * plan.ridge / 2**RIDGE_BITS * t
        return stats.norm.pdf(b / sigma) / sigma * np.gradient(b, step)

    p, q = density(one), density(other)
    assert p.sum() * step == pytest.approx(1, abs=1e-3)
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum() * step)


OTHERS = [[], [(1.0, 1)], [(1.0, 0), (1.0, 1), (-1.0, 1)], [(1.0, 1, 20)], [(0.3, 1, 10)]]


def worst(epsilon, delta, clip, **mutation):
    """Over other people, labels and directions: the δ at ε, and what is stated for the objective alone."""
    budget = ObjectiveBudget.of(epsilon, delta, ADD)
    plan = plan_of(budget, clip=clip)
    pairs = [([*others, (x, y)], others) for others in OTHERS for x in (1.0, 0.4) for y in (0, 1)]
    found = max(
        divergence(first, second, plan, epsilon, **mutation)
        for pair in pairs
        for first, second in (pair, pair[::-1])
    )
    alone = {"constant": Fraction(0), "before": Fraction(0), "rho": budget.objective}
    return found, float(objective_delta(Fraction(str(epsilon)), middle=budget.epsilon / 2, **alone))


@pytest.mark.parametrize("clip", [ONE, ONE // 2, ONE // 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1, 1e-2), (1, 1e-5), (3, 1e-3)])
def test_no_neighbours_are_farther_apart_than_is_stated(epsilon, delta, clip):
    found, stated = worst(epsilon, delta, clip)
    assert found <= stated * 1.001
    assert found >= stated / 3  # and the statement is not idle


def test_too_little_noise_or_ridge_would_be_seen():
    found, stated = worst(1, 1e-2, ONE // 3, noise=0.8)
    assert found > 1.5 * stated
    found, stated = worst(0.1, 1e-3, ONE // 3, ridge=0.1)
    assert found > 2 * stated


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_no_ratio_of_densities_is_beyond_the_theorem_whatever_the_rows(epsilon):
    """At points of all sizes, with three features, from the code's own gradients and curvatures."""
    chance, budget, width = np.random.default_rng(7), ObjectiveBudget.of(epsilon, 1e-5, ADD), 3
    plan = plan_of(budget, width=width, longest=3 * ONE, clip=ONE, rows=40)
    sigma = float(plan.variance) ** 0.5
    change, nearest = float(2 * budget.objective) ** 0.5, 0.0

    def problem(values, labels):
        return Perturbed(
            values=values,
            labels=labels,
            caps=gradient_caps(values, plan.clip),
            ridge=np.full(width, plan.ridge, dtype=object),
            noise=np.zeros(width, dtype=object),
            noise_bits=0,
            farthest=np.inf,
        )

    for _ in range(400):
        count = int(chance.integers(1, 6))
        rows = chance.normal(size=(count, width)) * np.exp(chance.normal(size=(count, 1)))
        values = shortened(on_grid(rows, np.zeros(1), np.ones(1)), plan.longest)
        labels = chance.integers(0, 2, count).astype(float)
        theta = chance.normal(size=width) * np.exp(chance.uniform(-3, 7))
        point = np.array([int(each * 2**POINT_BITS) for each in theta], dtype=object)
        sides = []
        for rows_there in (count, count - 1):
            given = problem(values[:rows_there], labels[:rows_there])
            noise = -given.gradient(point).astype(float) / 2.0**given.unit_bits
            sides.append((noise, np.linalg.slogdet(given.curvature(point))[1]))
        (b_with, log_with), (b_without, log_without) = sides
        ratio = (b_without @ b_without - b_with @ b_with) / (2 * sigma**2) + log_with - log_without
        along = (1 - 2 * labels[-1]) * values[-1] / max(1.0, np.linalg.norm(values[-1])) / sigma
        constant, middle = 1e-8 * epsilon, epsilon / 2
        for lost, noise in ((ratio, float(b_with @ along)), (-ratio, -float(b_without @ along))):
            most = constant + max(middle, change**2 / 2 + change * noise)
            assert lost <= most + 1e-9
            nearest = max(nearest, lost / most)
    assert nearest > 0.9


# What the proof needs of the numbers.


def test_rounded_noise_is_as_near_to_the_discrete_law_as_is_said():
    """Σ e^(−(k − c)²/2r²) = r√(2π)·(1 ± η), and the tails of a rounding beyond 60 units."""
    with mpmath.workdps(100):
        for c in (0, 0.25, 0.5, 0.75):
            terms = {k: mpmath.exp(-((k - mpmath.mpf(c)) ** 2) / 18) for k in range(-90, 91)}
            whole = 3 * mpmath.sqrt(2 * mpmath.pi)
            assert abs(sum(terms.values()) / whole - 1) < mpmath.mpf("2e-77")
            assert sum(v for k, v in terms.items() if abs(k - c) > 60) / whole < mpmath.mpf("1e-86")


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_all_parts_of_the_budget_are_within_it(epsilon, delta, neighbours):
    budget = ObjectiveBudget.of(epsilon, delta, neighbours)
    apart = 2 / budget.scale + Fraction(1, 10**60)
    own = budget.epsilon - 2 * apart
    before = budget.before * (1 + Fraction(1, 512))
    given = {"constant": budget.epsilon / 10**8, "middle": budget.epsilon / 2}
    ideal = float(objective_delta(own, before=before, rho=budget.objective, **given))
    excluded = 1e-80 * (1 + np.exp(float(budget.epsilon)))
    assert np.exp(float(apart)) * ideal + excluded <= float(budget.delta) * (1 + 1e-9)
    stated = ApproximateLoss(epsilon=budget.epsilon, delta=budget.delta)
    group = 2 if neighbours is REPLACE else 1
    assert stated.for_group(group).epsilon <= Fraction(str(epsilon))
    assert stated.for_group(group).delta <= Fraction(str(delta)) * (1 + Fraction(1, 10**30))
    least = Fraction(2**16) / (2 * budget.before)  # σ² of what is released with the shortest reach
    assert least / (least - 9) <= 1 + Fraction(1, 512)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 1e-6), (1, 1e-5), (30, 1e-12)])
@pytest.mark.parametrize(("width", "rows"), SHAPES)
@pytest.mark.parametrize("penalty", [0.0, 1e5, 1e14])
def test_the_minimum_and_its_rounding_are_as_near_as_the_last_noise_covers(
    epsilon, delta, width, rows, penalty
):
    budget, length = ObjectiveBudget.of(epsilon, delta, ADD), 1.5 * np.sqrt(width + 1)
    longest, clip = int(length * ONE), int(length * ONE / 3)
    plan = plan_of(budget, width=width, rows=rows, longest=longest, clip=clip, penalty=penalty)
    ridge, gradient = Fraction(plan.ridge, 2**RIDGE_BITS), Fraction(1, 2) ** plan.gradient_bits
    error = Fraction(rows * longest, ONE * 2**51)
    rounding = Fraction(60 * (int(np.sqrt(width)) + 1)) / Fraction(2) ** plan.noise_bits
    assert Fraction(3, 4) * gradient + error + rounding <= gradient
    reached = error + (Fraction(rows * longest**2, 4 * ONE**2) + ridge + Fraction(penalty)) * Fraction(
        width, 2 ** (POINT_BITS + 1)
    ) / max(1, int(np.sqrt(width)))
    assert reached <= gradient / 2  # so that the search ends
    moved_squared = width * (gradient / ridge) ** 2 * 4**plan.grid_bits  # ‖·‖₁² ≤ p·‖·‖₂²
    assert moved_squared <= width**2
    assert plan.grid_bits <= POINT_BITS
    q = STEEPER * Fraction(longest * clip, ONE**2) / ridge
    assert q - budget.objective <= budget.epsilon / 2
    assert 2 * budget.objective <= budget.epsilon
    assert Fraction(FLAT) * Fraction(longest**2, ONE**2) / ridge <= budget.epsilon / 10**8
    assert plan.variance == Fraction(clip**2, ONE**2) / (2 * budget.objective)
    assert np.sqrt(width) * length <= 2**12


def test_the_last_noise_is_small_beside_what_it_covers():
    for rows, width in ((1000, 5), (10**5, 20), (10**6, 100)):
        budget = ObjectiveBudget.of(1, 1e-5, ADD)
        length = np.sqrt(width + 1)
        plan = plan_of(
            budget, width=width, rows=rows, longest=int(1.5 * length * ONE), clip=int(length * ONE)
        )
        last = width * float(budget.scale) * 2.0**-plan.grid_bits
        assert last <= 0.25 / np.sqrt(rows)


def test_noise_beyond_64_bits_is_not_cut_off(monkeypatch):
    """|b| is below 2⁶³ units with probability 10⁻⁴ in each of six coordinates: all are, with 10⁻²⁴."""
    budget = ObjectiveBudget.of(1, 1e-5, ADD)
    plan = replace(plan_of(budget, width=6), gradient_bits=66)
    drawn = []

    def noted(problem, _):
        drawn.append(problem.noise)
        return np.array([2**70] * 6, dtype=object)

    monkeypatch.setattr(objective, "minimise", noted)
    values, labels = np.zeros((0, 6)), np.zeros(0)
    found = release_minimum(values, labels, plan, budget, intercept=False, entropy=SYSTEM)
    assert max(abs(each) for each in drawn[0]) > 2**63
    assert found == pytest.approx(2.0**18, rel=0.1)


def test_the_last_noise_is_what_the_account_says(monkeypatch):
    scales = []

    class Seen(DiscreteLaplace):
        def release(self, exact, **options):
            scales.append(self.scale)
            return super().release(exact, **options)

    monkeypatch.setattr(objective, "DiscreteLaplace", Seen)
    budget = ObjectiveBudget.of(2, 1e-6, ADD)
    plan = plan_of(budget, width=7)
    objective.release_point(np.array([0] * 7, dtype=object), plan, budget, SYSTEM)
    assert 2 * 7 / scales[0] == budget.epsilon / 200


# What one row can do, in whole numbers.


def test_every_row_is_within_its_length_and_every_gradient_within_the_clip():
    grid = [-32.0, -1.0, -0.3, 0.0, 1e-3, 0.5, 1.0, 7.0]
    rows = np.array(list(itertools.product(grid, repeat=3)))
    values = on_grid(rows, np.zeros(1), np.ones(1))
    for longest, clip in ((ONE, ONE // 3), (3 * ONE + 1, ONE), (40 * ONE, 7 * ONE)):
        short = shortened(values, longest)
        caps = gradient_caps(short, clip)
        for row, cap in zip(short, caps, strict=True):
            square = sum(int(each) ** 2 for each in row)
            assert square <= longest**2
            assert int(cap) ** 2 * square <= (clip * 2**HALF_BITS) ** 2
            assert 0 < cap <= 2**HALF_BITS
            assert cap * longest >= 0.999 * clip * 2**HALF_BITS or cap == 2**HALF_BITS
        alone = np.vstack([shortened(values[i : i + 1], longest) for i in range(len(values))])
        assert (alone == short).all()
        each = [gradient_caps(short[i : i + 1], clip)[0] for i in range(len(values))]
        assert (np.array(each) == caps).all()


def test_a_row_that_does_not_count_changes_nothing():
    """The labels that are not declared have weight 0; with the same noise the fit is the same."""

    class Words:
        def __init__(self):
            self.chance = np.random.default_rng(5)

        def words(self, count):
            return self.chance.integers(0, 2**64, count, dtype=np.uint64)

    x = np.array([[0.5], [-0.2], [0.9]])
    fits = [
        fit_by_objective(
            x[:count],
            np.array([1.0, 0.0, 1.0])[:count],
            RowOwners(weights=np.array([1.0, 1.0, 0.0])[:count], rows_per_person=1),
            ObjectiveBudget.of(1, 1e-5, ADD),
            marks=np.zeros(1, dtype=np.bool_),
            entropy=Words(),
        )
        for count in (2, 3)
    ]
    assert fits[0].coefficients == fits[1].coefficients
    assert fits[0].intercept == fits[1].intercept


@pytest.mark.parametrize("intercept", [True, False])
def test_a_whole_fit_minimises_what_the_plan_is_for(monkeypatch, intercept):
    """Lengths, caps, ridge, noise, tolerance and what the moments may spend, as they meet in a fit."""
    seen = {}

    def noted(name, honest):
        def call(*given, **options):
            seen[name] = given, options
            return honest(*given, **options)

        return call

    for name in ("FitAccount", "Perturbed", "minimise", "release_minimum", "DiscreteGaussian"):
        monkeypatch.setattr(objective, name, noted(name, getattr(objective, name)))
    x = np.array([[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [0.2, -0.1, 1.0], [-1.0, 1.0, 0.0]] * 5)
    labels, budget = np.arange(20.0) % 2, ObjectiveBudget.of(1, 1e-5, ADD)
    marks, people = np.array([False, False, True]), RowOwners(weights=np.ones(20), rows_per_person=1)
    fit_by_objective(x, labels, people, budget, marks=marks, penalty=0.5, intercept=intercept)
    plan, problem = seen["release_minimum"][0][2], seen["Perturbed"][1]
    assert seen["FitAccount"][0][0] == ConcentratedLoss(rho=budget.before, delta=Fraction(0))
    assert plan.rows >= 20
    assert plan.clip >= plan.longest / 4
    assert len(problem["values"]) == 20
    assert (problem["labels"] == labels).all()
    for row, cap in zip(problem["values"], problem["caps"], strict=True):
        square = sum(int(each) ** 2 for each in row)
        assert square <= plan.longest**2
        assert int(cap) ** 2 * square <= (plan.clip * 2**HALF_BITS) ** 2
    assert min(problem["ridge"]) >= plan.ridge
    assert problem["noise_bits"] == plan.noise_bits
    grid = seen["DiscreteGaussian"][1]["sigma_squared"]
    assert grid - 9 == plan.variance * 4**plan.noise_bits
    assert seen["minimise"][0][1] <= 0.75 * 2.0**-plan.gradient_bits
    assert problem["farthest"] * plan.longest <= FARTHEST_POINT * ONE * (1 + 1e-12)


def test_there_are_never_more_rows_than_the_noisy_count_allows():
    """Each of 2,000 counts is too small with probability e⁻²⁰⁰."""
    from discreet.learn.core.account import FitAccount

    for rows in (0, 1, 50):
        for _ in range(700):
            account = FitAccount(
                ConcentratedLoss(rho=Fraction(1, 100), delta=Fraction(0)), neighbours=Neighbours.ADD_REMOVE
            )
            assert (
                objective._release_rows_at_most(
                    RowOwners(weights=np.ones(rows), rows_per_person=1), account, Fraction(1, 16)
                )
                >= rows
            )
