"""All addresses of the console."""

from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from discreet.apps.server.console import asking, overseeing, receipts
from discreet.apps.server.console.public import public_page
from discreet.apps.server.console.rendering import MEDIA_TYPES, rendered, static_file
from discreet.apps.server.console.sessions import check_origin, sign_in, sign_out
from discreet.apps.server.console.settings import ConsoleSettings
from discreet.apps.server.console.visits import PageHandler, Visit, anybody, fields_of, page
from discreet.service.service import CuratorService
from discreet.service.user_account import NotSignedIn, Role

_KEPT_FOR = "public, max-age=31536000, immutable"


def console_routes(service: CuratorService, settings: ConsoleSettings) -> list[BaseRoute]:
    """For the application to mount at its root."""

    def get(path: str, handler: PageHandler, *roles: Role) -> BaseRoute:
        return Route(path, page(service, settings, handler, *roles), methods=["GET"])

    def post(path: str, handler: PageHandler, *roles: Role) -> BaseRoute:
        return Route(path, page(service, settings, handler, *roles), methods=["POST"])

    reads, owns = (Role.OWNER, Role.AUDITOR), (Role.OWNER,)
    return [
        Route("/", anybody(lambda *_: RedirectResponse("/console", status_code=303))),
        Route("/sign-in", anybody(_sign_in_form), methods=["GET"]),
        Route("/sign-in", anybody(partial(_signed_in, service, settings)), methods=["POST"]),
        Route("/console/static/{name}", anybody(_static)),
        Route("/public/{dataset}", anybody(lambda request, _: public_page(service, settings, request))),
        post("/sign-out", _signed_out),
        get("/console", asking.home),
        get("/ask/{dataset}", asking.ask_page),
        get("/history", asking.history),
        post("/console/explain", asking.explain_question),
        post("/console/ask", asking.ask_question),
        post("/console/combine", receipts.combine_cells),
        get("/receipts/{dataset}/{number:int}", receipts.receipt_page),
        get("/receipts/{dataset}/{number:int}.json", receipts.receipt_json),
        get("/receipts/{dataset}/{number:int}.csv", receipts.receipt_csv),
        get("/owner/datasets/{dataset}", overseeing.overview, *reads),
        post("/owner/datasets/{dataset}/verify", overseeing.verify, *reads),
        get("/owner/datasets/{dataset}/policy", overseeing.policy, *reads),
        get("/owner/approvals", overseeing.approvals, *reads),
        post("/owner/approvals/{approval}", overseeing.decide, *owns),
        get("/owner/accounts", overseeing.accounts, *reads),
        post("/owner/accounts", overseeing.add_account, *owns),
        post("/owner/accounts/{name}", overseeing.change_account, *owns),
        post("/owner/projects", overseeing.set_project, *owns),
        get("/owner/log", overseeing.log, *reads),
        get("/owner/log.jsonl", overseeing.log_export, *reads),
    ]


def _sign_in_form(request: Request, _: bytes) -> Response:
    return rendered("sign_in.html", visit=None, then=request.query_params.get("then", ""), error=None)


def _signed_in(service: CuratorService, settings: ConsoleSettings, request: Request, body: bytes) -> Response:
    check_origin(request)
    sent = fields_of(body)
    try:
        return sign_in(service, settings, request, sent.get("token", "").strip(), sent.get("then", ""))
    except NotSignedIn as error:
        return rendered("sign_in.html", status=401, visit=None, then=sent.get("then", ""), error=error)


def _signed_out(visit: Visit) -> Response:
    return sign_out(visit.service, visit.settings, visit.secret)


def _static(request: Request, _: bytes) -> Response:
    name = request.path_params["name"]
    content = static_file(name)
    if content is None:
        return Response(status_code=404)
    kind = MEDIA_TYPES[name.rsplit(".", 1)[1]]
    return Response(content, media_type=kind, headers={"Cache-Control": _KEPT_FOR})
