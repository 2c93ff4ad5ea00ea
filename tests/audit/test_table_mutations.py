"""Break profiles, and the estimate of what limits leave out, and see the audit notice in the right layer.

Detection probabilities: the layers sensitivity and law are deterministic. The breaks below move the statistic
of a fit by more than ten standard deviations past its limit, so that a missed detection has probability
below 10⁻²⁰.
"""

from fractions import Fraction

import pytest

from discreet.aggregates.joint import JointSum
from discreet.aggregates.vectors import LeftOut
from discreet.aggregates.weights import Weight
from discreet.bounds import calibrate, split_price
from discreet.model.privacy import share_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise import gaussian, laplace, sampling
from discreet.noise.additive import additive
from discreet.profile import profile_plan
from discreet.release import draw
from discreet.sql import added_values, emit, profile, weights
from tests.audit.test_mutations import failed_layers, scaled

EACH = ["Laplace", "Laplace, replace", "Gaussian", "Gaussian, replace"]
LIMITS = ["rows", "rows by group", "groups", "clamped"]


def failed_in_all(name, noises=EACH):
    """The layers in which every one of these checks fails."""
    return set.intersection(*(failed_layers(f"{name}, {noise}") for noise in noises))


# Noise


def test_a_profile_with_half_the_noise(monkeypatch):
    monkeypatch.setattr(
        profile_plan, "additive", lambda loss, sensitivity: additive(share_of(loss, Fraction(2)), sensitivity)
    )
    assert "law" in failed_in_all("Profile: histograms")
    assert failed_layers("Profile: a person comes, Laplace") >= {"law", "black box"}


def test_half_the_noise_on_who_is_left_out(monkeypatch):
    honest = calibrate._mechanism

    def quiet(part, spend, bounded):
        doubled = share_of(spend, Fraction(4)) if isinstance(part, LeftOut) else spend
        return honest(part, doubled, bounded)

    monkeypatch.setattr(calibrate, "_mechanism", quiet)
    for limit in (*LIMITS, "values"):
        assert "law" in failed_in_all(f"Left out: {limit}", ["Laplace", "Gaussian"])


@pytest.mark.parametrize(("module", "name"), [(laplace, "discrete_laplace"), (gaussian, "discrete_gaussian")])
def test_a_sampler_with_half_the_noise(monkeypatch, module, name):
    law = "Laplace" if module is laplace else "Gaussian"
    monkeypatch.setattr(module, name, scaled(getattr(sampling, name), Fraction(1, 4)))
    assert "fit" in failed_layers(f"Profile: a person comes, {law}")
    assert "fit" in failed_layers(f"Left out: a person with many rows comes, {law}")


def test_people_who_are_left_out_get_no_noise(monkeypatch):
    monkeypatch.setattr(draw, "_release_people", lambda plan, part, exact: exact.left_out[part])
    assert "fit" in failed_layers("Left out: a person with many rows comes, Laplace")
    assert "fit" in failed_layers("Left out: values move")


# Prices


def test_every_histogram_of_a_profile_is_paid_with_the_whole_price(monkeypatch):
    monkeypatch.setattr(profile_plan, "share_of", lambda loss, share: loss)
    assert "law" in failed_in_all("Profile: histograms")


def test_sums_have_all_of_the_price_and_who_is_left_out_comes_on_top(monkeypatch):
    honest = split_price.split

    def generous(bounded, **options):
        shares = honest(bounded, **options)
        lost = [share for share, part in zip(shares, bounded.parts, strict=True) if isinstance(part, LeftOut)]
        kept = 1 - sum(lost)
        return [share / kept for share in shares[: len(shares) - len(lost)]] + lost

    monkeypatch.setattr(calibrate, "split", generous)
    for limit in (*LIMITS, "values"):
        assert "law" in failed_in_all(f"Left out: {limit}", ["Laplace", "Gaussian"])


def test_replace_one_confused_with_add_remove(monkeypatch):
    def confused(cls, neighbours, *, max_rows=1):
        return cls(neighbours=neighbours, l0=max_rows, linf=max_rows, l1=max_rows, l2_squared=max_rows**2)

    monkeypatch.setattr(Sensitivity, "histogram", classmethod(confused))
    assert failed_in_all("Profile: histograms", ["Laplace, replace", "Gaussian, replace"]) == {
        "sensitivity",
        "law",
    }
    assert failed_layers("Profile: a person is another") >= {"law"}
    for limit in (*LIMITS, "values"):
        assert "sensitivity" in failed_in_all(f"Left out: {limit}", ["Laplace, replace", "Gaussian, replace"])


# Vectors that are measured together


TOGETHER = ["Together: cells", "Together: polynomials"]
IN_CELLS = {"Together: cells": EACH, "Together: polynomials": ["Laplace", "Laplace, replace"]}
"""With Gaussian noise, the polynomials are in one cell."""


@pytest.mark.parametrize("name", TOGETHER)
def test_half_the_noise_on_what_is_measured_together(monkeypatch, name):
    honest = calibrate._mechanism

    def quiet(part, spend, bounded):
        doubled = share_of(spend, Fraction(4)) if isinstance(part, JointSum) else spend
        return honest(part, doubled, bounded)

    monkeypatch.setattr(calibrate, "_mechanism", quiet)
    assert "law" in failed_in_all(name, ["Laplace", "Gaussian"])


@pytest.mark.parametrize("name", TOGETHER)
def test_a_row_is_in_every_cell(monkeypatch, name):
    monkeypatch.setattr(added_values, "_is_known_by_value", lambda family: True)
    assert "law" in failed_in_all(name, IN_CELLS[name])


@pytest.mark.parametrize("name", TOGETHER)
def test_rows_have_no_weight_where_they_are_measured_together(monkeypatch, name):
    monkeypatch.setattr(weights, "weight_sql", lambda weight, n, dialect: str(weight.whole))
    assert failed_in_all(name) == {"law"}


def test_who_is_replaced_stays_in_the_same_cell(monkeypatch):
    honest = Weight.sensitivity

    def confused(self, neighbours, **settings):
        return honest(self, neighbours, **{**settings, "shared": False})

    monkeypatch.setattr(Weight, "sensitivity", confused)
    assert "law" in failed_in_all("Together: polynomials", ["Laplace, replace", "Gaussian, replace"])


def test_a_polynomial_that_is_twice_as_large(monkeypatch):
    honest = added_values._function
    monkeypatch.setattr(added_values, "_function", lambda part, q: f"2 * ({honest(part, q)})")
    assert "law" in failed_in_all("Together: polynomials")


# People in bins


def test_a_person_is_in_a_bin_of_a_profile_for_every_ward(monkeypatch):
    honest = profile.profile_sql

    def by_ward(*arguments):
        sql = honest(*arguments)
        assert "GROUP BY p)" in sql
        return sql.replace("GROUP BY p)", "GROUP BY p, c0)")

    monkeypatch.setattr(profile_plan, "profile_sql", by_ward)
    assert failed_in_all("Profile: histograms") == {"sensitivity", "law"}


def test_a_person_is_in_two_bins_of_a_profile(monkeypatch):
    """Who has three rows or more is in a bin further up, too."""

    def twice(place, leaf):
        placed = f"SELECT {leaf} AS leaf FROM people"
        if place == 0:
            placed += " UNION ALL SELECT 30 FROM people WHERE n0 > 2"
        return f"SELECT {place} AS h, leaf, count(*) AS s0 FROM ({placed}) AS placed GROUP BY leaf"

    monkeypatch.setattr(profile, "_histogram", twice)
    assert failed_in_all("Profile: histograms") == {"sensitivity", "law"}


@pytest.mark.parametrize("limit", [*LIMITS, "values"])
def test_who_is_left_out_is_also_in_the_first_bin(monkeypatch, limit):
    honest = weights.people_by_loss

    def twice(part, index, dialect, people="people"):
        most = weights.most_of_whole(part.weight)
        heavy = f"SELECT 0 AS bin, count(*) AS s{index} FROM people WHERE n > {most}"
        return f"{honest(part, index, dialect, people)} UNION ALL {heavy}"

    monkeypatch.setattr(weights, "people_by_loss", twice)
    monkeypatch.setattr(emit, "people_by_loss", twice)
    assert failed_in_all(f"Left out: {limit}") >= {"sensitivity"}
    assert "law" in failed_in_all(f"Left out: {limit}", ["Laplace", "Gaussian"])


def test_people_with_values_beyond_the_bounds_are_counted_twice(monkeypatch):
    honest = weights.people_by_loss

    def counted_twice(part, index, dialect, people="people"):
        return honest(part, index, dialect, f"(SELECT * FROM {people} UNION ALL SELECT * FROM {people}) AS t")

    monkeypatch.setattr(weights, "people_by_loss", counted_twice)
    assert failed_in_all("Left out: clamped") >= {"sensitivity"}


# Weights


@pytest.mark.parametrize("limit", LIMITS)
def test_a_weight_that_is_not_bounded(monkeypatch, limit):
    monkeypatch.setattr(weights, "weight_sql", lambda weight, n, dialect: str(weight.whole))
    assert failed_in_all(f"Left out: {limit}") == {"law"}
