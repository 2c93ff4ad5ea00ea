"""What can be asked of a service and paid for: a question in SQL, a report, a synthetic table, a model.

Each has a text, which the history, the log and requests for approval show. It says all that is charged for:
the same text at the same price is the same release. `read_kind` reads it back.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from discreet.answers.answer import Answer
from discreet.answers.json_text import escaped_json, to_json
from discreet.answers.report.report import Report
from discreet.answers.report.report_explanation import ReportExplanation
from discreet.curator import Curator
from discreet.errors import InvalidInput, MissingExtra
from discreet.model.report import ReportQuestion, text_of_report
from discreet.question.report.statements import questions_of, statements_in
from discreet.service.question_terms import AskedTerms

if TYPE_CHECKING:
    from discreet.learn.estimators.base import PrivateModel
    from discreet.learn.plan.explain import FitExplanation
    from discreet.learn.plan.fitted_model import FittedModel
    from discreet.synth.plan.attributes import Bins
    from discreet.synth.plan.explain import SynthesisExplanation
    from discreet.synth.plan.synthetic_table import SyntheticTable

LONGEST_QUESTION = 100_000
MOST_SYNTHETIC_ROWS = 100_000
_SYNTHESIZE, _FIT = "SYNTHESIZE", "FIT"
_REPORT = "REPORT\n\n"
"""Before the text of a report, which is a file of its questions."""
_IN_LEDGER = re.compile(r"A \w+ of: (?P<sql>.*)", re.DOTALL)
"""How the ledger names a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An answer, and the JSON of it that is sent and kept."""

    answer: Answer | None
    """None for an answer that is kept as JSON only; the first one of a report, whose price is that of all."""
    text: str


class PaidQuestion(Protocol):
    """Something that can be paid for."""

    @property
    def text(self) -> str: ...

    def ask(self, curator: Curator, terms: AskedTerms) -> Told:
        """Charge and answer."""
        ...

    def recall(self, curator: Curator, terms: AskedTerms) -> Told | None:
        """What was drawn for it before; None if nothing was. Never charges."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuestion:
    sql: str

    @property
    def text(self) -> str:
        return self.sql

    def ask(self, curator: Curator, terms: AskedTerms) -> Told:
        return _told(curator.ask(self.sql, **terms.given()))

    def recall(self, curator: Curator, terms: AskedTerms) -> Told | None:
        found = curator.recall(self.sql, **terms.given())
        return None if found is None else _told(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeReport:
    """Many questions for one price."""

    questions: tuple[ReportQuestion, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "WholeReport":
        """QueryRefused for more questions, or longer ones, than a report may have."""
        return cls(questions=tuple(questions_of(texts)))

    @property
    def text(self) -> str:
        return _REPORT + text_of_report(self.questions)

    def explain(self, curator: Curator, terms: AskedTerms) -> ReportExplanation:
        return curator.explain(self._texts(), **terms.given())

    def ask(self, curator: Curator, terms: AskedTerms) -> Told:
        return _told_report(curator.ask(self._texts(), **terms.given()))

    def recall(self, curator: Curator, terms: AskedTerms) -> Told | None:
        found = curator.recall(self._texts(), **terms.given())
        return None if found is None else _told_report(found)

    def _texts(self) -> list[str]:
        return [question.written for question in self.questions]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisQuestion:
    """Rows of nobody."""

    sql: str
    bins: "Bins" = None
    workload: Sequence[str] = ()
    rows: int | None = None
    """No part of its text: rows of a table are free."""

    @property
    def text(self) -> str:
        options = {"bins": self.bins, "workload": list(self.workload)}
        return _text(_SYNTHESIZE, {name: value for name, value in options.items() if value}, self.sql)

    def explain(self, curator: Curator, terms: AskedTerms) -> "SynthesisExplanation":
        return curator.explain_synthesis(self.sql, **self._terms(terms))

    def ask(self, curator: Curator, terms: AskedTerms) -> Told:
        return self._drawn(curator.synthesize(self.sql, **self._terms(terms)))

    def recall(self, curator: Curator, terms: AskedTerms) -> Told | None:
        found = curator.recall_synthesis(self.sql, **self._terms(terms))
        return None if found is None else self._drawn(found)

    def _terms(self, terms: AskedTerms) -> dict[str, Any]:
        return {**terms.price(), "bins": self.bins, "workload": tuple(self.workload)}

    def _drawn(self, table: "SyntheticTable") -> Told:
        drawn = table.rows(min(MOST_SYNTHETIC_ROWS, len(table)) if self.rows is None else self.rows)
        return _told(
            Answer(
                released=drawn.released,
                charged=table.charged,
                left=table.left,
                receipt=table.receipt,
                repeated=table.repeated,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """A model of the last column of a SELECT by those before it. Its answer is a table of coefficients."""

    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    sql: str

    @property
    def text(self) -> str:
        return _text(f"{_FIT} {self.model}", self.settings, self.sql)

    def explain(self, curator: Curator, terms: AskedTerms) -> "FitExplanation":
        return curator.explain_fit(self._new(), self.sql, **terms.price())

    def ask(self, curator: Curator, terms: AskedTerms) -> Told:
        return _told_model(curator.fit(self._new(), self.sql, **terms.price()))

    def recall(self, curator: Curator, terms: AskedTerms) -> Told | None:
        found = curator.recall_fit(self._new(), self.sql, **terms.price())
        return None if found is None else _told_model(found)

    def _new(self) -> "PrivateModel":
        try:
            from discreet.learn.plan.model_json import new_model
        except ImportError as missing:
            raise MissingExtra(
                "This service fits no models: scikit-learn is not installed where it runs.",
                remedy="Ask its owner to run: pip install 'discreet[learn]'",
            ) from missing
        return new_model(self.model, self.settings)


def read_kind(text: str) -> PaidQuestion:
    """From its text."""
    if text.startswith(_REPORT):
        return WholeReport.of(statements_in(text.removeprefix(_REPORT), "this report"))
    word, _, rest = text.partition(" ")
    if word == _SYNTHESIZE:
        options, sql = _options(rest)
        return SynthesisQuestion(sql=sql, **options)
    if word == _FIT:
        model, _, rest = rest.partition(" ")
        settings, sql = _options(rest)
        return ModelQuestion(model=model, settings=settings, sql=sql)
    return SqlQuestion(sql=text)


def is_sql(text: str) -> bool:
    """Whether this is the text of one question in SQL, as the console asks it."""
    return not text.startswith((_REPORT, f"{_SYNTHESIZE} ", f"{_FIT} "))


def sql_in_ledger(question: str) -> str:
    """What the text of a question ends with, if the ledger calls it so."""
    found = _IN_LEDGER.fullmatch(question)
    return question if found is None else found["sql"]


def check_text(question: PaidQuestion) -> None:
    """InvalidInput if it cannot be kept."""
    text = question.text
    if not text.strip():
        raise InvalidInput("A question is missing.", remedy='Give it as "sql": "SELECT count(*) FROM …"')
    if not text.isascii() and text.encode(errors="replace").decode() != text:
        raise InvalidInput("The question is not valid Unicode.", remedy="Remove lone surrogates.")
    if len(text) > LONGEST_QUESTION:
        raise InvalidInput(
            f"The question has more than {LONGEST_QUESTION:,} characters.", remedy="Ask something shorter."
        )


def _text(kind: str, options: Mapping[str, Any], sql: str) -> str:
    return (
        f"{kind} {json.dumps(options, sort_keys=True, ensure_ascii=False)} {sql}"
        if options
        else f"{kind} {sql}"
    )


def _options(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith("{"):
        return {}, text
    options, end = json.JSONDecoder().raw_decode(text)
    return options, text[end + 1 :]


def _told(answer: Answer) -> Told:
    return Told(answer=answer, text="".join(to_json(answer)))


def _told_report(report: Report) -> Told:
    return Told(answer=report.answers[0], text="".join(report.json_pieces()))


def _told_model(fitted: "FittedModel") -> Told:
    from discreet.learn.plan.model_json import coefficient_table, model_json

    answer = Answer(
        released=coefficient_table(fitted),
        charged=fitted.charged,
        left=fitted.left,
        receipt=fitted.receipt,
        repeated=fitted.repeated,
    )
    facts = json.loads(_told(answer).text) | {"model": model_json(fitted)}
    return Told(answer=answer, text=escaped_json(json.dumps(facts, ensure_ascii=False, allow_nan=False)))
