"""A collector over HTTP: the page, the survey, reports in, and estimates if the survey's owner shows them.

It sets no cookie, writes no log of requests, and answers every mistake in JSON: what happened and what to do.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from discreet.errors import CollectorClosed, DiscreetError, InvalidInput
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.estimates_json import DEFAULT_MINIMUM, estimates_as_json
from discreet.local.collector.store import LARGEST_BATCH, Collector, too_large
from discreet.local.signing import key_in
from discreet.web.guarded import Guarded, body_of, load_server, security_headers

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a collector is shown to the world."""

    minimum: int = DEFAULT_MINIMUM
    """A question with fewer reports has no estimate."""
    show_estimates: bool = False
    demo: bool = False
    body_seconds: float = BODY_SECONDS


def application(collector: Collector, signed: str, settings: Settings | None = None) -> Guarded:
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
    return Guarded(
        Starlette(routes=routes, exception_handlers={HTTPException: _not_there}),
        headers=security_headers(_POLICY),
        tell=_told,
        failed=CollectorClosed("The collector failed.", remedy="Try again later."),
    )


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
                body = await body_of(request, LARGEST_BATCH)
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
