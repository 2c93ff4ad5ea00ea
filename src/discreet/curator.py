"""The curator: the path of one question, readable top to bottom.

parse_sql → resolve → bound → calibrate      what will be run, and its price; `explain` stops here
engine.prepare                               the engine accepts the SQL; no row is read
ledger.charge                                durable, or refused
engine.run                                   exact integers, never shown
release                                      noise, then free post-processing
ledger.store_answer                          kept before it is shown: asking again is free
"""

import hashlib
import json
import posixpath
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.released import Released
from discreet.compile.bound import bound
from discreet.compile.calibrate import (
    Charge,
    Plan,
    analyst_cap_of,
    budget_of,
    calibrate,
    charge_of,
    check_cap,
)
from discreet.compile.counts import plain_count
from discreet.compile.dialects import DIALECTS
from discreet.compile.emit_sql import emit_public_keys, emit_sql
from discreet.compile.exact import Results
from discreet.compile.explain import Explanation, explain
from discreet.compile.frame import Frame
from discreet.compile.parse_sql import parse_sql
from discreet.compile.release import release
from discreet.compile.resolve import resolve
from discreet.compile.rows import resolve_rows
from discreet.compile.scope import nearest
from discreet.compile.statement import Planned, Statement
from discreet.engines.engine import Engine
from discreet.engines.running import Watch
from discreet.errors import InvalidInput, MissingExtra
from discreet.ledger.ledger import Account, Balance, Ledger
from discreet.model.exact import Number, positive_epsilon, positive_rho
from discreet.model.policy import Dataset, KeyValue, PersonColumn, PrivateTable, ValueType
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.query import Query
from discreet.model.receipt import Receipt
from discreet.model.request import ByEpsilon, ByRho, request_of
from discreet.synth.online.cache import Asked, Cache, encode_readings
from discreet.synth.online.cached import CachedTable
from discreet.synth.online.online import Buy, Pay
from discreet.synth.online.tested import TryGuess
from discreet.synth.release.asked import wanted_of
from discreet.synth.release.attributes import Bins, attributes_of
from discreet.synth.release.explain import SynthesisExplanation, explain_synthesis
from discreet.synth.release.plan import Advance, SynthesisPlan, plan_synthesis
from discreet.synth.release.table import SyntheticTable
from discreet.synth.report.quality import Quality
from discreet.synth.synthetic import decode_measurements, encode_measurements

if TYPE_CHECKING:
    from discreet.learn.release.explain import FitExplanation
    from discreet.learn.release.model import FittedModel
    from discreet.learn.release.plan import FitPlan

_MOST_PUBLIC_KEYS = 100_000


class Curator:
    """Answers questions about one dataset, for one analyst, within its budget."""

    def __init__(self, dataset: Dataset, engine: Engine, ledger: Ledger, *, analyst: str) -> None:
        self.dataset = dataset
        self.analyst = analyst
        self.watch: Watch | None = None
        """Told how much of a question is done, and 1 at its end. For the owner: time may tell of the data."""
        self._engine = engine
        self._dialect = DIALECTS[engine.dialect]
        self._ledger = ledger
        self._caches: dict[str, Cache] = {}
        self._public_keys: dict[tuple[str, str], tuple[KeyValue, ...] | None] = {}
        ledger.open_account(
            Account(
                dataset=dataset.name,
                budget=budget_of(dataset),
                analyst_cap=analyst_cap_of(dataset),
                fingerprint=_fingerprint(dataset),
            )
        )

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
        return calibrate(bound(self._resolved(sql), self.dataset), request, self.dataset)

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
        asked = self._asked_of_cache(plan)
        if asked is not None:
            return self._ask_cache(sql, plan, *asked)
        receipt, stored, repeated = self._released(
            sql, _key(plan), plan.loss, self._emit(plan), lambda exact: release(plan, exact).encode()
        )
        return Answer(
            released=Released.decode(stored),
            charged=receipt.charged,
            left=self.budget().left,
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
        emit_sql(plan, self._engine.relations, self._dialect)  # refuses what this engine cannot do
        balance = self.budget()
        found = explain(plan, self.dataset, budget=balance.account.budget, left=balance.left)
        cached = self._asked_of_cache(plan)
        if cached is None:
            return found
        cache, asked = cached
        return cache.explained(found, asked.step, balance)

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
        rows = resolve_rows(parse_sql(sql), self.dataset, self._keys_of_public_table)
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
        emit_sql(plan, self._engine.relations, self._dialect)  # refuses what this engine cannot do
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
        columns are to be right; or, if a `workload` is given, its questions (`synth.release.asked`).
        """
        plan = self.plan_synthesis(sql, epsilon=epsilon, rho=rho, bins=bins, workload=workload)
        receipt, stored, repeated = self._released(
            sql, _key(plan), plan.loss, self._emit(plan), plan.released
        )
        return SyntheticTable(
            plan=plan,
            encoded=stored,
            charged=receipt.charged,
            left=self.budget().left,
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
        _, stored, _ = self._released(
            f"How good is the synthetic table of receipt {table.receipt.number}?",
            hashlib.sha256(repr(("check", loss)).encode() + table.encoded).hexdigest(),
            loss,
            self._emit(table.plan),
            lambda exact: encode_measurements(table.plan.measured_again(exact, table.learnt, loss)),
        )
        return table.plan.quality(table.learnt, decode_measurements(stored))

    def plan_fit(
        self, model: object, sql: str, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> "FitPlan":
        """What a model would be learnt from, and its price. Reads no data and costs nothing."""
        plan_fit = _learning("plan").plan_fit
        rows = resolve_rows(parse_sql(sql), self.dataset, self._keys_of_public_table)
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

        Bounds, classes and whose privacy it is come from the policy. Rows in which a column is NULL, or has a
        value that is not declared, are left out.
        """
        plan = self.plan_fit(model, sql, epsilon=epsilon, rho=rho)
        receipt, stored, repeated = self._released(
            f"A {type(model).__name__} of: {sql}",
            _key(plan),
            plan.loss,
            lambda: (plan.statement(self._engine.relations, self._dialect),),
            plan.learnt,
        )
        fitted: FittedModel = _learning("model").FittedModel.of(
            plan.columns, plan.fitted(stored), receipt=receipt, left=self.budget().left, repeated=repeated
        )
        return fitted

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

    def _resolved(self, sql: str) -> Query:
        return resolve(parse_sql(sql), self.dataset, self._keys_of_public_table)

    def _asked_of_cache(self, plan: Plan) -> tuple[Cache, Asked] | None:
        """A counting question about cached columns, asked within an error; None for all others."""
        count = plain_count(plan.bounded.query)
        table = None if count is None else self.dataset.tables[count.table]
        if count is None or not isinstance(table, PrivateTable) or not table.cached:
            return None
        if table.name not in self._caches:
            cached = CachedTable.of(table, self.dataset, self._keys_of_public_table)
            self._caches[table.name] = Cache(cached, self._ledger)
        cache = self._caches[table.name]
        asked = cache.ask(count, plan.request, analyst=self.analyst, direct=plan.loss)
        return None if asked is None else (cache, asked)

    def _ask_cache(self, sql: str, plan: Plan, cache: Cache, asked: Asked) -> Answer:
        paid: list[Receipt] = []
        if isinstance(asked.step, TryGuess):
            asked = self._tested(sql, plan, cache, asked, paid)
        if isinstance(asked.step, Pay | Buy):
            paid.append(self._paid(sql, cache, asked, asked.step))
        last, released = cache.answer(asked)
        return Answer(
            released=released,
            charged=cache.charged(paid) if paid else last.charged,
            left=self.budget().left,
            receipt=paid[-1] if paid else last,
            repeated=False,
            cached=not paid,
        )

    def _tested(self, sql: str, plan: Plan, cache: Cache, asked: Asked, paid: list[Receipt]) -> Asked:
        """What a question takes after its test. A run that it starts is among what is paid."""
        with cache.testing:
            now = self._asked_of_cache(plan)  # the run that was under way may be over
            if now is None:
                return asked.failed()
            asked = now[1]
            if not isinstance(asked.step, TryGuess):
                return asked
            check_cap(asked.step.loss, self.dataset)
            narrowed = cache.table.narrowed(asked.step)
            statements = emit_sql(narrowed, self._engine.relations, self._dialect)
            self._prepare(statements)
            paid += cache.begin(asked.step, question=sql, analyst=self.analyst)
            exact = narrowed.exact(asked.step, asked.question, self._exact(statements))
            return cache.test(asked, exact, question=sql, analyst=self.analyst)

    def _paid(self, sql: str, cache: Cache, asked: Asked, step: Pay | Buy) -> Receipt:
        """The reading that a question takes, charged, read, noised and kept."""
        check_cap(step.loss, self.dataset)
        narrowed = cache.table.narrowed(step)
        statements = emit_sql(narrowed, self._engine.relations, self._dialect)
        self._prepare(statements)
        receipt = self._ledger.charge(
            self.dataset.name, analyst=self.analyst, question=sql, key=asked.key, loss=step.loss
        )
        readings = narrowed.measured(step, self._exact(statements))
        encoded = encode_readings(readings)
        if self._ledger.store_answer(receipt, encoded) == encoded:
            cache.paid(asked, readings)  # and not what another process stored first
        return receipt

    def _price_of_rows(self, epsilon: Number | None, rho: Number | None) -> Charge:
        """What is paid for something that is learnt from rows, all of it in noise and nothing in δ."""
        if (epsilon is None) == (rho is None):
            raise InvalidInput("This needs one price.", remedy="Give either epsilon or rho.")
        price = (
            ByRho(rho=positive_rho(rho)) if epsilon is None else ByEpsilon(epsilon=positive_epsilon(epsilon))
        )
        loss = charge_of(price, self.dataset)
        check_cap(loss, self.dataset)
        return loss if isinstance(loss, PureLoss) else ConcentratedLoss(rho=loss.rho, delta=Fraction(0))

    def _released(
        self,
        question: str,
        key: str,
        loss: Charge,
        emitted: Callable[[], tuple[Statement, ...]],
        noised: Callable[[Results], bytes],
    ) -> tuple[Receipt, bytes, bool]:
        """What was released for the key, and whether before: else it is charged, read, noised and kept."""
        stored = self._ledger.stored_answer(self.dataset.name, key)
        if stored is not None:
            return *stored, True
        statements = emitted()
        self._prepare(statements)
        receipt = self._ledger.charge(
            self.dataset.name, analyst=self.analyst, question=question, key=key, loss=loss
        )
        return receipt, self._ledger.store_answer(receipt, noised(self._exact(statements))), False

    def _emit(self, plan: Planned) -> Callable[[], tuple[Statement, ...]]:
        return lambda: emit_sql(plan, self._engine.relations, self._dialect)

    def _prepare(self, statements: Sequence[Statement]) -> None:
        """Have the engine accept what will be run. No row is read."""
        for statement in statements:
            for sql in statement.runs:
                self._engine.prepare(sql, parameters=statement.parameters)

    def _exact(self, statements: Sequence[Statement]) -> Results:
        """Exact numbers, to be handed to what adds noise and to nothing else."""
        try:
            return [
                (each, rows.reveal())
                for i, each in enumerate(statements)
                for rows in self._engine.run_each(
                    each.runs, self._progress(i, len(statements)), parameters=each.parameters
                )
            ]
        finally:
            if self.watch is not None:
                self.watch(1.0)

    def _progress(self, statement: int, statements: int) -> Watch | None:
        """Of all statements together, where each is taken to be as long as the others."""
        watch = self.watch
        if watch is None:
            return None
        return lambda share: watch(None if share is None else (statement + share) / statements)

    def _keys_of_public_table(self, table: str, column: str) -> tuple[KeyValue, ...] | None:
        """The values of a column that anybody may see; None if they are too many, or no keys."""
        if (table, column) not in self._public_keys:
            kind = self.dataset.tables[table].columns[column].type
            self._public_keys[table, column] = None
            if kind is not ValueType.NUMBER:
                sql = emit_public_keys(
                    self._engine.relations[table], column, kind, _MOST_PUBLIC_KEYS, self._dialect
                )
                values = np.ma.asarray(self._engine.run(sql).reveal()["v"]).tolist()
                if len(values) <= _MOST_PUBLIC_KEYS:
                    self._public_keys[table, column] = tuple(values)
        return self._public_keys[table, column]


def _key(plan: "Plan | SynthesisPlan | FitPlan") -> str:
    """The same for two questions exactly if the same would be run, at the same price."""
    return hashlib.sha256(repr(plan).encode()).hexdigest()


def _learning(part: str) -> ModuleType:
    """Imported when a model is first fitted: scikit-learn is optional, and takes a second."""
    try:
        return import_module(f"discreet.learn.release.{part}")
    except ImportError as missing:
        raise MissingExtra(
            "This needs scikit-learn, which is not installed.", remedy="pip install 'discreet[learn]'"
        ) from missing


def _fingerprint(dataset: Dataset) -> str:
    """Whose privacy it is: the sources and their person columns."""
    people = sorted(
        (
            posixpath.normpath(table.source),
            table.person.name if isinstance(table.person, PersonColumn) else "",
        )
        for table in dataset.tables.values()
        if isinstance(table, PrivateTable)
    )
    return hashlib.sha256(json.dumps([dataset.neighbours.value, people]).encode()).hexdigest()
