"""All that is ever read from the data for an analyst, and charged before.

engine.prepare         the engine accepts the SQL; no row is read
ledger.charge          durable, or refused
engine.run             exact integers, never shown
noised                 what may be shown
ledger.store_answer    kept before it is shown: asking again is free
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.compile.calibrate import Charge
from discreet.compile.dialects import DIALECTS
from discreet.compile.emit_sql import emit_sql
from discreet.compile.exact import Results
from discreet.compile.statement import Planned, Statement
from discreet.engines.engine import Engine
from discreet.engines.running import Watch
from discreet.ledger.ledger import Ledger
from discreet.model.policy import Dataset
from discreet.model.receipt import Receipt


@dataclass(slots=True, kw_only=True)
class ChargedData:
    """A dataset's engine, and the ledger from which an analyst pays for what it computes."""

    dataset: Dataset
    engine: Engine
    ledger: Ledger
    analyst: str
    watch: Watch | None = None
    """Told how much of a question is done, and 1 at its end. For the owner: time may tell of the data."""

    def released(
        self,
        question: str,
        key: str,
        loss: Charge,
        emitted: Callable[[], tuple[Statement, ...]],
        noised: Callable[[Results], bytes],
    ) -> tuple[Receipt, bytes, bool]:
        """What was released for the key, and whether before: else it is charged, read, noised and kept."""
        stored = self.ledger.stored_answer(self.dataset.name, key)
        if stored is not None:
            return *stored, True
        statements = emitted()
        self.prepare(statements)
        receipt = self.charge(question, key, loss)
        return receipt, self.ledger.store_answer(receipt, noised(self.exact(statements))), False

    def emit(self, plan: Planned) -> tuple[Statement, ...]:
        """The statements of a plan; what this engine cannot do soundly is refused."""
        return emit_sql(plan, self.engine.relations, DIALECTS[self.engine.dialect])

    def prepare(self, statements: Sequence[Statement]) -> None:
        """Have the engine accept what will be run. No row is read."""
        for statement in statements:
            for sql in statement.runs:
                self.engine.prepare(sql, parameters=statement.parameters)

    def charge(self, question: str, key: str, loss: Charge) -> Receipt:
        """Durable, or refused."""
        return self.ledger.charge(
            self.dataset.name, analyst=self.analyst, question=question, key=key, loss=loss
        )

    def exact(self, statements: Sequence[Statement]) -> Results:
        """Exact numbers, to be handed to what adds noise and to nothing else."""
        try:
            return [
                (each, rows.reveal())
                for i, each in enumerate(statements)
                for rows in self.engine.run_each(
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
