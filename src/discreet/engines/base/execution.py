"""How every engine runs a statement: silent about errors, stopped by Ctrl-C or at the deadline, with its
progress shown.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from discreet.errors import EngineFailed, PolicyError, QueryRefused
from discreet.model.deadline import Deadline
from discreet.model.expression import Parameter

T = TypeVar("T")

Watch: TypeAlias = Callable[[float | None], None]
"""Told now and then how much of a statement is done, from 0 to 1; None where the engine cannot tell."""

_SECONDS_BETWEEN_SIGNS = 0.2
_SECONDS_BETWEEN_INTERRUPTS = 0.2


def silently(action: Callable[[], T]) -> T | None:
    """The result, or None if there was an error, which is dropped here: an engine's errors quote cells. So it
    cannot be chained, logged, or read from the frames of what is raised instead.
    """
    try:
        return action()
    except Exception:
        return None


def accepted(action: Callable[[], object]) -> bool:
    """Whether a statement is accepted: no error of the database is looked at, or passed on.

    Ctrl-C and MemoryError are no refusals, and are raised as they are. The action runs in a thread of its
    own, so that Ctrl-C reaches the caller: DuckDB would only say that the statement failed.
    """
    out_of_memory: list[bool] = []
    done: list[bool] = []
    finished = threading.Event()

    def work() -> None:
        try:
            action()
            done.append(True)
        except MemoryError:
            out_of_memory.append(True)
        except Exception:
            return
        finally:
            finished.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        finished.wait()
    finally:
        finished.wait()  # no statement goes on after its caller has left
    if out_of_memory:
        raise MemoryError
    return bool(done)


def failed(*, charged_anew: bool = False) -> EngineFailed:
    """The one error for all that goes wrong after the charge."""
    again = "which is charged anew" if charged_anew else "which is not charged twice"
    return EngineFailed(
        "The database failed while it computed the answer. What was charged stays charged.",
        remedy=f"Ask the same again, {again}. If it fails again, ask the owner of the data"
        " to run “discreet check” and to look at memory and disk.",
    )


def bind_nothing(parameters: Sequence[Parameter]) -> None:
    """For engines whose dialect writes all constants into the SQL: parameters are refused, not dropped."""
    if parameters:
        raise TypeError("this engine binds no parameters")


def check_process(opened_by: int) -> None:
    """Refuses a process that was forked from the one that opened a database, before anything is charged.

    A fork does not copy threads, and a statement would wait for them for ever. It does copy connections, and
    two processes would read from one.
    """
    if os.getpid() != opened_by:
        raise PolicyError(
            "This process was forked from the one that opened the data, and the database did not come along."
            " Nothing was spent.",
            remedy="Open the policy in this process. If it uses Spark, start the process by “spawn”, not by"
            " “fork”.",
        )


def run_to_end(
    action: Callable[[], T],
    *,
    interrupt: Callable[[], object],
    deadline: Deadline,
    watch: Watch | None = None,
    progress: Callable[[], float | None] = lambda: None,
) -> T:
    """The result of an action that reads data; one fixed error if it fails, and one if it takes too long.

    It runs in a thread of its own, as an engine may not notice Ctrl-C for long. On Ctrl-C, or at the
    deadline, it is interrupted and waited for: no statement goes on after its caller has left. Nothing
    begins after the deadline.
    """
    deadline.check()
    results: list[T] = []
    begun, left, finished = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            outcome = None if left.is_set() else silently(action)
            if outcome is not None:
                results.append(outcome)
        finally:
            finished.set()

    worker = threading.Thread(target=work, daemon=True)
    try:
        worker.start()  # Ctrl-C may come before it returns, and before or after the thread begins
        # not join(): if it is interrupted, it takes the thread for ended (CPython 3.11)
        while not finished.wait(_next_look(deadline, watched=watch is not None)):
            if deadline.is_over:
                break
            if watch is not None:
                watch(silently(progress))
    finally:
        left.set()
        if begun.is_set():
            try:
                _stop(interrupt, finished)
            finally:
                worker.join()
    if deadline.is_over:
        results.clear()  # a result just after the deadline is late, too
        raise deadline.took_too_long()
    if not results:
        raise failed()
    return results[0]


def _next_look(deadline: Deadline, *, watched: bool) -> float:
    left = deadline.left
    return min(left, _SECONDS_BETWEEN_SIGNS) if watched else left


def _stop(interrupt: Callable[[], object], finished: threading.Event) -> None:
    """Interrupt until it has ended: a statement that is about to begin does not notice the first time."""
    while not finished.is_set():
        silently(interrupt)
        finished.wait(_SECONDS_BETWEEN_INTERRUPTS)


def not_accepted() -> QueryRefused:
    """The error for SQL of ours that a database does not accept, before the charge."""
    return QueryRefused(
        "The database does not accept this question. No data was read and nothing was spent.",
        remedy="Ask it in a simpler way, and report it: what discreet takes should run.",
    )
