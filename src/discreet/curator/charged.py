"""All that is ever read from the data for an analyst, and charged before.

engine.prepare         the engine accepts the SQL; no row is read
ledger.charge          durable, or refused; it pays for one draw
engine.run             exact integers, never shown
draw                   the noise
ledger.store_answer    kept before anything depends on it: all the rest is computed from what is stored
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from discreet.compile.calibrate import Charge
from discreet.compile.dialects import DIALECTS
from discreet.compile.emit_sql import emit_sql
from discreet.compile.exact import Results
from discreet.compile.statement import Planned, Statement
from discreet.engines.engine import Engine
from discreet.engines.running import Watch, failed
from discreet.errors import DiscreetError, EngineFailed, TookTooLong
from discreet.ledger.ledger import Answered, Ledger
from discreet.model.policy import Dataset
from discreet.model.receipt import Receipt

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class ChargedData:
    """A dataset's engine, and the ledger from which an analyst pays for what it computes."""

    dataset: Dataset
    engine: Engine
    ledger: Ledger
    analyst: str
    watch: Watch | None = None
    """Told how much of a question is done, and 1 at its end. For the owner: time may tell of the data."""

    def charge_and_draw(
        self,
        question: str,
        key: str,
        loss: Charge,
        emitted: Callable[[], tuple[Statement, ...]],
        draw: Callable[[Results], bytes],
        older: Callable[[], Sequence[str]] = tuple,
        repeatable: bool = True,
    ) -> tuple[Receipt, bytes, bool]:
        """What was drawn for the key, and whether before: else it is charged, read, drawn and stored.

        `older` are keys under which older versions would have stored it. What is not `repeatable` has a key
        that never comes again.
        """
        stored = self.ledger.stored_or_payable(
            self.dataset.name, analyst=self.analyst, key=key, loss=loss, older=older
        )
        if stored is not None:
            return *stored, True
        statements = emitted()
        self.prepare(statements)
        with self.ledger.asking(self.dataset.name, key):
            charged = self.ledger.charge(
                self.dataset.name, analyst=self.analyst, question=question, key=key, loss=loss
            )
            if isinstance(charged, Answered):  # somebody asked the same, and was faster
                return *charged, True
            drawn = self._drawn(charged, statements, draw, repeatable=repeatable)
            return charged, self._stored(charged, drawn), False

    def _drawn(
        self,
        receipt: Receipt,
        statements: Sequence[Statement],
        draw: Callable[[Results], bytes],
        *,
        repeatable: bool,
    ) -> bytes:
        """What is drawn for a charge, once. If the database fails before that, the charge is not used up."""
        began = False

        def read_and_draw() -> bytes:
            nonlocal began
            exact = self.exact(statements)
            began = True
            return draw(exact)

        try:
            return apart(read_and_draw)
        except EngineFailed as failure:
            if began or isinstance(failure, TookTooLong):  # a time that can be looked at again for nothing
                raise
        raise failed(charged_anew=not (repeatable and self.ledger.mark_unused(receipt)))

    def _stored(self, receipt: Receipt, drawn: bytes) -> bytes:
        """What is kept for a charge. If it cannot be, whoever paid is told so before they ask again."""
        try:
            return self.ledger.store_answer(receipt, drawn)
        except DiscreetError as error:
            problem = type(error)(
                f"{error.problem} The question was charged, which stays.",
                remedy=f"{error.remedy} If its answer was not stored, asking again is charged anew.",
            )
        raise problem

    def emit(self, plan: Planned) -> tuple[Statement, ...]:
        """The statements of a plan; what this engine cannot do soundly is refused."""
        return emit_sql(plan, self.engine.relations, DIALECTS[self.engine.dialect])

    def prepare(self, statements: Sequence[Statement]) -> None:
        """Have the engine accept what will be run. No row is read."""
        for statement in statements:
            for sql in statement.runs:
                self.engine.prepare(sql, parameters=statement.parameters)

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


def apart(action: Callable[[], T]) -> T:
    """The result of an action that meets exact numbers. Errors leave without its frames, which hold them."""
    try:
        return action()
    except DiscreetError as error:
        problem: BaseException = type(error)(error.problem, remedy=error.remedy)
    except Exception:
        problem = EngineFailed(
            "The answer could not be computed. What was charged stays charged.",
            remedy="Ask again, which is charged anew; if it fails again, ask for less at once.",
        )
    except BaseException as error:  # Ctrl-C, and what ends the program
        problem = type(error)(*error.args)
    raise problem
