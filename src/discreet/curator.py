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
from collections.abc import Sequence

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.released import Released
from discreet.compile.bound import bound
from discreet.compile.calibrate import Plan, analyst_cap_of, budget_of, calibrate
from discreet.compile.dialects import DIALECTS
from discreet.compile.emit_sql import Statement, emit_public_keys, emit_sql
from discreet.compile.explain import Explanation, explain
from discreet.compile.frame import Frame
from discreet.compile.parse_sql import parse_sql
from discreet.compile.release import release
from discreet.compile.resolve import resolve
from discreet.compile.scope import nearest
from discreet.engines.engine import Engine
from discreet.engines.running import Watch
from discreet.errors import InvalidInput
from discreet.ledger.ledger import Account, Balance, Ledger
from discreet.model.exact import (
    Number,
    confidence_level,
    exact_fraction,
    positive_epsilon,
    positive_rho,
)
from discreet.model.policy import Dataset, KeyValue, PersonColumn, PrivateTable, ValueType
from discreet.model.receipt import Receipt
from discreet.model.request import ByEpsilon, ByRho, Price, Request, Within

_MOST_PUBLIC_KEYS = 100_000


class Curator:
    """Answers questions about one dataset, for one analyst, within its budget."""

    def __init__(self, dataset: Dataset, engine: Engine, ledger: Ledger, *, analyst: str) -> None:
        self.dataset = dataset
        self.analyst = analyst
        self.watch: Watch | None = None
        """Told how much of a long question is done; for the owner's eyes, as time may tell of the data."""
        self._engine = engine
        self._dialect = DIALECTS[engine.dialect]
        self._ledger = ledger
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
        request = _request(epsilon, rho, within, confidence)
        query = resolve(parse_sql(sql), self.dataset, self._keys_of_public_table)
        return calibrate(bound(query, self.dataset), request, self.dataset)

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
        key = _key(plan)
        stored = self._ledger.stored_answer(self.dataset.name, key)
        if stored is not None:
            return self._answer(*stored, repeated=True)
        statements = emit_sql(plan, self._engine.relations, self._dialect)
        for statement in statements:
            for emitted in statement.runs:
                self._engine.prepare(emitted, parameters=statement.parameters)
        receipt = self._ledger.charge(
            self.dataset.name, analyst=self.analyst, question=sql, key=key, loss=plan.loss
        )
        kept = self._ledger.store_answer(receipt, self._released(plan, statements))
        return self._answer(receipt, kept, repeated=False)

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
        return explain(plan, self.dataset, budget=balance.account.budget, left=balance.left)

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

    def _answer(self, receipt: Receipt, stored: bytes, *, repeated: bool) -> Answer:
        return Answer(
            released=Released.decode(stored),
            charged=receipt.charged,
            left=self.budget().left,
            receipt=receipt,
            repeated=repeated,
        )

    def _released(self, plan: Plan, statements: Sequence[Statement]) -> bytes:
        """Run and add noise. Exact numbers live in this call alone, whatever fails after it."""
        exact = [
            (each, rows.reveal())
            for i, each in enumerate(statements)
            for rows in self._engine.run_each(
                each.runs, self._progress(i, len(statements)), parameters=each.parameters
            )
        ]
        return release(plan, exact).encode()

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


def _request(
    epsilon: Number | None, rho: Number | None, within: Number | None, confidence: Number
) -> Request:
    prices: list[Price] = []
    if epsilon is not None:
        prices.append(ByEpsilon(epsilon=positive_epsilon(epsilon)))
    if rho is not None:
        prices.append(ByRho(rho=positive_rho(rho)))
    if within is not None:
        prices.append(Within(error=exact_fraction(within, "within")))
    if len(prices) != 1:
        raise InvalidInput(
            "A question needs one price, or one accuracy.",
            remedy="Give exactly one of epsilon, rho and within.",
        )
    return Request(price=prices[0], confidence=confidence_level(confidence))


def _key(plan: Plan) -> str:
    """The same for two questions exactly if the same would be run, at the same price."""
    return hashlib.sha256(repr(plan).encode()).hexdigest()


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
