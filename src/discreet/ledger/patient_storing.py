"""Stores what was drawn while it is still in memory: whoever waits a little longer does not pay twice.

A ledger that is busy when a draw is to be stored, because a process was stopped in its turn or a connection
was lost, may be free a minute later. Trying again is safe: the first answer of a key stays, so that a try
whose outcome nobody knows and the next one store the same.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from discreet.errors import LedgerBusy
from discreet.ledger.interface import Ledger
from discreet.model.receipt import Receipt

T = TypeVar("T")

PATIENCE_SECONDS = 180.0
"""Several times as long as a process waits for its turn."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


def store_patiently(ledger: Ledger, receipt: Receipt, answer: bytes) -> bytes:
    """As `store_answer`, again and again while the ledger is busy."""
    return patiently(lambda: ledger.store_answer(receipt, answer))


def patiently(action: Callable[[], T]) -> T:
    """The result of an action that may be done twice, as soon as the ledger is free; LedgerBusy if it stays
    busy.
    """
    give_up, pause = time.monotonic() + PATIENCE_SECONDS, _SHORTEST_PAUSE
    while True:
        try:
            return action()
        except LedgerBusy as busy:
            if time.monotonic() > give_up:
                raise
            _tell(busy, first=pause == _SHORTEST_PAUSE)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _tell(busy: LedgerBusy, *, first: bool) -> None:
    """Warn, the first time, what is waited for and what can be done about it."""
    if first:
        with suppress(Exception):  # where warnings are errors, what was drawn is not lost to one
            warnings.warn(
                f"{busy.problem} The answer to a question that was charged waits for it, for"
                f" {PATIENCE_SECONDS:g} seconds at most, and will be stored then. {busy.remedy}",
                stacklevel=2,
            )
