"""The histogram: what it guesses from tables, from questions, and from nothing."""

import numpy as np
import pytest

from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.synth.domain import Domain
from discreet.synth.online.histogram import Histogram
from discreet.synth.online.levels import coarser, radices
from discreet.synth.online.question import Question
from discreet.synth.online.readings import Pricing, Reading

DOMAIN = Domain(sizes=(6, 8, 3))
TABLE, SINGLE = Sensitivity.histogram(Neighbours.ADD_REMOVE), Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
PRICING = Pricing(concentrated=False, table=TABLE, single=SINGLE)
FINE = PRICING.single_noise(0.02)  # noise that is hardly ever anything but 0
COUNTS = np.random.default_rng(7).integers(0, 400, DOMAIN.sizes)
PEOPLE = float(COUNTS.sum())
RANGE = Question.where(DOMAIN, {0: [1, 2], 1: range(3, 7), 2: [0, 2]})


def margin(attributes):
    return COUNTS.sum(axis=tuple(a for a in range(3) if a not in attributes))


def table_of(attributes, levels=None):
    levels = levels or tuple(len(radices(DOMAIN.sizes[a])) for a in attributes)
    counts = coarser(margin(attributes), levels).reshape(-1)
    return Reading(attributes=attributes, levels=levels, mask=None, noise=FINE, counts=counts)


def reading_of(question):
    counts = np.array([question.count(margin(question.attributes))])
    return Reading(attributes=question.attributes, levels=None, mask=question.mask, noise=FINE, counts=counts)


def guessed(readings, question=RANGE, people=PEOPLE):
    histogram = Histogram(DOMAIN, PRICING)
    histogram.learn(readings)
    return histogram.guess(question, people)


def test_before_anything_is_read_all_records_are_alike():
    assert guessed([]) == pytest.approx(PEOPLE * 2 * 4 * 2 / DOMAIN.cells)


def test_from_tables_of_one_column_columns_have_nothing_to_do_with_each_other():
    shares = [
        margin((a,))[list(values)].sum() / PEOPLE for a, values in enumerate(([1, 2], range(3, 7), [0, 2]))
    ]
    assert guessed([table_of((a,)) for a in range(3)]) == pytest.approx(PEOPLE * np.prod(shares), rel=1e-3)


@pytest.mark.parametrize("levels", [None, (1, 2), (2, 1), (0, 2), (1, 0)])
def test_a_table_is_met_at_its_own_resolution(levels):
    """Eight values are nine, as three times three: one cell is made up, and nobody is in it."""
    levels = levels or tuple(len(radices(size)) for size in DOMAIN.sizes[:2])
    histogram = Histogram(DOMAIN, PRICING)
    histogram.learn([table_of((0, 1), levels)])
    for values in np.ndindex(6, 8):
        widths = [int(np.prod(radices(size)[level:])) for size, level in zip((6, 8), levels, strict=True)]
        cell = {
            axis: [v for v in range(size) if v // width == value // width]
            for axis, (size, width, value) in enumerate(zip((6, 8), widths, values, strict=True))
        }
        question = Question.where(DOMAIN, cell)
        exact = question.count(margin(question.attributes))
        assert histogram.guess(question, PEOPLE) == pytest.approx(exact, rel=0.01, abs=2)


def test_the_whole_table_answers_everything():
    for question in (RANGE, Question.where(DOMAIN, {1: [5]}), Question.where(DOMAIN, {})):
        exact = question.count(margin(question.attributes))
        assert guessed([table_of((0, 1, 2))], question) == pytest.approx(exact, rel=1e-3)


def test_a_question_that_was_paid_is_known():
    exact = RANGE.count(COUNTS)
    assert guessed([reading_of(RANGE)]) == pytest.approx(exact, rel=0.02)
    assert guessed([table_of((0,)), table_of((1,)), reading_of(RANGE)]) == pytest.approx(exact, rel=0.02)


def test_what_is_read_later_is_taken_in():
    histogram = Histogram(DOMAIN, PRICING)
    histogram.learn([table_of((0,))])
    before = histogram.guess(RANGE, PEOPLE)
    histogram.learn([table_of((0, 1, 2))])
    after = histogram.guess(RANGE, PEOPLE)
    assert before != pytest.approx(after, rel=1e-3)
    assert after == pytest.approx(RANGE.count(COUNTS), rel=1e-3)


def test_the_same_readings_make_the_same_guess():
    readings = [table_of((0, 1)), table_of((2,)), reading_of(RANGE)]
    other = Question.where(DOMAIN, {0: [4], 2: [1]})
    assert guessed(readings, other) == guessed(readings, other)


def test_noise_beyond_all_people_is_borne():
    """Counts far below 0 and far above all people: weights stay a law."""
    wild = Reading(
        attributes=(0,),
        levels=(2,),
        mask=None,
        noise=PRICING.single_noise(1e12),
        counts=np.array([-(10**9), 10**9, 0, -5, 7, 0]),
    )
    found = guessed([wild, table_of((1,))])
    assert 0 <= found <= PEOPLE
    assert guessed([wild], people=-3.0) <= 1


def test_nobody_is_in_no_cell():
    assert guessed([table_of((0,))], Question.where(DOMAIN, {0: []})) == 0
