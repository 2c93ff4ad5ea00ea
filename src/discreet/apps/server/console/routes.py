"""All addresses of the console."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from discreet.apps.server.api.route import EVERYBODY, OVERSEERS, WorkKind
from discreet.apps.server.calls import Workshop
from discreet.apps.server.console import asking, overseeing, receipts
from discreet.apps.server.console.provider_sign_in import provider_routes, sign_in_page
from discreet.apps.server.console.public import public_page
from discreet.apps.server.console.rendering import MEDIA_TYPES, static_digest, static_files
from discreet.apps.server.console.sessions import check_origin, sign_in, sign_out
from discreet.apps.server.console.visits import (
    PageHandler,
    Visit,
    fields_of,
    guarded,
    page,
    read_body,
)
from discreet.errors import NotSignedIn
from discreet.service.user_account import Role

_KEPT_FOR = "public, max-age=31536000, immutable"
_STATIC = "/console/static/{digest}/{name}"
_ASKERS = (Role.ANALYST, Role.OWNER)
_OWNERS = (Role.OWNER,)


def console_routes(workshop: Workshop) -> list[BaseRoute]:
    """For the application, at its root."""
    return [*_open_routes(workshop), *_analyst_routes(workshop), *_owner_routes(workshop)]


def _open_routes(workshop: Workshop) -> list[BaseRoute]:
    """For everybody."""

    async def root(_: Request) -> Response:
        return RedirectResponse("/console", status_code=303)

    async def sign_in_form(request: Request) -> Response:
        return sign_in_page(workshop, then=request.query_params.get("then", ""))

    async def signed_in(request: Request) -> Response:
        check_origin(request)
        sent = fields_of(await read_body(workshop, request))
        token, then = sent.get("token", "").strip(), sent.get("then", "")
        try:
            return await workshop.run(
                WorkKind.QUICK, "", lambda: sign_in(workshop.service, workshop.sign_in, request, token, then)
            )
        except NotSignedIn as error:
            return sign_in_page(workshop, then=then, error=error, status=401)

    async def public(request: Request) -> Response:
        show = workshop.service, workshop.settings, request
        return await workshop.run(WorkKind.QUICK, "", lambda: public_page(*show))

    return [
        Route("/", guarded("/", root), methods=["GET"]),
        Route("/sign-in", guarded("/sign-in", sign_in_form), methods=["GET"]),
        Route("/sign-in", guarded("/sign-in", signed_in), methods=["POST"]),
        *provider_routes(workshop),
        Route(_STATIC, guarded(_STATIC, _static), methods=["GET"]),
        Route("/public/{dataset}", guarded("/public/{dataset}", public), methods=["GET"]),
    ]


def _analyst_routes(workshop: Workshop) -> list[BaseRoute]:
    explain, ask = WorkKind.EXPLAIN, WorkKind.ASK
    return [
        _post(workshop, "/sign-out", _signed_out),
        _get(workshop, "/console", asking.home),
        _get(workshop, "/ask/{dataset}", asking.ask_page, _ASKERS),
        _get(workshop, "/history", asking.history, _ASKERS),
        _post(workshop, "/console/explain", asking.explain_question, _ASKERS, work=explain),
        _post(workshop, "/console/ask", asking.ask_question, _ASKERS, work=ask),
        _post(workshop, "/console/combine", receipts.combine_cells, work=explain),
        _get(workshop, "/receipts/{dataset}/{number:int}", receipts.receipt_page, work=explain),
        _get(workshop, "/receipts/{dataset}/{number:int}.json", receipts.receipt_json),
        _get(workshop, "/receipts/{dataset}/{number:int}.csv", receipts.receipt_csv),
        _get(workshop, "/receipts/{dataset}/{number:int}.arrow", receipts.receipt_arrow),
    ]


def _owner_routes(workshop: Workshop) -> list[BaseRoute]:
    reads, owns, long = OVERSEERS, _OWNERS, WorkKind.LONG
    return [
        _get(workshop, "/owner/datasets/{dataset}", overseeing.overview, reads, work=long),
        _post(workshop, "/owner/datasets/{dataset}/verify", overseeing.verify, reads, work=long),
        _get(workshop, "/owner/datasets/{dataset}/policy", overseeing.policy, reads),
        _get(workshop, "/owner/approvals", overseeing.approvals, reads),
        _post(workshop, "/owner/approvals/{approval}", overseeing.decide, owns),
        _get(workshop, "/owner/accounts", overseeing.accounts, reads),
        _post(workshop, "/owner/accounts", overseeing.add_account, owns),
        _post(workshop, "/owner/accounts/{name}", overseeing.change_account, owns),
        _post(workshop, "/owner/projects", overseeing.set_project, owns),
        _get(workshop, "/owner/log", overseeing.log, reads, work=long),
        _get(workshop, "/owner/log.jsonl", overseeing.log_export, reads, work=long),
    ]


def _get(
    workshop: Workshop,
    path: str,
    handler: PageHandler,
    roles: tuple[Role, ...] = EVERYBODY,
    work: WorkKind = WorkKind.QUICK,
) -> BaseRoute:
    return Route(path, page(workshop, path, handler, roles, work), methods=["GET"])


def _post(
    workshop: Workshop,
    path: str,
    handler: PageHandler,
    roles: tuple[Role, ...] = EVERYBODY,
    work: WorkKind = WorkKind.QUICK,
) -> BaseRoute:
    return Route(path, page(workshop, path, handler, roles, work), methods=["POST"])


def _signed_out(visit: Visit) -> Response:
    return sign_out(visit.service, visit.request, visit.secret)


async def _static(request: Request) -> Response:
    """A page of another version may name another digest: it gets our file, and keeps it not."""
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None:
        return Response(status_code=404)
    kind = MEDIA_TYPES[name.rsplit(".", 1)[1]]
    same = request.path_params["digest"] == static_digest()
    return Response(content, media_type=kind, headers={"Cache-Control": _KEPT_FOR} if same else {})
