"""Threads for what is synchronous. Questions may wait for minutes, so they have threads of their own."""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discreet.apps.server.problems import HttpProblem

T = TypeVar("T")


class WorkPool:
    """Some threads, and a fair share of them for each account. Used from one event loop."""

    def __init__(
        self, name: str, *, threads: int, of_one: int, most_waiting: int, step_seconds: float = 0.0
    ) -> None:
        """With `step_seconds`, what calls give leaves at multiples of them after the call."""
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._of_one = of_one
        self._shares: dict[str, asyncio.Semaphore] = {}
        self._most = threads + most_waiting
        self._step_seconds = step_seconds
        self._lock = threading.Lock()
        self._running = 0
        self.under_way = 0
        """Calls that run or wait, and that somebody waits for."""

    async def run(self, account: str, action: Callable[[], T]) -> T:
        """What an action gives. It goes on to its end, even if nobody waits for it any more."""
        if self.under_way >= self._most:
            raise HttpProblem(
                "The service has too much to do.", remedy="Try again in a while.", status=503, name="busy"
            )
        self.under_way += 1
        called = time.monotonic()
        try:
            async with self._shares.setdefault(account, asyncio.Semaphore(self._of_one)):
                return await asyncio.get_running_loop().run_in_executor(self._executor, self._counted, action)
        finally:
            try:
                await self._next_step(called)
            finally:  # whoever waits may be gone, and cancel that
                self.under_way -= 1

    async def _next_step(self, called: float) -> None:
        if self._step_seconds:
            elapsed = time.monotonic() - called
            await asyncio.sleep(math.ceil(elapsed / self._step_seconds) * self._step_seconds - elapsed)

    def close(self, seconds: float) -> bool:
        """Begin nothing more, and wait for what runs. Whether all has ended."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(0.01)
        return not self._running

    def _counted(self, action: Callable[[], T]) -> T:
        with self._lock:
            self._running += 1
        try:
            return action()
        finally:
            with self._lock:
                self._running -= 1
