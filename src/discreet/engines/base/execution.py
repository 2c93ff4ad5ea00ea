"""How every engine runs a statement: silent about errors, stopped by Ctrl-C or in time, with a sign of
life.
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
    """The result, or None. The error is dropped here, so that nothing can be chained to, logged with or read
    from the frames of what is raised instead: an engine's errors quote cells.
    """
    try:
        return action()
    except Exception:
        return None


def accepted(action: Callable[[], object]) -> bool:
    """Whether a statement is accepted: no error of the database is looked at, or passed on.

    Ctrl-C and want of memory are no refusals, and leave as what they are. The action runs in a thread of its
    own, so that Ctrl-C comes to its caller: DuckDB takes it for a failure of the statement, and says no more.
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
    """For engines whose dialect writes all constants into the SQL: others are not dropped unseen."""
    if parameters:
        raise TypeError("this engine binds no parameters")


def check_process(opened_by: int) -> None:
    """Refuses a process that was forked from the one that opened a database, before anything is charged.

    Its threads do not come along, and a statement would wait for them for ever; its connections do, and two
    processes would read from one.
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

    It runs in a thread of its own, as an engine can go for long without looking whether Ctrl-C was pressed.
    Then, or when the deadline has come, it is interrupted, and waited for: no statement goes on after its
    caller has left. After the deadline nothing is begun.
    """
    deadline.check()
    results: list[T] = []
    finished = threading.Event()

    def work() -> None:
        try:
            outcome = silently(action)
            if outcome is not None:
                results.append(outcome)
        finally:
            finished.set()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        # wait, not join, which takes a thread for ended when it is interrupted (CPython 3.11)
        while not finished.wait(_next_look(deadline, watched=watch is not None)):
            if deadline.is_over:
                break
            if watch is not None:
                watch(silently(progress))
    finally:
        try:
            _stop(interrupt, finished)
        finally:
            worker.join()
    if deadline.is_over:
        results.clear()  # what came just after the end is as late as what was stopped
        raise deadline.took_too_long()
    if not results:
        raise failed()
    return results[0]


def _next_look(deadline: Deadline, *, watched: bool) -> float:
    left = deadline.left
    return min(left, _SECONDS_BETWEEN_SIGNS) if watched else left


def _stop(interrupt: Callable[[], object], finished: threading.Event) -> None:
    """Interrupt until it has ended: a statement that is just about to begin does not notice the first one."""
    while not finished.is_set():
        silently(interrupt)
        finished.wait(_SECONDS_BETWEEN_INTERRUPTS)


def not_accepted() -> QueryRefused:
    """What a database says to SQL of ours that it does not take, before the charge."""
    return QueryRefused(
        "The database does not accept this question. No data was read and nothing was spent.",
        remedy="Ask it in a simpler way, and report it: what discreet takes should run.",
    )
