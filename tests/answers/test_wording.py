"""Numbers say no more than their error allows, and keys cannot play tricks."""

import math
from datetime import datetime
from fractions import Fraction

import pytest

from discreet.answers.wording import (
    charge_text,
    confidence_text,
    cut_text,
    epsilon_beside,
    full_charge_text,
    key_text,
    measure_text,
    price_text,
)
from discreet.model.privacy import ConcentratedLoss, PureLoss

from .examples import by_ward


@pytest.mark.parametrize(
    ("value", "low", "high", "number", "error"),
    [
        (497, 491, 503, "497", "± 6"),
        (497.3, 491.3, 503.3, "497", "± 6"),
        (49.3149, 47.8149, 50.8149, "49.3", "± 1.5"),
        (0.51234, 0.50234, 0.52234, "0.512", "± 0.010"),
        (38.4, 15.4, 61.4, "38", "± 23"),
        (5234567, 4434567, 6034567, "5,230,000", "± 800,000"),
        (5234567.8, 5234567.8 - 1234, 5234567.8 + 1234, "5,234,600", "± 1,200"),
        (-0.2, -6.2, 5.8, "0", "± 6"),
        (1e-12, -6.0, 6.0, "0", "± 6"),
        (-4, -10, 2, "−4", "± 6"),
        (500, 499.7, 500.3, "500", "± 0.3"),
        (0, -3, 9, "0", "(−3 … 9)"),
        (0.0, 2.0, 9.0, "0", "(2 … 9)"),
        (12.0, 9.0, math.inf, "12", "(9 … ∞)"),
        (12.0, -math.inf, 15.0, "12", "(−∞ … 15)"),
        (12.0, -math.inf, math.inf, "12", "(−∞ … ∞)"),
        (12.0, math.nan, math.nan, "12", ""),
        (None, math.nan, math.nan, "–", ""),
        (None, 3.0, 9.0, "–", "(3 … 9)"),
        (1234.5, math.nan, math.nan, "1,234.5", ""),
        (7, 7.0, 7.0, "7", ""),
        (1e30, 1e30 - 1e29, 1e30 + 1e29, "1e+30", "± 1e+29"),
        (1e-30, 0.5e-30, 1.5e-30, "1e−30", "± 5e−31"),
        (5.0, 5 - 2**-46, 5 + 2**-46, "5", "± 1.42109e−14"),
    ],
)
def test_numbers_are_rounded_to_their_error(value, low, high, number, error):
    assert measure_text(value, low, high) == (number, error)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (None, "∅"),
        ("", '""'),
        ("é😀 x", "é😀 x"),
        ("\x1b[31mred\n\u202e\0", "\\x1b[31mred\\n\\u202e\\x00"),
        ("\ud800", "\\ud800"),
        (True, "true"),
        (2024, "2024"),
        (0.1, "0.1"),
        (datetime(2020, 1, 2, 3), "2020-01-02 03:00:00"),
    ],
)
def test_keys_are_shown_on_one_line_in_printable_characters(key, shown):
    assert key_text(key) == shown


def test_confidence_is_never_rounded_to_certainty():
    assert confidence_text(0.95) == "95 %"
    assert confidence_text(0.999999999) == "99.9999999 %"
    assert confidence_text(1e-06) == "0.0001 %"


PURE = PureLoss(epsilon=Fraction(1, 3))
CONCENTRATED = ConcentratedLoss(rho=Fraction(1, 3), delta=Fraction(1, 10**6))


def test_a_loss_is_told_in_its_own_currency():
    assert [charge_text(loss) for loss in (PURE, CONCENTRATED)] == ["ε = 0.3333", "ρ = 0.3333"]
    assert full_charge_text(PURE) == "ε = 0.333333"
    assert full_charge_text(CONCENTRATED) == "ρ = 0.333333, δ = 0.000001"
    assert epsilon_beside(PURE, 1 / 3) == ""
    assert epsilon_beside(CONCENTRATED, 2.34567) == " (ε = 2.346)"
    assert epsilon_beside(CONCENTRATED, 2.34567, digits=3) == " (ε = 2.35)"


def test_a_price_says_what_is_left():
    receipt = by_ward().receipt
    assert price_text(PURE, CONCENTRATED, receipt) == "Cost ε = 0.3333; ρ = 0.3333 left. Receipt 7."
    assert (
        price_text(PURE, PURE, receipt, free="Asked before: free") == "Asked before: free; ε = 0.3333 left."
    )


def test_a_long_text_is_cut():
    assert [cut_text(text, 3) for text in ("abc", "abcd", "")] == ["abc", "ab…", ""]
