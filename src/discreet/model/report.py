"""A report: several questions that are paid together.

AskedReport
├── leaves                private questions: what several questions ask of the same groups is one of them
└── questions: QuestionOnLeaves
    ├── uses: LeafUse     which leaf asks each private query of the question, and what it calls its measures
    └── after: AfterNoise | None      what is computed from several; None if the question is one query
"""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.model.noisy_table import AfterNoise
from discreet.model.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuestion:
    """A question as it was written, and its title if it has one."""

    sql: str
    title: str = ""

    def named(self, number: int) -> str:
        """How errors speak of it. Questions are numbered from 1."""
        return f"Question {number}" + (f" ({self.title})" if self.title else "")


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
