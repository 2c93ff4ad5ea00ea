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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compile.bound import bound
from discreet.compile.calibrate import Plan, analyst_cap_of, budget_of, calibrate
from discreet.compile.emit_sql import Statement, emit_sql
from discreet.compile.explain import Explanation, explain
from discreet.compile.parse_sql import parse_sql
from discreet.compile.release import groups_of, release
from discreet.compile.resolve import resolve
from discreet.engines.engine import Engine
from discreet.errors import InvalidInput
from discreet.ledger.ledger import Account, Balance, Ledger
from discreet.model.answer import Released
from discreet.model.exact import (
    Number,
    confidence_level,
    exact_fraction,
    positive_epsilon,
    positive_rho,
)
from discreet.model.policy import Dataset, PersonColumn, PrivateTable
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.receipt import Receipt
from discreet.model.request import ByEpsilon, ByRho, Price, Request, Within


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was released, what it cost, and what is left."""

    released: Released
    charged: PureLoss | ConcentratedLoss
    left: PureLoss | ConcentratedLoss
    receipt: Receipt
    repeated: bool
    """Whether the same question had been asked before: then this is the same answer, and was free."""


class Curator:
    """Answers questions about one dataset, for one analyst, within its budget."""

    def __init__(self, dataset: Dataset, engine: Engine, ledger: Ledger, *, analyst: str) -> None:
        self.dataset = dataset
        self.analyst = analyst
        self._engine = engine
        self._ledger = ledger
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
        query = resolve(parse_sql(sql), self.dataset)
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
        table = plan.bounded.query.table.name
        statements = emit_sql(plan, self._engine.relations[table])
        for statement in statements:
            self._engine.prepare(statement.sql)
        receipt = self._ledger.charge(
            self.dataset.name, analyst=self.analyst, question=sql, key=key, loss=plan.loss
        )
        exact = self._exact(plan, statements)
        kept = self._ledger.store_answer(receipt, release(plan, exact).encode())
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
        balance = self.budget()
        return explain(plan, self.dataset, budget=balance.account.budget, left=balance.left)

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

    def _exact(self, plan: Plan, statements: Sequence[Statement]) -> list[NDArray[Any]]:
        """One vector for each sum of the plan, with an entry for each group, 0 where there is no row."""
        positions = {group: i for i, group in enumerate(groups_of(plan))}
        vectors: list[NDArray[Any]] = [np.zeros(len(positions), dtype=object) for _ in plan.bounded.sums]
        for statement in statements:
            table = self._engine.run(statement.sql).reveal()
            groups = list(zip(*(table[name].tolist() for name in statement.keys), strict=True))
            if not statement.keys:
                groups = [()]
            # A group that is not public is not in the answer, and an error about it would name it.
            known = [(row, positions[group]) for row, group in enumerate(groups) if group in positions]
            rows, at = [row for row, _ in known], [place for _, place in known]
            for i in statement.sums:
                vectors[i][at] = table[f"s{i}"][rows]
        return vectors


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
        (table.source, table.person.name if isinstance(table.person, PersonColumn) else "")
        for table in dataset.tables.values()
        if isinstance(table, PrivateTable)
    )
    return hashlib.sha256(json.dumps([dataset.neighbours.value, people]).encode()).hexdigest()
