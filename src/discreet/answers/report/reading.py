"""Reports and their explanations from their JSON, and one answer of what a receipt stands for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.answers.json_reading import UNREADABLE, not_ours, read_answer, read_explanation
from discreet.answers.report.report import Report
from discreet.answers.report.report_explanation import ReportExplanation
from discreet.errors import InvalidInput
from discreet.model.report import ReportQuestion, text_of_report


def read_report(found: Mapping[str, Any], *, analyst: str = "") -> Report:
    """From the object that `Report.to_json` wrote."""
    try:
        questions = _questions(found)
        asked = text_of_report(questions) if len(questions) > 1 else questions[0].sql
        answers = tuple(
            replace(read_answer(each["answer"], question=asked, analyst=analyst), questions=len(questions))
            for each in found["questions"]
        )
    except UNREADABLE as error:
        raise not_ours("a report") from error
    return Report(questions=questions, answers=answers)


def read_report_explanation(found: Mapping[str, Any]) -> ReportExplanation:
    """From the object that `report_explanation_json` made."""
    try:
        questions = _questions(found)
        explanations = tuple(read_explanation(each["explanation"]) for each in found["questions"])
    except UNREADABLE as error:
        raise not_ours("an explanation") from error
    return ReportExplanation(questions=questions, explanations=explanations)


def is_report(found: Mapping[str, Any]) -> bool:
    """Whether the JSON of what was paid for is that of a report; else it is that of one answer."""
    return "questions" in found


def one_answer(found: Mapping[str, Any], question: int | None, *, example: str) -> Mapping[str, Any]:
    """The JSON of one answer: that of a question of a report by its number from 1, or the only one.

    `example` is an end of an address that names a question.
    """
    answers = [each["answer"] for each in found["questions"]] if is_report(found) else [found]
    if question is None and len(answers) == 1:
        return answers[0]
    if question is None:
        raise InvalidInput(
            f"This receipt is that of a report with {len(answers)} questions. A file has the answer of one.",
            remedy=f"Say which one, from 1 to {len(answers)}: end the address with {example}. As JSON there"
            " are all.",
        )
    if not 1 <= question <= len(answers):
        raise InvalidInput(
            f"There is no question {question} of this receipt.",
            remedy="It has one answer: leave question= out."
            if len(answers) == 1
            else f"Its questions have the numbers 1 to {len(answers)}.",
        )
    return answers[question - 1]


def _questions(found: Mapping[str, Any]) -> tuple[ReportQuestion, ...]:
    asked = tuple(
        ReportQuestion(sql=each["sql"], title="" if each["title"] == f"Question {i}" else each["title"])
        for i, each in enumerate(found["questions"], 1)
    )
    if not asked:
        raise not_ours("a report")
    return asked
