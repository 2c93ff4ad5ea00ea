"""The ASGI application of a service: the API, its state, what agents use, and the console if it is there."""

import json
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from itertools import groupby
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING

from discreet.apps.server import metrics as prometheus
from discreet.apps.server.access_log import ROUTE, Observed
from discreet.apps.server.api.route import OVERSEERS, WorkKind
from discreet.apps.server.api.table import API_ROUTES, PREFIX
from discreet.apps.server.calls import Endpoint, Workshop
from discreet.apps.server.metrics import Metrics
from discreet.apps.server.openapi import openapi_document
from discreet.apps.server.problems import HttpProblem, problem_response
from discreet.apps.server.settings import ServerSettings
from discreet.errors import DiscreetError
from discreet.service.service import CuratorService
from discreet.web.guarded import AsgiApp, AsgiScope, Guarded, Receive, Send, load_server, security_headers

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

_CONSOLE = "discreet.apps.server.console.routes"
_AGENTS = "discreet.apps.server.agents.endpoint"
_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    **security_headers(_POLICY),
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_TLS_HEADERS = {"strict-transport-security": "max-age=31536000"}
_HEALTH_SECONDS = 1.0
HEALTH_PATH = "/healthz"


def application(
    service: CuratorService, settings: ServerSettings | None = None, workshop: Workshop | None = None
) -> AsgiApp:
    """Close the workshop after it, if you gave one, and then the service."""
    load_server()
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException

    settings = settings or ServerSettings()
    workshop, metrics = workshop or Workshop(service, settings), Metrics()
    routes = [
        *_state_routes(workshop, metrics),
        *_api_routes(workshop),
        _agents(workshop),
        *_console(workshop),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _not_there})
    inner.router.redirect_slashes = False
    inner.state.settings = settings
    headers = _HEADERS | (_TLS_HEADERS if settings.tls else {})
    failed = HttpProblem("The service failed.", remedy="Try again later.", status=500, name="failed")
    guarded = Guarded(_Hosts(inner, settings), headers=headers, tell=problem_response, failed=failed)
    return Observed(guarded, metrics, log=settings.access_log)


class _Hosts:
    """Refuses requests that name another host: a page of an attacker's may have a name that leads here."""

    def __init__(self, inner: AsgiApp, settings: ServerSettings) -> None:
        self._inner = inner
        self._allowed = {host.lower() for host in settings.allowed_hosts}

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        given = [value for name, value in scope["headers"] if name == b"host"]
        known = len(given) == 1 and self._knows(host_name(given[0].decode("latin-1")))
        if known or scope["path"] == HEALTH_PATH:
            await self._inner(scope, receive, send)
            return
        error = HttpProblem(
            "This service is not known by that name.",
            remedy="Call it by its own name, or add the name: discreet serve --allowed-host NAME",
            status=421,
            name="misdirected",
        )
        await problem_response(error)(scope, receive, send)

    def _knows(self, name: str) -> bool:
        """An address is safe too: no name of an attacker's can lead to a page that has it."""
        return name in self._allowed or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    name, _, port = header.rpartition(":")
    if not name or not port.isdecimal():
        name = header
    return name.removeprefix("[").removesuffix("]").lower()


def _api_routes(workshop: Workshop) -> "list[BaseRoute]":
    from starlette.routing import Route

    by_path = groupby(sorted(API_ROUTES, key=attrgetter("path")), key=attrgetter("path"))
    routes = [Route(PREFIX + path, Endpoint(workshop, list(some))) for path, some in by_path]
    document = json.dumps(openapi_document(), ensure_ascii=False)

    async def openapi(request: "Request") -> "Response":
        from starlette.responses import Response

        request.scope[ROUTE] = f"{PREFIX}/openapi.json"
        return Response(document, media_type="application/json")

    return [Route(f"{PREFIX}/openapi.json", openapi, methods=["GET"]), *routes]


def _state_routes(workshop: Workshop, metrics: Metrics) -> "list[BaseRoute]":
    from starlette.responses import Response
    from starlette.routing import Route

    healthy_until = 0.0

    async def health(request: "Request") -> "Response":
        nonlocal healthy_until
        request.scope[ROUTE] = HEALTH_PATH
        try:
            if monotonic() > healthy_until:
                await workshop.run(WorkKind.QUICK, HEALTH_PATH, workshop.service.check_ledgers)
                healthy_until = monotonic() + _HEALTH_SECONDS
        except DiscreetError:
            closed = HttpProblem(
                "The service cannot answer.", remedy="Try again later.", status=503, name="not-ready"
            )
            return problem_response(closed)
        return Response('{"status": "ready"}', media_type="application/json")

    async def counts(request: "Request") -> "Response":
        request.scope[ROUTE] = "/metrics"
        try:
            (await workshop.account_of(request)).check_role(*OVERSEERS)
        except DiscreetError as error:
            return problem_response(error)
        return Response(metrics.text(workshop.asks_under_way), media_type=prometheus.MEDIA_TYPE)

    return [Route(HEALTH_PATH, health, methods=["GET"]), Route("/metrics", counts, methods=["GET"])]


def _agents(workshop: Workshop) -> "BaseRoute":
    from starlette.routing import Route

    agents = import_module(_AGENTS)  # by its name, as it builds on this folder
    return Route(agents.MCP_PATH, agents.AgentEndpoint(workshop))


def _console(workshop: Workshop) -> "list[BaseRoute]":
    """The pages, if templates can be read. They answer what is not under /api, /healthz and /metrics."""
    if find_spec("jinja2") is None:
        return []
    pages = import_module(_CONSOLE)  # by its name, as it builds on this folder
    found: list[BaseRoute] = pages.console_routes(workshop)
    return found


def _not_there(_: "Request", error: Exception) -> "Response":
    status = getattr(error, "status_code", 404)
    if status == 405:
        refused = HttpProblem(
            "This address has no such method.", remedy="Use GET.", status=405, name="method-not-allowed"
        )
        return problem_response(refused, headers=getattr(error, "headers", None))
    missing = HttpProblem(
        "There is nothing at this address.",
        remedy=f"See {PREFIX}/openapi.json for what there is.",
        status=404,
        name="not-there",
    )
    return problem_response(missing)
