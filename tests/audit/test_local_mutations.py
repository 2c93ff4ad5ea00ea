"""Break what devices run, and see the audit notice, each time in the layer that ought to.

Detection probabilities: sampler and law are deterministic. The breaks below move the statistics of fit and
black box by more than ten standard deviations past their limits: a miss has probability below 10⁻²⁰.
"""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.local import client
from discreet.local.mechanisms import hadamard, number, projective, subset
from discreet.local.mechanisms import randomness as draws
from discreet.local.mechanisms.subset import SubsetSelection
from tests.audit.test_mutations import failed_layers

MODULES = {
    "Subset selection": subset,
    "Projective geometry": projective,
    "Hadamard response": hadamard,
}


@pytest.mark.parametrize("title", MODULES)
def test_a_threshold_that_is_rounded_up(monkeypatch, title):
    honest = MODULES[title].keep_threshold
    monkeypatch.setattr(MODULES[title], "keep_threshold", lambda *arguments: honest(*arguments) + 1)
    assert failed_layers(f"{title}: keep") == {"sampler"}
    assert failed_layers(f"{title}: one of") == {"law"}


@pytest.mark.parametrize("title", MODULES)
def test_a_threshold_for_twice_the_loss(monkeypatch, title):
    honest = MODULES[title].keep_threshold
    monkeypatch.setattr(MODULES[title], "keep_threshold", lambda epsilon, *sizes: honest(2 * epsilon, *sizes))
    assert failed_layers(f"{title}: one of") >= {"law", "fit", "black box"}


def test_a_number_that_costs_twice_what_it_states(monkeypatch):
    honest = number.keep_threshold
    monkeypatch.setattr(number, "keep_threshold", lambda epsilon, *sizes: honest(2 * epsilon, *sizes))
    assert failed_layers("Number: one bit") >= {"law", "fit", "black box"}
    assert failed_layers("Number: hybrid") >= {"law", "fit", "black box"}


def test_a_client_that_keeps_more_often_than_its_threshold(monkeypatch):
    honest = SubsetSelection.randomise

    def eager(self, answer, source):
        return honest(replace(self, keep=min(self.keep + 2**44, 2**48 - 1)), answer, source)

    monkeypatch.setattr(SubsetSelection, "randomise", eager)
    assert failed_layers("Subset selection: keep") == {"sampler"}
    assert failed_layers("Subset selection: yes or no") == {"fit", "black box"}


def test_random_bytes_of_which_one_is_always_zero(monkeypatch):
    honest = draws.Draws.integer
    monkeypatch.setattr(draws.Draws, "integer", lambda self: honest(self) & ~(0xFF << 40))
    assert "fit" in failed_layers("Hadamard response: one of 5")


def test_choices_that_are_not_all_alike(monkeypatch):
    honest = draws.Draws.below
    monkeypatch.setattr(draws.Draws, "below", lambda self, bound: honest(self, bound + 1) % bound)
    assert "fit" in failed_layers("Projective geometry: one of 13")


def test_a_device_that_forgets(monkeypatch):
    honest = client.Client._remembered

    def forgetful(self, memory, survey, question, level):
        memory["reports"].clear()
        memory["spent"] = 0
        return honest(self, memory, survey, question, level)

    monkeypatch.setattr(client.Client, "_remembered", forgetful)
    assert failed_layers("Device: asked three times") >= {"fit"}


def test_odds_that_are_stated_too_low(monkeypatch):
    monkeypatch.setattr(SubsetSelection, "odds", property(lambda self: Fraction(3, 2)))
    assert failed_layers("Subset selection: yes or no") == {"law"}
