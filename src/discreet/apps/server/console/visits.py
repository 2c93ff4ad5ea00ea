"""One request of somebody: who they are, what they sent, and what happens if it goes wrong."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from discreet.apps.server.console.rendering import problem_page, with_headers
from discreet.apps.server.console.sessions import (
    account_of,
    check_csrf,
    check_origin,
    csrf_token,
    session_secret,
)
from discreet.apps.server.console.settings import ConsoleSettings
from discreet.errors import BudgetExceeded, DiscreetError, InvalidInput, QueryRefused
from discreet.service.service import CuratorService
from discreet.service.user_account import NotAllowed, NotSignedIn, Role, UserAccount

MOST_BYTES = 500_000
_MOST_FIELDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of an account."""

    request: Request
    service: CuratorService
    settings: ConsoleSettings
    account: UserAccount
    secret: str
    sent: Mapping[str, Any] = field(default_factory=dict)
    """The fields of a form, or of a JSON object."""

    @property
    def csrf(self) -> str:
        return csrf_token(self.secret)

    def text(self, name: str) -> str:
        """A field of the form; empty if it is missing or no text."""
        value = self.sent.get(name, "")
        return value if isinstance(value, str) else ""

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])


PageHandler: TypeAlias = Callable[[Visit], Response]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def page(service: CuratorService, settings: ConsoleSettings, handler: PageHandler, *roles: Role) -> Endpoint:
    """An address for people who are signed in, and have one of these roles (any, if none is named)."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await _body(request) if request.method == "POST" else b""
            work = partial(_visited, service, settings, handler, roles, request, body)
            return with_headers(await run_in_threadpool(work))
        except ClientDisconnect:
            return Response(status_code=400)

    return endpoint


def anybody(handler: Callable[[Request, bytes], Response]) -> Endpoint:
    """An address for everybody."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await _body(request) if request.method == "POST" else b""
            return with_headers(await run_in_threadpool(_tried, request, partial(handler, request, body)))
        except ClientDisconnect:
            return Response(status_code=400)

    return endpoint


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of a form."""
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace"
        )
    except ValueError:
        raise InvalidInput("This form cannot be read.", remedy="Load the page again.") from None
    return dict(pairs)


def _visited(
    service: CuratorService,
    settings: ConsoleSettings,
    handler: PageHandler,
    roles: tuple[Role, ...],
    request: Request,
    body: bytes,
) -> Response:
    def visit() -> Response:
        secret = session_secret(request, settings)
        account = account_of(service, secret)
        sent = _sent(request, body) if request.method == "POST" else {}
        if request.method == "POST":
            check_origin(request)
            given = request.headers.get("x-csrf-token") or sent.get("csrf", "")
            check_csrf(secret, given if isinstance(given, str) else "")
        if roles:
            account.check_role(*roles)
        found = Visit(
            request=request, service=service, settings=settings, account=account, secret=secret, sent=sent
        )
        return handler(found)

    return _tried(request, visit)


def _tried(request: Request, work: Callable[[], Response]) -> Response:
    """What a handler gives, or a page that says what is wrong and what to do."""
    try:
        return work()
    except NotSignedIn as error:
        if _wants_json(request):
            return _problem_json(error, 401)
        if request.method == "GET":
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/sign-in?then={quote(path, safe='')}", status_code=303)
        return problem_page(error, 401)
    except DiscreetError as error:
        status = _status(error)
        return _problem_json(error, status) if _wants_json(request) else problem_page(error, status)


def _status(error: DiscreetError) -> int:
    match error:
        case NotAllowed():
            return 403
        case InvalidInput():
            return 400
        case QueryRefused() | BudgetExceeded():
            return 422
    return 503


def _wants_json(request: Request) -> bool:
    return str(request.headers.get("content-type", "")).startswith("application/json")


def _problem_json(error: DiscreetError, status: int) -> Response:
    return JSONResponse({"problem": error.problem, "remedy": error.remedy}, status_code=status)


async def _body(request: Request) -> bytes:
    """At most so many bytes; more is cut, and then refused."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > MOST_BYTES:
            return bytes(found[: MOST_BYTES + 1])
    return bytes(found)


def _sent(request: Request, body: bytes) -> dict[str, Any]:
    if len(body) > MOST_BYTES:
        raise InvalidInput("This is too large.", remedy=f"Send at most {MOST_BYTES:,} bytes.")
    if not _wants_json(request):
        return dict(fields_of(body))
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("This is not a JSON object.", remedy="Load the page again.")
    return found
