"""Surveys: what they say, in one way only; and that no threshold gives away more than its ε."""

import json
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.local.survey import NumberBetween, OneOf, Survey, read_survey

QUESTIONS = (
    OneOf.ask("smokes", "Do you smoke?", ["no", "now and then", "täglich"], epsilon=1),
    OneOf.ask("town", "Where do you live?", 10_000, epsilon=2, refresh="epoch"),
    OneOf.ask("word", "Which word?", 60_000_000, epsilon=0.5),
    NumberBetween.ask("sleep", "How long do you sleep?", 0, 24, epsilon=0.25),
    NumberBetween.ask("far", "How far do you live?", -1.5, 1e6, epsilon=3, steps=777),
)
SURVEY = Survey(name="health", epoch=3, expires=date(2030, 1, 31), questions=QUESTIONS)


def test_a_survey_is_what_its_text_says():
    assert read_survey(SURVEY.text()) == SURVEY
    assert SURVEY.loss == Fraction(27, 4)
    assert [question.mechanism.name for question in QUESTIONS] == [
        "subset",
        "projective",
        "hadamard",
        "number",
        "number",
    ]


@given(
    options=st.one_of(
        st.integers(2, 2**20),
        st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=40, unique=True),
    ),
    epsilon=st.integers(1, 16_000_000).map(lambda millionths: Fraction(millionths, 10**6)),
)
def test_any_question_can_be_written_and_read(options, epsilon):
    try:
        question = OneOf.ask("q", "?", options, epsilon=epsilon)
        "".join(str(options)).encode()
    except UnicodeEncodeError:
        return
    survey = Survey(name="s", epoch=1, expires=date(2030, 1, 1), questions=(question,))
    assert read_survey(survey.text()) == survey


def changed(path, value):
    """The text of the survey with one value changed."""
    content = json.loads(SURVEY.text())
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("question", "parameter", "change"),
    [
        (0, "keep", 1),
        (1, "keep", 1),
        (2, "keep", 1),
        (3, "rise", 1),
        (4, "keep", 2**20),
        (4, "low", -(2**30)),
    ],
)
def test_a_threshold_that_gives_away_more_than_it_says_is_refused(question, parameter, change):
    """One draw of 2⁴⁸ more than the largest is enough, where thresholds have no slack of their own."""
    before = json.loads(SURVEY.text())["questions"][question][parameter]
    with pytest.raises(InvalidInput, match="gives away more than its ε"):
        read_survey(changed(["questions", question, parameter], before + change))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], 2),
        (["name"], "Health"),
        (["name"], "x" * 41),
        (["epoch"], 0),
        (["epoch"], True),
        (["expires"], "soon"),
        (["questions"], []),
        (["questions"], {}),
        (["questions", 0, "name"], "town"),
        (["questions", 0, "name"], "a b"),
        (["questions", 0, "text"], ""),
        (["questions", 0, "options"], ["a"]),
        (["questions", 0, "options"], ["a", "a", "b"]),
        (["questions", 0, "options"], ["a", "", "b"]),
        (["questions", 0, "options"], 1),
        (["questions", 0, "epsilon"], "1.0000001"),
        (["questions", 0, "epsilon"], "1.0"),
        (["questions", 0, "epsilon"], "17"),
        (["questions", 0, "epsilon"], "-1"),
        (["questions", 0, "epsilon"], 1),
        (["questions", 0, "refresh"], "daily"),
        (["questions", 0, "mechanism"], "truth"),
        (["questions", 0, "mechanism"], "number"),
        (["questions", 0, "keep"], 1.5),
        (["questions", 0, "more"], 1),
        (["questions", 3, "lower"], 24),
        (["questions", 3, "lower"], "0"),
        (["questions", 3, "lower"], float("-inf")),
        (["questions", 3, "steps"], 0),
        (["more"], 1),
    ],
)
def test_what_is_not_a_survey_is_refused(path, value):
    with pytest.raises(InvalidInput):
        read_survey(changed(path, value))


@pytest.mark.parametrize("text", ["", "{}", "[]", "7", "[" * 100_000, SURVEY.text() + " ", "x" * (2**20 + 1)])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInput):
        read_survey(text)


def test_answers_become_levels():
    smokes, town, _, sleep, far = QUESTIONS
    assert [smokes.level(option) for option in smokes.options] == [0, 1, 2]
    assert town.level(9_999) == 9_999
    assert [sleep.level(hours) for hours in (-5, 0, 12, 24, 1e300)] == [0, 0, 2048, 4096, 4096]
    assert far.level(-1.5) == 0
    for question, wrong in [(smokes, "often"), (smokes, 1), (town, 10_000), (town, "7"), (sleep, "7")]:
        with pytest.raises(InvalidInput):
            question.level(wrong)
    for wrong in (True, None, float("nan")):
        with pytest.raises(InvalidInput):
            sleep.level(wrong)


def test_every_level_is_the_nearest_one():
    question = NumberBetween.ask("x", "?", -3, 7, epsilon=1, steps=100)
    for answer in (-3, -2.96, -2.94, 0.04, 6.99, 7):
        assert abs(question.value(question.level(answer)) - answer) <= 0.05 + 1e-12
