"""One line of JSON for each request: which route, by whom, with what result. No value, no token."""

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime
from time import perf_counter

from discreet.apps.server.metrics import Metrics
from discreet.web.guarded import AsgiApp, AsgiScope, Message, Receive, Send

ROUTE, ACCOUNT = "discreet.route", "discreet.account"
"""Where a request's scope says which route it took, and whose it is."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Observed:
    """Counts all that an application answers, and writes a line for it."""

    def __init__(self, inner: AsgiApp, metrics: Metrics, *, log: bool) -> None:
        self._inner = inner
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        begun, status = perf_counter(), 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._inner(scope, receive, send_and_note)
        finally:
            if scope["type"] == "http":
                self._note(scope, status, perf_counter() - begun)

    def _note(self, scope: AsgiScope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = route_of(scope)
        self._metrics.count(method, route, status, seconds)
        if not self._log:
            return
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "method": method,
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "account": scope.get(ACCOUNT),
        }
        with suppress(OSError, ValueError):  # a full disk, or a reader that is gone: the service goes on
            sys.stderr.write(json.dumps(line) + "\n")
            sys.stderr.flush()


def route_of(scope: AsgiScope) -> str:
    """The template of the route, such as /api/v1/datasets/{name}/ask, or which page of the console."""
    if ROUTE in scope:
        return str(scope[ROUTE])
    page = getattr(scope.get("endpoint"), "__name__", None)
    return "none" if page is None else f"console {page}"
