"""Answers leave at times that are public, so that how long a question took tells next to nothing.

The time of a question depends on the data: one row may decide whether a database skips work for everybody.
No noise covers that. With k answer times after the charge, a question has k outcomes in time instead of any
number: it tells at most log₂ k bits, and with one answer time none. What fails leaves at the same times. That
a question was stopped at its time limit is visible, which is one outcome more.

What is drawn is held back before it is stored, not after. If an analyst stops the wait, or kills the process,
nothing of the draw is kept, whether or not the work was done by then.
"""

import math
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """When outcomes leave. Without any times, as soon as they are there."""

    seconds: tuple[float, ...] = ()
    """After the charge, in ascending order."""

    def limit(self, time_limit: float) -> float:
        """The time limit of a question: no draw begins after the last answer time."""
        return min([time_limit, *self.seconds[-1:]])

    def next_after(self, elapsed: float) -> float:
        """When an outcome leaves that was there after so many seconds.

        Past the last time, at the next multiple of it: a database takes a while to stop.
        """
        if not self.seconds:
            return elapsed
        place = bisect_left(self.seconds, elapsed)
        if place < len(self.seconds):
            return self.seconds[place]
        return math.ceil(elapsed / self.seconds[-1]) * self.seconds[-1]

    def hold_back(self, action: Callable[[], T]) -> T:
        """Run an action, and let its result or its error leave at the next answer time.

        Ctrl-C too takes effect then, whether it stopped the work or the wait: how quickly it did would tell
        whether the work was done, and so would the frames of its traceback.
        """
        if not self.seconds:
            return action()
        begun, result, stop = time.monotonic(), [], None
        try:
            result.append(action())
        except BaseException as error:
            stop = error
        stop = self._wait(begun) or stop
        if stop is not None:
            result.clear()  # its frame must not tell either
            raise stop.with_traceback(None)
        return result[0]

    def _wait(self, begun: float) -> BaseException | None:
        """Wait for the answer time. What would have stopped the wait is returned after it."""
        leave, stop = begun + self.next_after(time.monotonic() - begun), None
        while (left := leave - time.monotonic()) > 0:
            try:
                time.sleep(left)
            except BaseException as error:
                stop = error
        return stop
