"""All that is ever read from the data for an analyst, and charged before.

engine.prepare         the engine accepts the SQL; no row is read
ledger.charge          durable, or refused; it pays for one draw, and from here on time runs (`Deadline`)
engine.run             exact integers, never shown
release.draw_noise     the noise
ledger.store_answer    kept before anything depends on it: all the rest is computed from what is stored
"""

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from discreet.dialects import DIALECTS
from discreet.engines.base.engine import Engine
from discreet.engines.base.execution import Watch, failed
from discreet.errors import DiscreetError, EngineFailed, LedgerClosed, TookTooLong
from discreet.ledger.interface import Answered, Ledger
from discreet.ledger.patient_storing import patiently, store_patiently
from discreet.model.deadline import Deadline
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt
from discreet.release.exact_vectors import Results
from discreet.release.protocol import Release
from discreet.sql.statement import Statement

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

    def charge_and_draw(self, question: str, release: Release) -> tuple[Receipt, bytes, bool]:
        """What is stored for a release, its receipt, and whether it was drawn before.

        If it was not, it is charged, read, drawn and stored now. The ledger notes the text of the question.
        """
        key, loss = release.identity(), release.loss
        stored = self.ledger.stored_or_payable(
            self.dataset.name, analyst=self.analyst, key=key, loss=loss, older=release.older_keys
        )
        if stored is not None:
            return *stored, True
        statements = self.emit(release)
        self.prepare(statements)
        with self.ledger.asking(self.dataset.name, key):
            charged = self.ledger.charge(
                self.dataset.name, analyst=self.analyst, question=question, key=key, loss=loss
            )
            if isinstance(charged, Answered):  # somebody asked the same, and was faster
                return *charged, True
            drawn = self._draw_once(charged, release, statements, self.deadline())
            return charged, self._store(charged, drawn), False

    def deadline(self) -> Deadline:
        """For all that is done for a charge, which was just made."""
        return Deadline.after(self.engine.time_limit)

    def left(self) -> Spend:
        """What is left of the budget."""
        return self.ledger.balance(self.dataset.name, analyst=self.analyst).left

    def _draw_once(
        self, receipt: Receipt, release: Release, statements: Sequence[Statement], deadline: Deadline
    ) -> bytes:
        """Draw for a charge, once. If the database fails before that, the charge is not used up.

        After the deadline no draw begins.
        """
        began, process = False, os.getpid()

        def read_and_draw() -> bytes:
            nonlocal began
            exact = self.read_exact(statements, deadline)
            deadline.check()
            began = True
            _check_not_forked(process)
            drawn = release.draw_noise(exact, deadline)
            _check_not_forked(process)
            return drawn

        try:
            return apart(read_and_draw)
        except EngineFailed as failure:
            if began or isinstance(failure, TookTooLong):  # a time that can be looked at again for nothing
                raise
        raise failed(charged_anew=not (release.repeatable and self._mark_unused(receipt)))

    def _mark_unused(self, receipt: Receipt) -> bool:
        """Whether the same question may use the charge once more; not if the ledger is out of reach too."""
        try:
            return patiently(lambda: self.ledger.mark_unused(receipt))
        except LedgerClosed:
            return False

    def _store(self, receipt: Receipt, drawn: bytes) -> bytes:
        """Keep what was drawn for a charge. If that fails, whoever paid is told so before they ask again."""
        try:
            return store_patiently(self.ledger, receipt, drawn)
        except DiscreetError as error:
            problem = type(error)(
                f"{error.problem} The question was charged, which stays.",
                remedy=f"{error.remedy} If its answer was not stored, asking again is charged anew.",
            )
        raise problem

    def emit(self, release: Release) -> tuple[Statement, ...]:
        """The statements of a release; what this engine cannot do soundly is refused."""
        return release.statements(self.engine.relations, DIALECTS[self.engine.dialect])

    def prepare(self, statements: Sequence[Statement]) -> None:
        """Have the engine accept what will be run. No row is read."""
        for statement in statements:
            for sql in statement.runs:
                self.engine.prepare(sql, parameters=statement.parameters)

    def read_exact(self, statements: Sequence[Statement], deadline: Deadline) -> Results:
        """Read exact numbers, to be handed to what adds noise and to nothing else.

        Each statement has what is left of the time.
        """
        watched = None if self.watch is None else Watched(self.watch)
        try:
            return [
                (each, rows.reveal())
                for i, each in enumerate(statements)
                for rows in self.engine.run_each(
                    each.runs,
                    watched and watched.part(i, len(statements)),
                    parameters=each.parameters,
                    deadline=deadline,
                )
            ]
        finally:
            if watched is not None:
                watched(1.0)


class Watched:
    """A watch that cannot stop what it watches: an error of its own ends the watching.

    Were it taken for a failure of the database, the charge would not be used up: whoever raises one after a
    look at the time would look again for nothing. And whoever pays does not lose it to a broken display.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch: Watch | None = watch

    def __call__(self, share: float | None) -> None:
        if self._watch is None:
            return
        try:
            self._watch(share)
        except Exception as error:
            self._watch = None
            with suppress(Exception):  # where warnings are errors, it is one of the watch too
                warnings.warn(
                    f"The watch failed ({type(error).__name__}), and is not called again for this question.",
                    stacklevel=2,
                )

    def part(self, statement: int, statements: int) -> Watch:
        """Of all statements together, where each is taken to be as long as the others."""
        return lambda share: self(None if share is None else (statement + share) / statements)


def _check_not_forked(process: int) -> None:
    """A charge pays for one draw: of the process that made it, and not of its children too."""
    if os.getpid() != process:
        raise EngineFailed(
            "This process was forked while a question was under way, which its parent goes on to answer.",
            remedy="Open the policy in this process, and ask again.",
        )


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
        problem = _alike(error)
    raise problem


def _alike(stop: BaseException) -> BaseException:
    """The same again, without frames; one that somebody else made may not let itself be made again."""
    try:
        return type(stop)(*stop.args)
    except Exception:
        return KeyboardInterrupt()
