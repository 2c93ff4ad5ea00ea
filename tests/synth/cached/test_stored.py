"""Readings as text, and back."""

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.noise.gaussian import DiscreteGaussian
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.cached.reading_text import as_text, from_text
from discreet.synth.cached.readings import Reading
from discreet.synth.cached.strategy import FromCache, Online
from discreet.synth.core.domain import Domain
from tests.synth.cached.test_online import BOTH, CONFIDENCE, DOMAIN, ask, some_ranges


@BOTH
def test_a_cache_that_was_stored_is_the_same(pricing):
    online, readings = Online(DOMAIN, pricing), []
    for question in [*some_ranges(80), CountingQuestion.where(DOMAIN, {})]:
        ask(online, question, readings=readings)
    texts = [as_text(reading) for reading in readings]
    again = Online(DOMAIN, pricing, [from_text(text, DOMAIN) for text in texts])
    assert [as_text(from_text(text, DOMAIN)) for text in texts] == texts
    for question in some_ranges(80):
        assert isinstance(again.decide(question, within=100, confidence=CONFIDENCE), FromCache)
        assert again.answer(question).value == online.answer(question).value


def table(**changes):
    reading = Reading(
        attributes=(0, 1),
        levels=(1, 2),
        mask=None,
        noise=DiscreteGaussian(sigma_squared=Fraction(7, 3)),
        counts=np.arange(54),
    )
    return json.dumps({**json.loads(as_text(reading)), **changes})


def test_fractions_are_kept_exactly():
    assert from_text(table(), DOMAIN).noise.sigma_squared == Fraction(7, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"attributes": [0, 5]},
        {"attributes": [0]},
        {"levels": [1, 9]},
        {"levels": [1, -1]},
        {"levels": [1, "2"]},
        {"levels": None},
        {"counts": [1, 2]},
        {"counts": ["x"] * 54},
        {"counts": [2**70] * 54},
        {"noise": ["gaussian", "0"]},
        {"noise": ["other", "1"]},
        {"noise": None},
        {"levels": None, "mask": "!!", "counts": [1]},
        {"levels": None, "mask": "AA==", "counts": [1]},
    ],
)
def test_what_is_damaged_is_refused(changes):
    with pytest.raises(InvalidInput):
        from_text(table(**changes), DOMAIN)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "x"])
def test_what_is_no_reading_is_refused(text):
    with pytest.raises(InvalidInput):
        from_text(text, DOMAIN)


def test_another_domain_is_refused():
    with pytest.raises(InvalidInput):
        from_text(table(), Domain(sizes=(6, 90, 3)))
