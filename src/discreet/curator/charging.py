"""All private data that is read for an analyst is read here, and is charged first.

engine.prepare         the engine accepts the SQL; no row is read
ledger.charge          durable, or refused; it pays for one draw, and the time limit begins (`Deadline`)
engine.run             exact integers, never shown
release.draw_noise     the noise
AnswerTimes            held back until the next answer time, if the policy has any
ledger.store_answer    stored before it is used: the answer is computed from what is stored
"""

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from discreet.curator.answer_times import AnswerTimes
from discreet.dialects import DIALECTS
from discreet.engines.base.engine import Engine
from discreet.engines.base.execution import Watch, failed
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineFailed,
    LedgerClosed,
    NeedsApproval,
    QueryRefused,
    TookTooLong,
)
from discreet.ledger.charges import those_who_count
from discreet.ledger.interface import Answered, Cap, Ledger
from discreet.ledger.patient_storing import patiently, store_patiently
from discreet.model.deadline import Deadline
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt
from discreet.release.exact_vectors import Results
from discreet.release.explain import epsilon_of
from discreet.release.protocol import Release
from discreet.sql.spelled_out import check_spelled_out
from discreet.sql.statement import Statement, check_written_size

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class ChargedData:
    """A dataset's engine, and the ledger from which an analyst pays for what it computes."""

    dataset: Dataset
    engine: Engine
    ledger: Ledger
    analyst: str
    caps: Sequence[Cap] = ()
    """What the analyst, or their project, may spend at most, besides the caps of the policy."""
    most_epsilon: Fraction | None = None
    """What costs more needs the owner's approval; None if nothing does."""
    purpose: str = ""
    """What the questions are for. The ledger keeps it with each charge."""
    answer_times: AnswerTimes = field(default_factory=AnswerTimes)
    watch: Watch | None = None
    """Told how much of a question is done, and 1 at its end. For the owner only: timing may leak data. With
    answer times it is not called."""

    def charge_and_draw(
        self, question: str, release: Release, dearer: Callable[[], Answered | None] = lambda: None
    ) -> tuple[Receipt, bytes, bool]:
        """The receipt of a release, what is stored for it, and whether it was drawn before.

        If it was not, it is charged, read, drawn and stored now. The ledger notes the text of the question.
        `dearer` finds what was drawn for the same question at a higher price.
        """
        key, loss = release.identity(), release.loss
        stored = self._stored_or_payable(key, release, dearer)
        if stored is not None:
            return *stored, True
        self._check_purpose()
        self._check_approved(loss)
        statements = self.emit(release)
        self.prepare(statements)
        process = os.getpid()  # before the charge: a child that is forked after it must not draw
        with self.ledger.asking(self.dataset.name, key):
            charged = self.ledger.charge(
                self.dataset.name,
                analyst=self.analyst,
                question=question,
                key=key,
                loss=loss,
                caps=self.caps,
                purpose=self.purpose,
            )
            if isinstance(charged, Answered):  # somebody asked the same, and was faster
                return *charged, True
            drawn = self._draw_once(charged, release, statements, self.deadline(), process)
            return charged, self._store(charged, drawn), False

    def stored(self, release: Release) -> Answered | None:
        """What was drawn for a release before, on this version of the data. Never charges."""
        return self.ledger.stored_answer(self.dataset.name, release.identity(), older=release.older_keys)

    def _stored_or_payable(
        self, key: str, release: Release, dearer: Callable[[], Answered | None]
    ) -> Answered | None:
        """What is stored; BudgetExceeded if nothing is, and it cannot be paid now."""
        try:
            stored = self.ledger.stored_or_payable(
                self.dataset.name,
                analyst=self.analyst,
                key=key,
                loss=release.loss,
                older=release.older_keys,
                caps=self.caps,
            )
        except BudgetExceeded:
            found = dearer()
            if found is None:
                raise
            return found
        return stored or dearer()

    def _check_purpose(self) -> None:
        if self.dataset.purpose_required and not self.purpose.strip():
            raise QueryRefused(
                "The owner of this data wants to know what each question is for. Nothing was spent.",
                remedy="Say it with purpose= in a few words. They are kept with the question.",
            )

    def _check_approved(self, loss: Spend) -> None:
        """Refuse what costs more than may be spent unasked. It is checked here, on what will be charged."""
        if self.most_epsilon is None:
            return
        epsilon = epsilon_of(loss, self.dataset)
        if epsilon > self.most_epsilon:
            raise NeedsApproval(
                f"This costs ε = {epsilon:.4g}. Above {float(self.most_epsilon):.4g} the owner of the data"
                " decides. Nothing was spent.",
                remedy="Ask the owner of the data for approval.",
                price=epsilon,
            )

    def deadline(self) -> Deadline:
        """The time limit of a question, counted from now."""
        return Deadline.after(self.answer_times.limit(self.engine.time_limit))

    def left(self) -> Spend:
        """What this analyst may still spend."""
        balance = self.ledger.balance(self.dataset.name, analysts=those_who_count(self.analyst, self.caps))
        return balance.left_for(self.analyst, self.caps)

    def _draw_once(
        self,
        receipt: Receipt,
        release: Release,
        statements: Sequence[Statement],
        deadline: Deadline,
        process: int,
    ) -> bytes:
        """Draw for a charge, once. If the database fails before that, the charge is not used up.

        After the deadline no draw begins.
        """
        began = False

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
            return self.answer_times.hold_back(lambda: apart(read_and_draw))
        except EngineFailed as failure:
            if began or isinstance(failure, TookTooLong):  # or its timing could be seen again for free
                raise
        _check_not_forked(process)  # a child gives no charge back: its parent may be drawing for it
        raise failed(charged_anew=not (release.repeatable and self._mark_unused(receipt)))

    def _mark_unused(self, receipt: Receipt) -> bool:
        """Whether the same question may use the charge once more; not if the ledger is out of reach too."""
        try:
            return patiently(lambda: self.ledger.mark_unused(receipt))
        except LedgerClosed:
            return False

    def _store(self, receipt: Receipt, drawn: bytes) -> bytes:
        """Store what was drawn for a charge. If that fails, the error says that the charge stays."""
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
        dialect = DIALECTS[self.engine.dialect]
        statements = release.statements(self.engine.relations, dialect)
        check_written_size(statement.sql for statement in statements)
        check_spelled_out(sum(statement.spelled_out for statement in statements))
        return statements

    def prepare(self, statements: Sequence[Statement]) -> None:
        """Have the engine accept what will be run, within the time limit of a question. No row is read."""
        deadline = self.deadline()
        for statement in statements:
            for sql in statement.runs:
                if deadline.is_over:
                    raise planned_too_long(deadline)
                self.engine.prepare(sql, parameters=statement.parameters)

    def read_exact(self, statements: Sequence[Statement], deadline: Deadline) -> Results:
        """Read exact numbers. Hand them only to what adds noise.

        All statements share one deadline.
        """
        watched = None if self.watch is None or self.answer_times.seconds else Watched(self.watch)
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
    """A watch that cannot stop the question: if it raises an error, it is not called again.

    If its error counted as a failure of the database, the charge could be used again: an analyst could see
    the timing, raise an error, and look again for free. And a broken display must not cost anybody an answer.
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
            with suppress(Exception):  # where warnings are errors, this one must not stop the question
                warnings.warn(
                    f"The watch failed ({type(error).__name__}), and is not called again for this question.",
                    stacklevel=2,
                )

    def part(self, statement: int, statements: int) -> Watch:
        """A watch for one statement. It tells the share of all of them, as if each took equally long."""
        return lambda share: self(None if share is None else (statement + share) / statements)


def planned_too_long(deadline: Deadline) -> QueryRefused:
    """The refusal of what could not be planned in time."""
    return QueryRefused(
        f"To plan this question took longer than {deadline.seconds:g} seconds, the time limit of this policy."
        " No data was read and nothing was spent.",
        remedy="Ask for less at once; or ask again when the database has less to do.",
    )


def _check_not_forked(process: int) -> None:
    """A charge pays for one draw, in the process that made it. A forked child must not draw as well."""
    if os.getpid() != process:
        raise EngineFailed(
            "This process was forked while a question was under way, which its parent goes on to answer.",
            remedy="Open the policy in this process, and ask again.",
        )


def apart(action: Callable[[], T]) -> T:
    """The result of an action on exact numbers. Errors are raised without its frames, which hold them."""
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
    """A copy without frames; KeyboardInterrupt if it cannot be copied from its arguments."""
    try:
        return type(stop)(*stop.args)
    except Exception:
        return KeyboardInterrupt()
