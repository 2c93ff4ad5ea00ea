"""The path of one question, readable top to bottom.

parse_question → read_question → bound → calibrate      what will be run, and its price: `planning`
engine.prepare → ledger.charge → engine.run → draw_noise → ledger.store_answer      `charging`
answer_from      all that is computed from what is stored

Synthetic tables (`synthetic_tables`) and models (`models`) take the same path. Counts within an error may be
answered by a cache (`cached_answers`). These three are imported when they are first needed.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Unpack, overload

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.answers.plain_html import html_block, html_line
from discreet.answers.report.report import Report
from discreet.answers.report.report_explanation import ReportExplanation
from discreet.answers.table_facts import TableList
from discreet.answers.wording import charge_text
from discreet.bounds.calibrate import Plan, analyst_cap_of, budget_of
from discreet.bounds.leaves import NoisyPlan
from discreet.curator.answer_times import AnswerTimes
from discreet.curator.charging import ChargedData
from discreet.curator.dearer_answers import DearerQuestion
from discreet.curator.people import fingerprint_of, people_as_before, people_of
from discreet.curator.planning import Planning
from discreet.curator.profiles import Profiles
from discreet.curator.public_tables import PublicTables
from discreet.curator.repeats import answer_of, told_free
from discreet.curator.reports import CuratorReports
from discreet.curator.terms import QuestionTerms, RowTerms, SynthesisTerms, request_for, spelled_out
from discreet.engines.base.engine import Engine
from discreet.engines.base.execution import Watch
from discreet.errors import DiscreetError, MissingExtra
from discreet.ledger.interface import Account, Balance, Cap, Entry, Ledger
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt
from discreet.model.report import Questions
from discreet.policy.public_facts import tables_of
from discreet.question.expressions.scope import nearest
from discreet.question.frame import Frame

if TYPE_CHECKING:
    from discreet.curator.cached_answers import CachedAnswers
    from discreet.curator.models import Models
    from discreet.curator.synthetic_tables import SyntheticTables
    from discreet.learn.plan.explain import FitExplanation
    from discreet.learn.plan.fit_plan import FitPlan
    from discreet.learn.plan.fitted_model import FittedModel
    from discreet.profile.table_profile import TableProfile
    from discreet.synth.plan.explain import SynthesisExplanation
    from discreet.synth.plan.synthesis_plan import Advance, SynthesisPlan
    from discreet.synth.plan.synthetic_table import SyntheticTable
    from discreet.synth.report.quality import Quality


class Curator:
    """Answers questions about one dataset, for one analyst, within its budget."""

    def __init__(
        self,
        dataset: Dataset,
        engine: Engine,
        ledger: Ledger,
        *,
        analyst: str,
        purpose: str = "",
        answer_times: Sequence[float] = (),
    ) -> None:
        self.dataset = dataset
        self.analyst = analyst
        self._engine = engine
        self._ledger = ledger
        self._shared = False
        self._data = ChargedData(
            dataset=dataset,
            engine=engine,
            ledger=ledger,
            analyst=analyst,
            purpose=purpose,
            answer_times=AnswerTimes(seconds=tuple(answer_times)),
        )
        self._public = PublicTables(dataset, engine)
        self._cached = _cached_answers(self._data, self._public)
        self._profiles = Profiles(data=self._data)
        ledger.open_account(
            Account(
                dataset=dataset.name,
                budget=budget_of(dataset),
                analyst_cap=analyst_cap_of(dataset),
                fingerprint=fingerprint_of(dataset),
                people=people_of(dataset, engine),
                formerly=people_as_before(dataset, engine),
            )
        )
        self._profiles.load()
        stamps = engine.stamps()
        self.changed_since = ledger.changed_since(dataset.name, *stamps) if stamps else None
        """When this version of the data was first opened, if its files have changed since."""

    @spelled_out(QuestionTerms)
    def plan(self, sql: str, **terms: Unpack[QuestionTerms]) -> Plan | NoisyPlan:
        """What would be run, its price and its error, for programs. Reads no data and costs nothing.

        It takes what `ask` takes. `explain` tells the same to people.
        """
        return self._planning().plan(sql, request_for(dict(terms), self.dataset, self._data.left))

    def _planning(self) -> Planning:
        return Planning(dataset=self.dataset, data=self._data, public=self._public, profiles=self._profiles)

    @spelled_out(RowTerms)
    def profile(self, table: str, **price: Unpack[RowTerms]) -> "TableProfile":
        """How many rows, groups and odd values people have in a table: charged once, then stored.

        table: its name.
        epsilon, rho: the price; one of the two.

        With it, questions are asked with the limits that are best for them.

        >>> curator.profile("visits", epsilon=0.1)  # doctest: +SKIP
        """
        return self._profiles.take(table, **price)

    def known_profiles(self) -> "list[TableProfile]":
        """The best profile of each table that was paid for, of this version of the data. Costs nothing."""
        self._profiles.load()
        return list(self._profiles.found.values())

    @overload
    def ask(self, sql: str, *, purpose: str = ..., **terms: Unpack[QuestionTerms]) -> Answer: ...
    @overload
    def ask(self, sql: Questions, *, purpose: str = ..., **terms: Unpack[QuestionTerms]) -> Report: ...
    @spelled_out(QuestionTerms)
    def ask(
        self, sql: str | Questions, *, purpose: str = "", **terms: Unpack[QuestionTerms]
    ) -> Answer | Report:
        """The private answer. The same question is charged once, at this price or a lower one.

        sql: one SELECT about the tables of the policy. Or a list of them, for one price: a `Report`.
        epsilon, rho: the price. Give one of the two, or `within`.
        within: how far each number may be off. The least price for that is paid.
        confidence: of the stated errors.
        purpose: what it is for, if not what the curator was opened for. The ledger keeps it.

        >>> curator.ask("SELECT ward, count(*) AS n FROM visits GROUP BY ward", epsilon=0.1)  # doctest: +SKIP
        """
        if isinstance(sql, list | tuple):
            return self._reports(purpose).ask(sql, terms, lambda one: self.ask(one, purpose=purpose, **terms))
        plan = self.plan(sql, **terms)
        dearer, data = self._planning().dearer(sql, plan), self._for(purpose)
        if self._cached is not None and isinstance(plan, Plan):  # what was paid for before stays free
            cached = self._recalled(dearer) or replace(self._cached, data=data).answer(sql, plan)
            if cached is not None:
                return cached
        receipt, stored, repeated = data.charge_and_draw(sql, dearer.release, dearer.find)
        return self._answer(dearer, receipt, stored, repeated=repeated)

    def _for(self, purpose: str) -> ChargedData:
        return replace(self._data, purpose=purpose) if purpose else self._data

    def _reports(self, purpose: str = "") -> CuratorReports:
        return CuratorReports(
            data=self._for(purpose),
            planning=self._planning(),
            changed=self.changed_since,
            tells=not self._shared,
        )

    @overload
    def recall(self, sql: str, **terms: Unpack[QuestionTerms]) -> Answer | None: ...
    @overload
    def recall(self, sql: Questions, **terms: Unpack[QuestionTerms]) -> Report | None: ...
    @spelled_out(QuestionTerms)
    def recall(self, sql: str | Questions, **terms: Unpack[QuestionTerms]) -> Answer | Report | None:
        """What this was answered with before, at this price or a higher one; None if it was not.

        It takes what `ask` takes. Reads no private data and never charges.
        >>> curator.recall("SELECT count(*) FROM visits", epsilon=0.1) is None  # doctest: +SKIP
        """
        if isinstance(sql, list | tuple):
            return self._reports().recall(sql, terms, lambda one: self.recall(one, **terms))
        return self._recalled(self._planning().dearer(sql, self.plan(sql, **terms)))

    def _recalled(self, dearer: DearerQuestion) -> Answer | None:
        found = dearer.stored()
        return None if found is None else self._answer(dearer, *found, repeated=True)

    def _answer(self, dearer: DearerQuestion, receipt: Receipt, stored: bytes, *, repeated: bool) -> Answer:
        return answer_of(self._data, dearer, receipt, stored, repeated=repeated, changed=self.changed_since)

    @overload
    def explain(self, sql: str, **terms: Unpack[QuestionTerms]) -> Explanation: ...
    @overload
    def explain(self, sql: Questions, **terms: Unpack[QuestionTerms]) -> ReportExplanation: ...
    @spelled_out(QuestionTerms)
    def explain(
        self, sql: str | Questions, **terms: Unpack[QuestionTerms]
    ) -> Explanation | ReportExplanation:
        """Price and error, from the policy and the text alone. Reads no data and costs nothing.

        It takes what `ask` takes.

        >>> curator.explain("SELECT count(*) FROM visits", epsilon=0.1).errors[0].each  # doctest: +SKIP
        """
        if isinstance(sql, list | tuple):
            return self._reports().explain(sql, terms, lambda one: self.explain(one, **terms))
        plan, planning = self.plan(sql, **terms), self._planning()
        dearer = planning.dearer(sql, plan)
        self._data.emit(dearer.release)  # refuses what it cannot do
        paid = None if self._shared else dearer.stored()  # a service does not tell what others asked
        if paid is not None:
            found = planning.explained(dearer.release_of(paid.receipt.key).plan)
            return told_free(found, paid.receipt, self.dataset)
        found = planning.explained(plan)
        return self._cached.explained(found, plan) if self._cached and isinstance(plan, Plan) else found

    def table(self, name: str) -> Frame[Answer, Explanation]:
        """A table of the policy by its name, to ask a question about step by step.

        >>> curator.table("visits").group_by("ward").count().ask(epsilon=0.1)  # doctest: +SKIP
        """
        nearest(name, self.dataset.tables, "table")
        return Frame(name, self.ask, self.explain)

    @property
    def tables(self) -> TableList:
        """What can be asked about: tables, columns, bounds, keys and limits. Public, and free.

        It prints as a list, and shows as tables in a notebook. One table is tables["visits"].

        >>> curator.tables["visits"].columns[0].name  # doctest: +SKIP
        """
        return tables_of(self.dataset)

    def __repr__(self) -> str:
        try:
            left = f" {charge_text(self.left(), budget_of(self.dataset))} left for {self.analyst}."
        except DiscreetError:  # a ledger that is closed, or busy: it is said when a question is asked
            left = f" For {self.analyst}."
        return f"Curator of {self.dataset.name}, with tables {', '.join(self.dataset.tables)}.{left}"

    def _repr_html_(self) -> str:
        return html_block(html_line(repr(self)), self.tables._repr_html_())

    @property
    def holds_back(self) -> bool:
        """Whether answers leave at answer times."""
        return bool(self._data.answer_times.seconds)

    def budget(self) -> Balance:
        """What is spent and left, in all and by each analyst.

        >>> curator.budget().left  # doctest: +SKIP
        """
        return self._ledger.balance(self.dataset.name)

    def left(self) -> Spend:
        """What this analyst may still spend."""
        return self._data.left()

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """What the ledger says of this dataset, oldest first: all entries with a number above `after`."""
        return self._ledger.entries(self.dataset.name, after=after)

    def verify_ledger(self) -> None:
        """Replay all entries of the ledger; LedgerClosed with what is wrong."""
        self._ledger.verify()

    def for_analyst(
        self,
        name: str,
        *,
        caps: Sequence[Cap] = (),
        most_epsilon: Fraction | None = None,
        purpose: str = "",
    ) -> "Curator":
        """The curator of another analyst, on the same open data and ledger. It has no `watch` yet.

        The caps hold besides those of the policy. What costs more than `most_epsilon` raises NeedsApproval.
        Closing it closes nothing. Close this one last: it closes the data and the ledger of both.
        """
        other = copy(self)
        other.analyst, other._shared = name, True
        other._data = replace(
            self._data, analyst=name, caps=tuple(caps), most_epsilon=most_epsilon, purpose=purpose, watch=None
        )
        other._profiles = replace(self._profiles, data=other._data)
        other._cached = replace(self._cached, data=other._data) if self._cached else None
        return other

    @property
    def watch(self) -> Watch | None:
        """Told how much of a question is done, and 1 at its end. For the owner only: timing may leak data."""
        return self._data.watch

    @watch.setter
    def watch(self, watch: Watch | None) -> None:
        self._data.watch = watch

    def close(self) -> None:
        """Let go of the data and the ledger; what was charged is durable already."""
        if not self._shared:
            self._engine.close()
            self._ledger.close()

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Synthetic tables

    @spelled_out(SynthesisTerms)
    def plan_synthesis(self, sql: str, **terms: Unpack[SynthesisTerms]) -> "SynthesisPlan":
        """What a synthetic table would be made from, and its price. Reads no data and costs nothing."""
        return self._synthetic_tables().plan(sql, **terms)

    @spelled_out(SynthesisTerms)
    def explain_synthesis(self, sql: str, **terms: Unpack[SynthesisTerms]) -> "SynthesisExplanation":
        """Price and error of a synthetic table, from the policy alone. Costs nothing."""
        return self._synthetic_tables().explain(sql, **terms)

    @spelled_out(SynthesisTerms)
    def synthesize(
        self, sql: str, *, advance: "Advance" = lambda *_: None, **terms: Unpack[SynthesisTerms]
    ) -> "SyntheticTable":
        """A synthetic table of the columns of a SELECT. It is charged once; rows are drawn for free.

        `bins` says how many bins numbers are put into: for all columns, or by name. The table should answer
        the questions of a `workload` well (`synth.plan.workload_text`); without one, all counts by up to
        three columns. `advance` is told how far the fit is.
        """
        return self._synthetic_tables().synthesize(sql, advance, **terms)

    @spelled_out(SynthesisTerms)
    def recall_synthesis(self, sql: str, **terms: Unpack[SynthesisTerms]) -> "SyntheticTable | None":
        """The synthetic table that was made of this before; None if there is none. Never charges."""
        return self._synthetic_tables().recall(sql, **terms)

    @spelled_out(RowTerms)
    def check_synthetic(self, table: "SyntheticTable", **price: Unpack[RowTerms]) -> "Quality":
        """How good a synthetic table is, compared with the data itself: measured anew, and charged."""
        return self._synthetic_tables().check(table, **price)

    def _synthetic_tables(self) -> "SyntheticTables":
        from discreet.curator.synthetic_tables import SyntheticTables

        return SyntheticTables(data=self._data, public=self._public)

    # Models

    @spelled_out(RowTerms)
    def plan_fit(self, model: object, sql: str, **price: Unpack[RowTerms]) -> "FitPlan":
        """What a model would be learnt from, and its price. Reads no data and costs nothing."""
        return self._models().plan(model, sql, **price)

    @spelled_out(RowTerms)
    def explain_fit(self, model: object, sql: str, **price: Unpack[RowTerms]) -> "FitExplanation":
        """Price of a fit and how large its noise will be, from the policy alone. Costs nothing."""
        return self._models().explain(model, sql, **price)

    @spelled_out(RowTerms)
    def fit(self, model: object, sql: str, **price: Unpack[RowTerms]) -> "FittedModel":
        """A model of the last column of a SELECT by those before it. The same fit is charged once.

        The exception is a network without a key: each of its fits is charged.
        Bounds, classes and the person column come from the policy. Rows in which a column is NULL, or has a
        value that is not declared, are left out.
        """
        return self._models().fit(model, sql, **price)

    @spelled_out(RowTerms)
    def recall_fit(self, model: object, sql: str, **price: Unpack[RowTerms]) -> "FittedModel | None":
        """The model that was fitted before; None if there is none. Never charges."""
        return self._models().recall(model, sql, **price)

    def _models(self) -> "Models":
        try:
            from discreet.curator.models import Models
        except ImportError as missing:
            raise MissingExtra(
                "This needs scikit-learn, which is not installed.", remedy="pip install 'discreet[learn]'"
            ) from missing
        return Models(data=self._data, public=self._public)


def _cached_answers(data: ChargedData, public: PublicTables) -> "CachedAnswers | None":
    """None if the policy has no table with `answers = "cached"`."""
    if not any(isinstance(each, PrivateTable) and each.cached for each in data.dataset.tables.values()):
        return None
    from discreet.curator.cached_answers import CachedAnswers

    return CachedAnswers(data, public)
