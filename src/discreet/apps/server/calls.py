"""One request, from bytes to an answer: who calls, may they, what do they want, in which threads.

The order is always the same: the route, the token, the role, the body. So somebody without a token learns
nothing else.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from discreet.apps.server.access_log import ACCOUNT, ROUTE
from discreet.apps.server.api.fields import read_fields, read_json, read_query
from discreet.apps.server.api.route import ApiCall, ApiReply, ApiRoute, WorkKind
from discreet.apps.server.api.table import PREFIX
from discreet.apps.server.pools import WorkPool
from discreet.apps.server.problems import HttpProblem, problem_response
from discreet.apps.server.settings import ServerSettings
from discreet.apps.server.sign_in import SignIn
from discreet.errors import DiscreetError, InvalidInput, NotAllowed
from discreet.service.service import CuratorService
from discreet.service.storage.event_log import Action
from discreet.service.user_account import UserAccount
from discreet.web.guarded import AsgiScope, Receive, Send, body_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from discreet.apps.server.oidc.provider import IdentityProvider
    from discreet.apps.server.oidc.settings import OidcSettings

T = TypeVar("T")
_LONG_THREADS = 2
_ANSWER_STEP = 0.05
"""Seconds. Once an answer time has come, an answer is stored, computed and encoded in some 20 ms. A large
computation before leaves the processor in another state, which is a millisecond more or less."""
_PROVIDER_THREADS = 8


class Workshop:
    """What all routes share: the service, its threads, who may come in."""

    def __init__(self, service: CuratorService, settings: ServerSettings) -> None:
        self.service = service
        self.settings = settings
        self.sign_in = SignIn(service)
        self.provider = None if settings.oidc is None else _provider(settings.oidc)
        threads = {
            WorkKind.ASK: (settings.ask_threads, settings.asks_of_one),
            WorkKind.EXPLAIN: (settings.explain_threads, max(1, settings.explain_threads - 1)),
            WorkKind.QUICK: (settings.quick_threads, settings.quick_threads),
            WorkKind.PROVIDER: (_PROVIDER_THREADS, _PROVIDER_THREADS),
            WorkKind.LONG: (_LONG_THREADS, 1),
        }
        held_back = any(dataset.holds_back for dataset in service.datasets.values())
        steps = {WorkKind.ASK: _ANSWER_STEP} if held_back else {}
        self._pools = {
            work: WorkPool(
                work.value,
                threads=most,
                of_one=of_one,
                most_waiting=settings.most_waiting,
                step_seconds=steps.get(work, 0.0),
            )
            for work, (most, of_one) in threads.items()
        }

    @property
    def asks_under_way(self) -> int:
        return self._pools[WorkKind.ASK].under_way

    async def account_of(self, request: "Request") -> UserAccount:
        """Whose token the request has."""
        header = request.headers.get("authorization")
        client = request.client.host if request.client else ""
        account = await self.run(WorkKind.QUICK, "", lambda: self.sign_in.account(header, client))
        request.scope[ACCOUNT] = account.name
        return account

    async def check_role(self, account: UserAccount, route: ApiRoute) -> None:
        """NotAllowed if the route is not for this role, which the log says too."""
        try:
            account.check_role(*route.roles)
        except NotAllowed:
            details = {"route": f"{route.method} {PREFIX}{route.path}"}
            record = partial(self.service.log.record, Action.REFUSED, who=account.name, details=details)
            await self.run(WorkKind.QUICK, account.name, record)
            raise

    async def perform(
        self,
        route: ApiRoute,
        account: UserAccount,
        path: Mapping[str, str],
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Callable[[], Awaitable[object]],
    ) -> ApiReply:
        """What a route answers to an account: the one way from a request to a charge."""
        await self.check_role(account, route)
        call = ApiCall(
            service=self.service,
            account=account,
            path={**path, "prefix": _receipts(path)},
            query=read_query(query, route.query),
            body=read_fields(await body(), route.fields) if route.method == "POST" else {},
        )
        return await self.run(route.work, account.name, lambda: route.action(call))

    async def run(self, work: WorkKind, account: str, action: Callable[[], T]) -> T:
        return await self._pools[work].run(account, action)

    def close(self, seconds: float = 0.0) -> bool:
        """Begin nothing more. Whether all that was begun has ended after so many seconds."""
        ended = [pool.close(seconds) for pool in self._pools.values()]
        return all(ended)


class Endpoint:
    """All methods of one address, as an ASGI application."""

    def __init__(self, workshop: Workshop, routes: Sequence[ApiRoute]) -> None:
        self._workshop = workshop
        self._routes = {route.method: route for route in routes}
        self._path = PREFIX + routes[0].path

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        from starlette.requests import ClientDisconnect, Request

        scope[ROUTE] = self._path
        request = Request(scope, receive)
        try:
            response = await self._answered(request)
        except ClientDisconnect:
            return  # before its body was there: nothing was begun
        except DiscreetError as error:
            response = problem_response(error)
        await response(scope, receive, send)

    async def _answered(self, request: "Request") -> "Response":
        route = self._routes.get(request.method)
        if route is None:
            return not_this_method(self._routes)
        account = await self._workshop.account_of(request)
        reply = await self._workshop.perform(
            route,
            account,
            request.path_params,
            query=request.query_params.multi_items(),
            body=lambda: read_body(request, self._workshop.settings),
        )
        return _response(reply)


async def read_body(request: "Request", settings: ServerSettings) -> object:
    """The JSON of a request; {} if it has no body. HttpProblem if it is too large, too slow or no JSON."""
    try:
        async with asyncio.timeout(settings.body_seconds):
            body = await body_of(request, settings.largest_body)
    except TimeoutError:
        raise HttpProblem(
            "The body took too long to arrive.", remedy="Send it again.", status=408, name="too-slow"
        ) from None
    if body is None:
        raise HttpProblem(
            f"The body has more than {settings.largest_body:,} bytes.",
            remedy="Send less at once.",
            status=413,
            name="too-large",
        )
    if not body:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpProblem(
            "The body is not said to be JSON.",
            remedy="Send Content-Type: application/json",
            status=415,
            name="unsupported-media-type",
        )
    return read_json(body)


def _provider(settings: "OidcSettings") -> "IdentityProvider":
    from discreet.apps.server.oidc.provider import IdentityProvider

    return IdentityProvider(settings)


def not_this_method(allowed: Mapping[str, object]) -> "Response":
    error = HttpProblem(
        "This address has no such method.",
        remedy=f"Use {' or '.join(allowed)}.",
        status=405,
        name="method-not-allowed",
    )
    return problem_response(error, headers={"allow": ", ".join(allowed)})


def _receipts(path: Mapping[str, str]) -> str:
    """Where the receipts of the request's dataset are."""
    return f"{PREFIX}/datasets/{quote(path.get('name', ''), safe='')}/receipts"


def _response(reply: ApiReply) -> "Response":
    from starlette.responses import Response

    content = reply.content
    if not isinstance(content, str | bytes):
        try:
            content = json.dumps(content, ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise InvalidInput("The answer has no JSON.", remedy="Ask for less at once.") from None
    return Response(
        content if isinstance(content, bytes) else content.encode(errors="replace"),
        status_code=reply.status,
        media_type=reply.media_type,
        headers=dict(reply.headers),
    )
