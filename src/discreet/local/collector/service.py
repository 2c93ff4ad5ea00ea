"""A collector over HTTP: the page, the survey, reports in, and estimates if the survey's owner shows them.

It sets no cookie, writes no log of requests, and answers every mistake in JSON: what happened and what to do.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.errors import CollectorClosed, DiscreetError, InvalidInput, MissingExtra
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.estimates_json import DEFAULT_MINIMUM, estimates_as_json
from discreet.local.collector.store import LARGEST_BATCH, Collector, too_large
from discreet.local.signing import key_in

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

BODY_SECONDS = 15.0
"""How long a body may take to arrive."""
CACHE_SECONDS = 1.0
PAGE = Path(__file__).parent.parent / "browser"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
}
_ANYONE = {"access-control-allow-origin": "*"}
_PREFLIGHT = {
    **_ANYONE,
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "86400",
}
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_EMPTY_KEY = '<meta name="survey-key" content="">'
_LOG = logging.getLogger(__name__)

AsgiScope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a collector is shown to the world."""

    minimum: int = DEFAULT_MINIMUM
    """A question with fewer reports has no estimate."""
    show_estimates: bool = False
    demo: bool = False
    body_seconds: float = BODY_SECONDS


def application(collector: Collector, signed: str, settings: Settings | None = None) -> "Guarded":
    """The ASGI application; `signed` is the survey's file, as it was opened."""
    load_server()
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    service = _Service(collector, signed, settings or Settings())
    routes = [
        Route("/survey.json", service.survey, methods=["GET"]),
        Route("/reports", service.reports, methods=["POST", "OPTIONS"]),
        Route("/estimate.json", service.estimates, methods=["GET"]),
        Route("/", service.page, methods=["GET"]),
        Route("/{name}", service.page, methods=["GET"]),
    ]
    return Guarded(Starlette(routes=routes, exception_handlers={HTTPException: _not_there}))


def load_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "The parts of a web server are not installed.", remedy='Run: pip install "discreet[server]"'
        ) from None


class Guarded:
    """Adds our headers to every answer, and lets no error out but in our words."""

    def __init__(self, inner: "Starlette") -> None:
        self._inner = inner

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                ours = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *ours]
            await send(message)

        if _has_two_lengths(scope):
            faulty = InvalidInput(
                "The request says in two ways where its body ends.",
                remedy="Send Content-Length, or Transfer-Encoding with HTTP/1.1, but not both.",
            )
            await _told(faulty, 400, {"connection": "close"})(scope, receive, send_with_headers)
            return
        try:
            await self._inner(scope, receive, send_with_headers)
        except Exception as error:
            _LOG.error("a request failed: %s", type(error).__name__)
            if not started:
                failed = CollectorClosed("The collector failed.", remedy="Try again later.")
                await _told(failed, 500)(scope, receive, send_with_headers)


class _Service:
    def __init__(self, collector: Collector, signed: str, settings: Settings) -> None:
        self._collector = collector
        self._signed = signed
        self._settings = settings
        self._files = _page_files(key_in(signed))
        self._estimates: tuple[float, Mapping[str, Any]] | None = None
        self._estimating = asyncio.Lock()

    async def survey(self, _: "Request") -> "Response":
        from starlette.responses import Response

        return Response(self._signed, media_type="application/json", headers=_ANYONE)

    async def page(self, request: "Request") -> "Response":
        from starlette.responses import Response

        found = self._files.get(request.path_params.get("name", "index.html"))
        if found is None:
            return _not_there(request, None)
        return Response(found[0], media_type=found[1])

    async def reports(self, request: "Request") -> "Response":
        from starlette.requests import ClientDisconnect
        from starlette.responses import JSONResponse, Response

        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                body = await _body(request)
        except TimeoutError:
            self._collector.note_rejected(Reason.TOO_SLOW)
            slow = InvalidInput("The batch took too long to arrive.", remedy="Send it again.")
            return _told(slow, 408, {**_ANYONE, "connection": "close"})
        except ClientDisconnect:
            self._collector.note_rejected(Reason.MALFORMED)
            return Response(status_code=400)  # nobody reads it
        if body is None:
            self._collector.note_rejected(Reason.TOO_LARGE)
            return _told(too_large(), 413, {**_ANYONE, "connection": "close"})
        try:
            receipt = await self._collector.add_soon(body)
        except DiscreetError as error:
            return _told(error, 503 if isinstance(error, CollectorClosed) else 400, _ANYONE)
        content = {
            "accepted": receipt.accepted,
            "rejected": receipt.rejected,
            "repeated": receipt.repeated,
        }
        return JSONResponse(content, headers=_ANYONE)

    async def estimates(self, request: "Request") -> "Response":
        from starlette.responses import JSONResponse

        if not self._settings.show_estimates:
            return _not_there(request, None)
        async with self._estimating:  # those who ask meanwhile wait for the same
            if self._estimates is None or self._estimates[0] < monotonic() - CACHE_SECONDS:
                found = await asyncio.to_thread(self._estimated)
                self._estimates = (monotonic(), found)
        return JSONResponse(self._estimates[1])

    def _estimated(self) -> Mapping[str, Any]:
        tallies = self._collector.counts().tallies
        questions = estimates_as_json(self._collector.survey, tallies, minimum=self._settings.minimum)
        return {"demo": self._settings.demo, "questions": questions}


def _has_two_lengths(scope: AsgiScope) -> bool:
    """A proxy may go by the other length, and take one request for two (RFC 9112, 6.1)."""
    names = {name.lower() for name, _ in scope["headers"]}
    other = b"content-length" in names or scope["http_version"] == "1.0"
    return b"transfer-encoding" in names and other


async def _body(request: "Request") -> bytes | None:
    """None as soon as there is more than a batch may have."""
    with suppress(ValueError):
        if int(request.headers.get("content-length", "0")) > LARGEST_BATCH:
            return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BATCH:
            return None
    return bytes(body)


def _page_files(key: str) -> Mapping[str, tuple[bytes, str]]:
    """The page, with the key that its survey is signed with: whoever serves the page is trusted for both."""
    if not PAGE.is_dir():
        return {}
    files = {
        path.name: (path.read_bytes(), _TYPES[path.suffix])
        for path in PAGE.iterdir()
        if path.suffix in _TYPES
    }
    if "index.html" in files:
        filled = _EMPTY_KEY.replace('""', f'"{escape(key)}"')
        page, kind = files["index.html"]
        files["index.html"] = (page.replace(_EMPTY_KEY.encode(), filled.encode()), kind)
    return files


def _not_there(_: "Request", error: Exception | None) -> "Response":
    status = getattr(error, "status_code", 404)
    remedy = "There are /, /survey.json, /reports (POST), and /estimate.json where estimates are shown."
    return _told(InvalidInput("The collector has nothing at this address.", remedy=remedy), status)


def _told(error: DiscreetError, status: int, headers: Mapping[str, str] | None = None) -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse(
        {"problem": error.problem, "remedy": error.remedy}, status_code=status, headers=headers
    )
