"""A report as its receipt shows it, from the JSON that is kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.answers.report.reading import read_report
from discreet.apps.server.console.answer_views.shown_answer import MOST_ROWS, ShownAnswer, shown

_MOST_ROWS_IN_ALL, _FEWEST_ROWS = 1_000, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuestion:
    """A question of a report."""

    heading: str
    sql: str
    answer: ShownAnswer
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReport:
    """Everything that the page says of a report."""

    questions: list[ShownQuestion]
    notes: list[str]
    """What is about several questions."""

    @property
    def receipt(self) -> int:
        return self.questions[0].answer.receipt

    @property
    def cost(self) -> str:
        first, many = self.questions[0].answer, len(self.questions)
        if first.free or many == 1:
            return first.cost
        return f"{first.cost.removesuffix('.')} for {many} questions together."

    @property
    def confidence(self) -> str:
        return self.questions[0].answer.confidence


def shown_report(facts: Mapping[str, Any]) -> ShownReport:
    """From the JSON of a report: the first rows of each answer."""
    report = read_report(facts)
    most = max(_FEWEST_ROWS, min(MOST_ROWS, _MOST_ROWS_IN_ALL // len(report)))
    return ShownReport(
        questions=[
            ShownQuestion(
                heading=heading,
                sql=question.sql,
                answer=shown(facts["questions"][i]["answer"], most),
                notes=report.notes_of(i),
            )
            for i, (heading, question) in enumerate(zip(report.headings, report.questions, strict=True))
        ],
        notes=report.shared_notes(),
    )
