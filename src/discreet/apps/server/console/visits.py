"""One request of somebody: who they are, what they sent, and what happens if it goes wrong."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from discreet.apps.server.access_log import ACCOUNT, ROUTE
from discreet.apps.server.api.route import WorkKind
from discreet.apps.server.calls import Workshop
from discreet.apps.server.console.rendering import problem_page, with_headers
from discreet.apps.server.console.sessions import (
    account_of,
    check_csrf,
    check_origin,
    csrf_token,
    session_secret,
)
from discreet.apps.server.problems import HttpProblem
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidInput,
    NotAllowed,
    NotSignedIn,
    NotThere,
    QueryRefused,
    for_page,
)
from discreet.service.service import CuratorService
from discreet.service.user_account import Role, UserAccount
from discreet.web.guarded import body_of

_MOST_FIELDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of an account."""

    request: Request
    service: CuratorService
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
PageEndpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def page(
    workshop: Workshop, path: str, handler: PageHandler, roles: Sequence[Role], work: WorkKind
) -> PageEndpoint:
    """An address for people who are signed in, and have one of these roles."""

    async def answered(request: Request) -> Response:
        secret = session_secret(request)
        account = await workshop.run(WorkKind.QUICK, "", lambda: account_of(workshop.service, secret))
        request.scope[ACCOUNT] = account.name
        sent: dict[str, Any] = {}
        if request.method == "POST":
            check_origin(request)
            sent = _sent(request, await read_body(workshop, request))
            given = request.headers.get("x-csrf-token") or sent.get("csrf", "")
            check_csrf(secret, given if isinstance(given, str) else "")
        account.check_role(*roles)
        visit = Visit(request=request, service=workshop.service, account=account, secret=secret, sent=sent)
        return await workshop.run(work, account.name, lambda: handler(visit))

    return guarded(path, answered)


def guarded(path: str, answered: PageEndpoint) -> PageEndpoint:
    """An address whose errors become pages that say what is wrong, and what to do."""

    async def endpoint(request: Request) -> Response:
        request.scope[ROUTE] = path
        try:
            response = await answered(request)
        except ClientDisconnect:
            response = Response(status_code=400)
        except NotSignedIn as error:
            response = _sign_in_first(request, error)
        except DiscreetError as error:
            response = _problem(request, error, _status(error))
        return with_headers(response)

    return endpoint


async def read_body(workshop: Workshop, request: Request) -> bytes:
    """What was sent, if it is not too much and not too slow."""
    try:
        async with asyncio.timeout(workshop.settings.body_seconds):
            body = await body_of(request, workshop.settings.largest_body)
    except TimeoutError:
        raise InvalidInput("The form took too long to arrive.", remedy="Send it again.") from None
    if body is None:
        raise InvalidInput(
            "This is too large.", remedy=f"Send at most {workshop.settings.largest_body:,} bytes."
        )
    return body


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of a form."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidInput("This form cannot be read.", remedy="Load the page again.") from None
    return dict(pairs)


def _sign_in_first(request: Request, error: NotSignedIn) -> Response:
    if request.method != "GET":
        return _problem(request, error, 401)
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/sign-in?then={quote(path, safe='')}", status_code=303)


def _problem(request: Request, error: DiscreetError, status: int) -> Response:
    if _is_json(request):
        return JSONResponse({"problem": error.problem, "remedy": for_page(error.remedy)}, status_code=status)
    return problem_page(error, status)


def _status(error: DiscreetError) -> int:
    match error:
        case HttpProblem():
            return error.status
        case NotThere():
            return 404
        case NotAllowed():
            return 403
        case InvalidInput():
            return 400
        case QueryRefused() | BudgetExceeded():
            return 422
    return 503


def _is_json(request: Request) -> bool:
    return str(request.headers.get("content-type", "")).startswith("application/json")


def _sent(request: Request, body: bytes) -> dict[str, Any]:
    if not _is_json(request):
        return dict(fields_of(body))
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("This is not a JSON object.", remedy="Load the page again.")
    return found
