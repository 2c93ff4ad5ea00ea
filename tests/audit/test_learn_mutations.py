"""Break what models are made of, and see the audit notice, each time in the layer that ought to.

Detection probabilities: the layer law is deterministic. Half the noise is missed by a black box with
probability below 10⁻⁶ (the binomial law of its counts, at the efficiency that the canary was measured to
have), and by a fit with probability below 10⁻²⁰.
"""

from dataclasses import replace
from math import isqrt

import numpy as np
import pytest

from discreet.audit import canaries, learn_claims
from discreet.audit.statistics import EPSILON_ALARM, gaussian_lower_bound, guesses_lower_bound
from discreet.learn.core import account, moments
from discreet.learn.core.encoding import ONE, EncodedRows
from discreet.learn.descent import generalized_linear as fitting
from discreet.learn.descent import gradient
from discreet.learn.descent import own_loss as own
from discreet.learn.descent.gradient import ClippedGradient
from discreet.learn.least_squares import sufficient_statistics as statistics
from discreet.learn.objective import perturbation as objective
from discreet.model.neighbours import Neighbours
from discreet.noise.binomial import clopper_pearson
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from tests.audit.test_mutations import failed_layers


class HalfLaplace(DiscreteLaplace):
    def release(self, exact, **options):
        return DiscreteLaplace(scale=self.scale / 2).release(exact, **options)


class HalfGaussian(DiscreteGaussian):
    def release(self, exact, **options):
        return DiscreteGaussian(sigma_squared=self.sigma_squared / 4).release(exact, **options)


HALF = {"Laplace": HalfLaplace, "Gaussian": HalfGaussian}
CANARIES = [canary.name for canary in canaries.registered_canaries()]


@pytest.mark.parametrize("name", CANARIES)
def test_half_the_noise_in_a_whole_fit(name, monkeypatch):
    noise = name.split()[-1]
    monkeypatch.setattr(account, f"Discrete{noise}", HALF[noise])
    assert failed_layers(name) == {"black box"}


@pytest.mark.parametrize("noise", HALF)
def test_half_the_noise_in_one_step(noise, monkeypatch):
    monkeypatch.setattr(account, f"Discrete{noise}", HALF[noise])
    assert "fit" in failed_layers(f"Learning: one step, {noise}")


def test_half_the_noise_in_an_objective(monkeypatch):
    monkeypatch.setattr(objective, "DiscreteGaussian", HalfGaussian)
    assert "fit" in failed_layers("Learning: objective perturbation")


def test_an_objective_with_noise_for_twice_its_budget(monkeypatch):
    honest = objective.ObjectiveBudget.objective.fget
    monkeypatch.setattr(objective.ObjectiveBudget, "objective", property(lambda self: 2 * honest(self)))
    assert "law" in failed_layers("Learning: objective perturbation")


def test_a_coordinate_without_noise(monkeypatch):
    honest = account.FitAccount.release

    def skips_the_first(self, exact, **options):
        noisy = honest(self, exact, **options)
        noisy[0] = exact[0]
        return noisy

    monkeypatch.setattr(account.FitAccount, "release", skips_the_first)
    assert "fit" in failed_layers("Learning: one step, Gaussian")


def test_replace_one_confused_with_add_remove(monkeypatch):
    honest = account._sensitivity

    def confused(size, reach, order, neighbours):
        return replace(honest(size, reach, order, Neighbours.ADD_REMOVE), neighbours=neighbours)

    monkeypatch.setattr(account, "_sensitivity", confused)
    for name in names("replace"):
        assert failed_layers(name) == {"law"}, name


def names(*parts):
    return [check.name for check in learn_claims.fit_checks() if all(part in check.name for part in parts)]


def test_an_account_that_buys_twice_what_it_charges(monkeypatch):
    def cheap(kind):
        class Cheap(kind):
            @classmethod
            def for_loss(cls, loss, sensitivity):
                return kind.for_loss(2 * loss, sensitivity)

        return Cheap

    for noise, kind in (("Laplace", DiscreteLaplace), ("Gaussian", DiscreteGaussian)):
        monkeypatch.setattr(account, f"Discrete{noise}", cheap(kind))
    for name in names():
        assert failed_layers(name) == {"law"}, name


def test_people_with_many_rows_who_are_not_weighed(monkeypatch):
    monkeypatch.setattr(learn_claims, "person_weights", lambda groups, count, most: np.ones(count))
    for fit in ("logistic, Laplace", "logistic, Gaussian", "products, Laplace", "products, Gaussian"):
        name, _ = names(fit)
        assert failed_layers(name) >= {"law"}, name


def test_gradients_that_are_not_clipped(monkeypatch):
    monkeypatch.setattr(ClippedGradient, "_clip_one", lambda self, residuals, part: np.rint(residuals))
    monkeypatch.setattr(ClippedGradient, "_clip_many", lambda self, residuals, part: np.rint(residuals))
    for name in names("descent"):
        if "own" not in name:
            assert failed_layers(name) == {"law"}, name


def test_gradients_that_are_cut_in_the_other_norm(monkeypatch):
    honest = ClippedGradient.of
    monkeypatch.setattr(
        fitting.ClippedGradient, "of", lambda *data, clip, order: honest(*data, clip=clip, order=2)
    )
    assert failed_layers("Learning: descent, logistic, Laplace") == {"law"}


def test_factors_that_are_rounded_up(monkeypatch):
    honest = EncodedRows.caps
    monkeypatch.setattr(EncodedRows, "caps", lambda self, reach, order: honest(self, reach, order) + 1)
    assert failed_layers("Learning: descent, Poisson, Laplace") == {"law"}


def test_a_histogram_of_lengths_that_counts_rows_and_not_people(monkeypatch):
    honest = moments.release_usual_length

    def counts_rows(lengths, longest, rows, *paid):
        return honest(lengths, longest, replace(rows, weights=np.ones(len(rows.weights))), *paid)

    monkeypatch.setattr(moments, "release_usual_length", counts_rows)
    assert failed_layers("Learning: descent, squares, Gaussian") == {"law"}


@pytest.mark.parametrize("order", [1, 2])
def test_products_whose_norm_leaves_out_the_diagonal(order, monkeypatch):
    short = {1: lambda length: (length**2 - ONE * length) // 2, 2: lambda length: isqrt(length**2 // 2)}
    monkeypatch.setattr(statistics, "norm", lambda length, _: short[order](length))
    assert failed_layers(f"Learning: sums of products, {('Laplace', 'Gaussian')[order - 1]}") == {"law"}


def test_products_of_long_rows_that_are_not_shortened(monkeypatch):
    monkeypatch.setattr(statistics, "factor", lambda length, end, order: statistics.FACTOR_ONE)
    assert failed_layers("Learning: sums of products") == {"law"}


def test_own_gradients_that_are_clipped_without_their_weight(monkeypatch):
    honest = own.on_clipped_grid
    monkeypatch.setattr(
        learn_claims,
        "on_clipped_grid",
        lambda gradients, weights, *clip: honest(gradients, np.ones(len(weights)), *clip),
    )
    assert failed_layers("Learning: descent, own gradient") == {"law"}


def test_a_step_that_divides_by_what_is_in_the_data(monkeypatch):
    """Other people's rows would change what one person adds."""
    honest = gradient.ClippedGradient.sum

    def normalised(self, weights, rows=None):
        return honest(self, weights, rows) * 2 // max(1, len(self.targets))

    monkeypatch.setattr(gradient.ClippedGradient, "sum", normalised)
    assert failed_layers("Learning: descent, logistic, Laplace") == {"law"}


def test_bounds_from_nothing_say_nothing():
    assert guesses_lower_bound(0, 0) == -np.inf
    assert guesses_lower_bound(0, 50) == -np.inf
    assert gaussian_lower_bound(0, 0, 100) == 0
    assert gaussian_lower_bound(100, 100, 100) == 0
    assert gaussian_lower_bound(20, 80, 100) == 0


def test_guesses_of_tosses_with_the_largest_odds_prove_no_more_than_these():
    """Nor more than the share of right ones would."""
    for right in (600, 700, 760, 800):
        low, _ = clopper_pearson(right, 1000, EPSILON_ALARM)
        assert guesses_lower_bound(right, 1000) == pytest.approx(np.log(low / (1 - low)))
        assert guesses_lower_bound(right, 1000) < np.log(right / (1000 - right))


def test_gaussian_counts_prove_nearly_their_rho_when_there_are_many():
    """Counts of N(±1, 1) above 0 are Φ(±1) of all: ρ = 2."""
    above = 841_345
    assert 1.95 < gaussian_lower_bound(above, 10**6 - above, 10**6) < 2
