"""POST /mcp: what every request passes before the protocol sees it. The checks are those of the API.

Nothing is kept between two requests, so there is no session, no stream to open with GET, and nothing to end
with DELETE.
"""

import json
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from discreet.apps.server.access_log import ROUTE
from discreet.apps.server.agents.results import CALLER, ToolCall
from discreet.apps.server.api.route import WorkKind
from discreet.apps.server.calls import Workshop, not_this_method, read_body
from discreet.apps.server.problems import HttpProblem, headers_of, problem_json
from discreet.apps.server.public_address import public_url
from discreet.errors import DiscreetError, NotAllowed, for_json
from discreet.web.guarded import AsgiApp, AsgiScope, Message, Receive, Send, is_from_this_host

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MCP_PATH = "/mcp"
_PROTOCOL = "discreet.apps.server.agents.protocol"
_INVALID_REQUEST = -32600


class AgentEndpoint:
    """An ASGI application. The package mcp is imported when the first agent comes."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        from starlette.requests import ClientDisconnect, Request

        scope[ROUTE] = MCP_PATH
        request = Request(scope, receive)
        if request.method != "POST":
            await not_this_method({"POST": self})(scope, receive, send)
            return
        try:
            caller = await self._caller(request)
            protocol = await self._workshop.run(WorkKind.QUICK, "", lambda: self._protocol)
            body = json.dumps(await read_body(request, self._workshop.settings)).encode()
        except ClientDisconnect:
            return  # before its body was there: nothing was begun
        except DiscreetError as error:
            await _refusal(error)(scope, receive, send)
            return
        scope[CALLER] = caller
        await protocol(scope, _with_body(body, receive), send)

    async def _caller(self, request: "Request") -> ToolCall:
        if "origin" in request.headers and not is_from_this_host(request):
            raise NotAllowed(
                "This was sent by a page of another site.", remedy="Call the service from a program of yours."
            )
        account = await self._workshop.account_of(request)
        return ToolCall(account=account, service=public_url(request))

    @cached_property
    def _protocol(self) -> AsgiApp:
        """HttpProblem if the package is not there, or of a version that is too old."""
        try:
            found: AsgiApp = import_module(_PROTOCOL).agent_protocol(self._workshop)
        except ImportError:
            raise _not_installed() from None
        return found


def _not_installed() -> HttpProblem:
    return HttpProblem(
        "This service has no tools for agents: the package mcp is not installed.",
        remedy='Whoever runs the service can add it: pip install "discreet[server,mcp]"',
        status=501,
        name="missing-extra",
    )


def _refusal(error: DiscreetError) -> "Response":
    """The status of the API, and an error of JSON-RPC: programs of agents show its message to people."""
    from starlette.responses import Response

    problem = problem_json(error)
    told = {"code": _INVALID_REQUEST, "message": f"{error.problem} {for_json(error.remedy)}", "data": problem}
    return Response(
        json.dumps({"jsonrpc": "2.0", "id": None, "error": told}, ensure_ascii=False),
        status_code=problem["status"],
        headers=headers_of(problem["status"]),
        media_type="application/json",
    )


def _with_body(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, and then whatever the connection says."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
