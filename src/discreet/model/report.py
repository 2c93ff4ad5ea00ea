"""A report: several questions that are paid together.

AskedReport
├── leaves                private questions: what several questions ask of the same groups is one of them
└── questions: QuestionOnLeaves
    ├── uses: LeafUse     which leaf asks each private query of the question, and what it calls its measures
    └── after: AfterNoise | None      what is computed from several; None if the question is one query
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from discreet.errors import QueryRefused
from discreet.model.noisy_table import AfterNoise
from discreet.model.query import Query

Questions: TypeAlias = list[str] | tuple[str, ...]
"""The questions of a report, as they are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuestion:
    """A question as it was written, and its title if it has one."""

    sql: str
    title: str = ""

    def named(self, number: int) -> str:
        """How errors speak of it. Questions are numbered from 1."""
        return f"Question {number}" + (f" ({self.title})" if self.title else "")

    @property
    def written(self) -> str:
        """As a file of questions has it: its title is a comment before it."""
        return f"-- title: {self.title}\n{self.sql}" if self.title else self.sql


def text_of_report(questions: Sequence[ReportQuestion]) -> str:
    """A file of these questions: what is read from it are the same."""
    return ";\n\n".join(question.written for question in questions)


def check_texts(texts: object) -> None:
    """QueryRefused if these are no questions of a report."""
    if not isinstance(texts, list | tuple) or not texts:
        raise QueryRefused("A report has no question.", remedy='Give one or more: ["SELECT …", "SELECT …"].')
    if not all(isinstance(text, str) for text in texts):
        raise QueryRefused(
            "A report is a list of texts of SQL.", remedy='Give texts: ["SELECT …", "SELECT …"].'
        )


def check_no_error(within: object) -> None:
    """QueryRefused if a report is to be within an error."""
    if within is not None:
        raise QueryRefused(
            "A report has one price, which is split over its questions. It cannot be within= an error.",
            remedy="Give epsilon= for all of it, or ask each question by itself with within=.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafUse:
    """A private query of one question, and the leaf that asks it for all questions."""

    query: Query
    leaf: int
    names: Mapping[str, str]
    """What the leaf calls each measure of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOnLeaves:
    """One question of a report."""

    uses: tuple[LeafUse, ...]
    after: AfterNoise | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedReport:
    """All questions of a report, in their order."""

    leaves: tuple[Query, ...]
    questions: tuple[QuestionOnLeaves, ...]
