"""The path of one question, readable top to bottom.

parse_sql → resolve → bound → calibrate      what will be run, and its price; `explain` stops here
engine.prepare → ledger.charge → engine.run → draw_noise → ledger.store_answer      `charged`
answer_from      all that is computed from what is stored

Synthetic tables and models take the same path; counts within an error may be answered by a cache (`cached`).
"""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from discreet.answers.answer import Answer
from discreet.bounds.bound import bound
from discreet.bounds.calibrate import Plan, analyst_cap_of, budget_of, calibrate, charge_of, check_cap
from discreet.bounds.identity import question_identity
from discreet.curator.cached_answers import CachedAnswers
from discreet.curator.charging import ChargedData
from discreet.curator.fan_outs import FanOuts
from discreet.curator.older_keys import older_check_keys, older_keys
from discreet.curator.people import fingerprint_of, people_of
from discreet.dialects import DIALECTS
from discreet.engines.base.engine import Engine
from discreet.engines.base.execution import Watch
from discreet.errors import InvalidInput, MissingExtra
from discreet.ledger.interface import Account, Balance, Ledger
from discreet.model.exact import Number, positive_epsilon, positive_rho
from discreet.model.identity import has_version, identity_of, loss_facts
from discreet.model.policy import Dataset, KeyValue, ValueType
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.query import Query
from discreet.model.request import ByEpsilon, ByRho, request_of
from discreet.question.frame import Frame
from discreet.question.parse import parse_sql
from discreet.question.plain_rows import RowQuery, resolve_rows
from discreet.question.resolve import resolve
from discreet.question.scope import nearest
from discreet.release.draw import answer_from, draw_noise
from discreet.release.drawn import check_size
from discreet.release.explain import Explanation, explain
from discreet.sql.emit import emit_public_keys
from discreet.synth.core.synthetic import decode_measurements, encode_measurements
from discreet.synth.plan.attributes import Bins, attributes_of
from discreet.synth.plan.explain import SynthesisExplanation, explain_synthesis
from discreet.synth.plan.synthesis_plan import Advance, SynthesisPlan, plan_synthesis
from discreet.synth.plan.synthetic_table import SyntheticTable
from discreet.synth.plan.workload_text import wanted_of
from discreet.synth.report.quality import Quality

if TYPE_CHECKING:
    from discreet.learn.plan.explain import FitExplanation
    from discreet.learn.plan.fit_plan import FitPlan
    from discreet.learn.plan.fitted_model import FittedModel

_MOST_PUBLIC_KEYS = 100_000


class Curator:
    """Answers questions about one dataset, for one analyst, within its budget."""

    def __init__(self, dataset: Dataset, engine: Engine, ledger: Ledger, *, analyst: str) -> None:
        self.dataset = dataset
        self.analyst = analyst
        self._engine = engine
        self._dialect = DIALECTS[engine.dialect]
        self._ledger = ledger
        self._data = ChargedData(dataset=dataset, engine=engine, ledger=ledger, analyst=analyst)
        self._cached = CachedAnswers(self._data, self._keys_of_public_table)
        self._fan_outs = FanOuts(engine)
        self._public_keys: dict[tuple[str, str], tuple[KeyValue, ...] | None] = {}
        ledger.open_account(
            Account(
                dataset=dataset.name,
                budget=budget_of(dataset),
                analyst_cap=analyst_cap_of(dataset),
                fingerprint=fingerprint_of(dataset),
                people=people_of(dataset, engine),
            )
        )
        stamp = engine.stamp()
        self.changed_since = ledger.changed_since(dataset.name, stamp) if stamp else None
        """When this version of the data was first opened, if its files have changed since."""

    def plan(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = 0.95,
    ) -> Plan:
        """What would be run, its price and its error. Reads no data and costs nothing."""
        request = request_of(epsilon, rho, within, confidence)
        plan = calibrate(bound(self._resolved(sql), self.dataset), request, self.dataset)
        check_size(plan)
        return plan

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = 0.95,
    ) -> Answer:
        """The private answer. The same question at the same price is charged once."""
        plan = self.plan(sql, epsilon=epsilon, rho=rho, within=within, confidence=confidence)
        cached = self._cached.answer(sql, plan)
        if cached is not None:
            return cached
        receipt, stored, repeated = self._data.charge_and_draw(
            sql,
            question_identity(plan),
            plan.loss,
            lambda: self._data.emit(plan),
            lambda exact, _: draw_noise(plan, exact),
            older=lambda: older_keys(self._older(plan)),
        )
        asked = plan if has_version(receipt.key) else self._older(plan)
        return Answer(
            released=answer_from(asked, stored, self._data.deadline()),
            charged=receipt.charged,
            left=self._left(),
            receipt=receipt,
            repeated=repeated,
        )

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = 0.95,
    ) -> Explanation:
        """Price and error, from the policy and the text alone. Reads no data and costs nothing."""
        plan = self.plan(sql, epsilon=epsilon, rho=rho, within=within, confidence=confidence)
        self._data.emit(plan)  # refuses what this engine cannot do
        balance = self.budget()
        found = explain(plan, self.dataset, budget=balance.account.budget, left=balance.left)
        return self._cached.explained(found, plan, balance)

    def plan_synthesis(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: Bins = None,
        workload: Sequence[str] = (),
    ) -> SynthesisPlan:
        """What a synthetic table would be made from, and its price. Reads no data and costs nothing."""
        rows = self._resolved_rows(sql)
        loss = self._price_of_rows(epsilon, rho)
        attributes = attributes_of(rows.columns, bins)
        wanted = wanted_of(workload, attributes, rows.source, self._resolved) if workload else ()
        return plan_synthesis(rows, attributes, loss, self.dataset, wanted)

    def explain_synthesis(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: Bins = None,
        workload: Sequence[str] = (),
    ) -> SynthesisExplanation:
        """Price and error of a synthetic table, from the policy alone. Costs nothing."""
        plan = self.plan_synthesis(sql, epsilon=epsilon, rho=rho, bins=bins, workload=workload)
        self._data.emit(plan)  # refuses what this engine cannot do
        return explain_synthesis(plan, self.dataset)

    def synthesize(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: Bins = None,
        workload: Sequence[str] = (),
        advance: Advance = lambda *_: None,
    ) -> SyntheticTable:
        """A synthetic table of the columns of a SELECT. It is charged once; rows are drawn for free.

        Numbers between bounds are put into `bins`, of all columns or by name. All counts by up to three
        columns are to be right; or, if a `workload` is given, its questions (`synth.plan.workload_text`).
        """
        plan = self.plan_synthesis(sql, epsilon=epsilon, rho=rho, bins=bins, workload=workload)
        receipt, stored, repeated = self._data.charge_and_draw(
            sql,
            plan.identity(),
            plan.loss,
            lambda: self._data.emit(plan),
            lambda exact, _: plan.draw(exact),
            older=lambda: older_keys(plan),
        )
        return SyntheticTable(
            plan=plan,
            encoded=stored,
            charged=receipt.charged,
            left=self._left(),
            receipt=receipt,
            repeated=repeated,
            advance=advance,
        )

    def check_synthetic(
        self, table: SyntheticTable, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> Quality:
        """How good a synthetic table is, compared with the data itself: measured anew, and charged."""
        made = table.plan.dataset
        if (made.neighbours, made.tables) != (self.dataset.neighbours, self.dataset.tables):
            raise InvalidInput(
                "This synthetic table was made under another policy.", remedy="Make one under this policy."
            )
        loss = self._price_of_rows(epsilon, rho)
        learnt = table.learnt  # fitted now: if that fails or is stopped, nothing was charged
        marginals = table.plan.tables_again(learnt, loss)
        _, stored, _ = self._data.charge_and_draw(
            f"How good is the synthetic table of receipt {table.receipt.number}?",
            _check_identity(table, loss),
            loss,
            lambda: self._data.emit(table.plan),
            lambda exact, _: encode_measurements(table.plan.measured_again(exact, marginals, loss)),
            older=lambda: older_check_keys(loss, table.encoded),
        )
        return table.plan.quality(learnt, decode_measurements(stored))

    def plan_fit(
        self, model: object, sql: str, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> "FitPlan":
        """What a model would be learnt from, and its price. Reads no data and costs nothing."""
        plan_fit = _learning("fit_plan").plan_fit
        rows = self._resolved_rows(sql)
        plan: FitPlan = plan_fit(model, rows, self._price_of_rows(epsilon, rho), self.dataset.neighbours)
        return plan

    def explain_fit(
        self, model: object, sql: str, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> "FitExplanation":
        """Price of a fit and how large its noise will be, from the policy alone. Costs nothing."""
        plan = self.plan_fit(model, sql, epsilon=epsilon, rho=rho)
        plan.statement(self._engine.relations, self._dialect)  # refuses what this engine cannot do
        found: FitExplanation = _learning("explain").explain_fit(plan, self.dataset)
        return found

    def fit(
        self, model: object, sql: str, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> "FittedModel":
        """A model of the last column of a SELECT by those before it. The same fit is charged once.

        The exception is a network without a key: each of its fits is charged.
        Bounds, classes and whose privacy it is come from the policy. Rows in which a column is NULL, or has a
        value that is not declared, are left out.
        """
        plan = self.plan_fit(model, sql, epsilon=epsilon, rho=rho)
        receipt, stored, repeated = self._data.charge_and_draw(
            f"A {type(model).__name__} of: {sql}",
            plan.identity(),
            plan.loss,
            lambda: (plan.statement(self._engine.relations, self._dialect),),
            plan.draw,
            older=lambda: older_keys(plan),
            repeatable=plan.repeatable,
        )
        fitted: FittedModel = _learning("fitted_model").FittedModel.of(
            plan.columns, plan.fitted(stored), receipt=receipt, left=self._left(), repeated=repeated
        )
        return fitted

    @property
    def watch(self) -> Watch | None:
        """Told how much of a question is done, and 1 at its end. For the owner: time may tell of the data."""
        return self._data.watch

    @watch.setter
    def watch(self, watch: Watch | None) -> None:
        self._data.watch = watch

    def close(self) -> None:
        """Let go of the data and the ledger; what was charged is durable already."""
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def table(self, name: str) -> Frame[Answer, Explanation]:
        """A table of the policy, to ask a question about step by step."""
        nearest(name, self.dataset.tables, "table")
        return Frame(name, self.ask, self.explain)

    def budget(self) -> Balance:
        """What is spent and left, in all and by each analyst."""
        return self._ledger.balance(self.dataset.name)

    def _left(self) -> Spend:
        return self._ledger.balance(self.dataset.name, analyst=self.analyst).left

    def _older(self, plan: Plan) -> Plan:
        """The plan as it was made before keys said their version."""
        return calibrate(plan.bounded, plan.request, self.dataset, in_order_asked=True)

    def _resolved(self, sql: str) -> Query:
        return resolve(parse_sql(sql), self.dataset, self._keys_of_public_table, self._fan_outs.of)

    def _resolved_rows(self, sql: str) -> RowQuery:
        return resolve_rows(parse_sql(sql), self.dataset, self._keys_of_public_table, self._fan_outs.of)

    def _price_of_rows(self, epsilon: Number | None, rho: Number | None) -> Spend:
        """What is paid for something that is learnt from rows, all of it in noise and nothing in δ."""
        if (epsilon is None) == (rho is None):
            raise InvalidInput("This needs one price.", remedy="Give either epsilon or rho.")
        price = (
            ByRho(rho=positive_rho(rho)) if epsilon is None else ByEpsilon(epsilon=positive_epsilon(epsilon))
        )
        loss = charge_of(price, self.dataset)
        check_cap(loss, self.dataset)
        return loss if isinstance(loss, PureLoss) else ConcentratedLoss(rho=loss.rho, delta=Fraction(0))

    def _keys_of_public_table(self, table: str, column: str) -> tuple[KeyValue, ...] | None:
        """The values of a column that anybody may see; None if they are too many, or no keys."""
        if (table, column) not in self._public_keys:
            kind = self.dataset.tables[table].columns[column].type
            keys: tuple[KeyValue, ...] | None = None
            if kind is not ValueType.NUMBER:
                sql = emit_public_keys(
                    self._engine.relations[table], column, kind, _MOST_PUBLIC_KEYS, self._dialect
                )
                values = np.ma.asarray(self._engine.run(sql).reveal()["v"]).tolist()
                if len(values) <= _MOST_PUBLIC_KEYS:
                    keys = tuple(values)
            self._public_keys[table, column] = keys  # not before they were read: a failure is not remembered
        return self._public_keys[table, column]


def _check_identity(table: SyntheticTable, loss: Spend) -> str:
    """What a check of a synthetic table is known by."""
    made = hashlib.sha256(table.encoded).hexdigest()
    return identity_of("check", {"table": table.plan.identity(), "made": made, "price": loss_facts(loss)})


def _learning(part: str) -> ModuleType:
    """Imported when a model is first fitted: scikit-learn is optional, and takes a second."""
    try:
        return import_module(f"discreet.learn.plan.{part}")
    except ImportError as missing:
        raise MissingExtra(
            "This needs scikit-learn, which is not installed.", remedy="pip install 'discreet[learn]'"
        ) from missing
