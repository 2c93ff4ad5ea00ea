"""The share of questions that are answered as they are typed, and whether answers are those of plain SQL."""

import pytest

from discreet.errors import QueryRefused
from tests.questions.corpus import DATASETS, EPSILON, Opened, compare, questions_of

ANSWERED = 0.9


@pytest.fixture(scope="module", params=DATASETS)
def opened(request, tmp_path_factory):
    dataset = Opened(request.param, tmp_path_factory.mktemp(request.param))
    yield dataset
    dataset.close()


def test_questions_are_answered_as_plain_sql_does(opened):
    """Numbers have the noise of the largest budget that there is: see `corpus.compare`."""
    wrong = {}
    for question in opened.questions:
        if question.instead:
            continue
        found = compare(question, opened.plain, *opened.answered(question.sql))
        if found:
            wrong[question.title] = found
    assert not wrong


def test_refusals_say_what_to_write_instead_and_that_is_answered(opened):
    """A question that has a rewording is refused, and no other."""
    for question in opened.questions:
        if not question.instead:
            continue
        with opened.curator() as curator, pytest.raises(QueryRefused) as refused:
            curator.explain(question.sql, epsilon=EPSILON)
        assert refused.value.remedy, question.title
        answer, _ = opened.answered(question.instead)
        assert len(answer), question.title


def test_nine_in_ten_are_answered_as_typed(capsys):
    """Those without a rewording: the tests above ask them."""
    questions = {name: questions_of(name) for name in DATASETS}
    typed = {name: sum(not each.instead for each in found) for name, found in questions.items()}
    total, answered = sum(map(len, questions.values())), sum(typed.values())
    shares = ", ".join(f"{name} {count} of {len(questions[name])}" for name, count in typed.items())
    with capsys.disabled():
        print(f"\nAnswered as typed: {answered} of {total} ({answered / total:.1%}): {shares}")  # noqa: T201
    assert total >= 150
    assert answered >= ANSWERED * total
