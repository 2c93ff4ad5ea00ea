"""Signing in with the account of an organisation: the way to its provider and back.

A browser leaves by a link, not by a form: the policy of our pages lets forms go nowhere but here. It comes
back to a page that leads on by itself, not by a redirect: after a redirect from another site, browsers hold
back the cookie of the new session (SameSite=Strict).
"""

import hmac
import logging
import re
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from discreet.apps.server.access_log import ACCOUNT
from discreet.apps.server.api.route import WorkKind
from discreet.apps.server.calls import Workshop
from discreet.apps.server.console.rendering import rendered
from discreet.apps.server.console.sessions import local_path, with_session
from discreet.apps.server.console.visits import guarded
from discreet.apps.server.oidc.pending import PENDING_SECONDS, PendingSignIn, new_pending, sealed, unsealed
from discreet.apps.server.oidc.provider import IdentityProvider
from discreet.apps.server.oidc.refusals import ProviderFailed, SignInRefused
from discreet.apps.server.oidc.settings import CALLBACK_PATH
from discreet.apps.server.public_address import is_https
from discreet.errors import DiscreetError, NotSignedIn
from discreet.service.identity import Identity

START_PATH = "/sign-in/provider"
_LOG = logging.getLogger(__name__)
_WAY = "oidc"
_LONGEST_CODE = 4_000
_ERROR = re.compile(r"[a-z_]{1,40}")
_OWN_PAGES = ("", "same-origin", "none")
"""What a browser says of a link on our pages, of a bookmark, and if it does not say it."""


def sign_in_page(
    workshop: Workshop, *, then: str = "", error: DiscreetError | None = None, status: int = 200
) -> Response:
    """The form for a token, and the link to the provider if there is one."""
    name, link = "", ""
    if workshop.settings.oidc is not None:
        name = workshop.settings.oidc.name
        link = f"{workshop.settings.oidc.url}{START_PATH}?then={quote(then, safe='')}"
    return rendered(
        "sign_in.html", status=status, visit=None, then=then, error=error, provider=name, link=link
    )


def provider_routes(workshop: Workshop) -> list[BaseRoute]:
    """None if there is no provider."""
    provider = workshop.provider
    if provider is None:
        return []

    async def leaving(request: Request) -> Response:
        return await workshop.run(WorkKind.PROVIDER, "", lambda: _leaving(workshop, provider, request))

    async def back(request: Request) -> Response:
        return await workshop.run(WorkKind.PROVIDER, "", lambda: _back(workshop, provider, request))

    return [
        Route(START_PATH, guarded(START_PATH, leaving), methods=["GET"]),
        Route(CALLBACK_PATH, guarded(CALLBACK_PATH, back), methods=["GET"]),
    ]


def _leaving(workshop: Workshop, provider: IdentityProvider, request: Request) -> Response:
    """To the provider. Pages of others cannot begin a sign-in: they lead to the form."""
    then = request.query_params.get("then", "")
    if request.headers.get("sec-fetch-site", "") not in _OWN_PAGES:
        return RedirectResponse(f"/sign-in?then={quote(then, safe='')}", status_code=303)
    pending = new_pending(then)
    try:
        response = RedirectResponse(provider.sign_in_url(pending), status_code=303)
    except ProviderFailed as error:
        return _failed(workshop, error, then)
    response.set_cookie(
        _cookie_name(request),
        sealed(pending, workshop.service.sign_ins.key()),
        max_age=PENDING_SECONDS,
        path="/",
        secure=is_https(request),
        httponly=True,
        samesite="lax",  # the provider's redirect must bring it along
    )
    return response


def _back(workshop: Workshop, provider: IdentityProvider, request: Request) -> Response:
    """From the provider: a session, or why there is none. Whatever it is, this sign-in is over."""
    response = _answered(workshop, provider, request)
    response.delete_cookie(
        _cookie_name(request), path="/", secure=is_https(request), httponly=True, samesite="lax"
    )
    return response


def _answered(workshop: Workshop, provider: IdentityProvider, request: Request) -> Response:
    client, then = request.client.host if request.client else "", ""
    try:
        pending = _begun(workshop, request)
        then = pending.then
        identity = provider.identity(_code(provider, request), pending)
        account = workshop.service.accounts.with_identity(identity)
        if account is None:
            workshop.sign_in.note_refused(client, way=_WAY, reason="no account", identity=str(identity))
            return _not_bound(provider, identity)
        secret = workshop.service.accounts.open_session(account, way=_WAY, state=pending.state)
    except ProviderFailed as error:
        workshop.sign_in.note_refused(client, way=_WAY, reason=error.reason)
        return _failed(workshop, error, then)
    except NotSignedIn as error:
        reason = error.reason if isinstance(error, SignInRefused) else "it was used before"
        workshop.sign_in.note_refused(client, way=_WAY, reason=reason)
        return sign_in_page(workshop, then=then, error=error, status=401)
    request.scope[ACCOUNT] = account.name
    response = rendered("signed_in.html", visit=None, then=local_path(then), account=account.name)
    return with_session(workshop.service, request, response, secret)


def _begun(workshop: Workshop, request: Request) -> PendingSignIn:
    """The sign-in that this browser began, if that is the one that comes back."""
    found = unsealed(request.cookies.get(_cookie_name(request), ""), workshop.service.sign_ins.key())
    if found is None:
        raise SignInRefused("no sign-in was begun in this browser, or more than ten minutes ago")
    given = _one(request, "state") or ""
    if not hmac.compare_digest(given.encode(errors="replace"), found.state.encode()):
        raise SignInRefused("another sign-in came back (state)")
    return found


def _code(provider: IdentityProvider, request: Request) -> str:
    provider.check_issuer(_one(request, "iss"))
    error = _one(request, "error")
    if error is not None:
        told = error if _ERROR.fullmatch(error) else "an error"
        raise SignInRefused(f"the provider says {told}")
    code = _one(request, "code") or ""
    if not code or len(code) > _LONGEST_CODE:
        raise SignInRefused("there is no code")
    return code


def _one(request: Request, name: str) -> str | None:
    """A parameter of the address; SignInRefused if it is there twice."""
    found: list[str] = request.query_params.getlist(name)
    if len(found) > 1:
        raise SignInRefused(f"the address has two of “{name}”")
    return found[0] if found else None


def _not_bound(provider: IdentityProvider, identity: Identity) -> Response:
    """The same for an account that is revoked as for nobody's."""
    return rendered(
        "not_bound.html", status=403, visit=None, provider=provider.settings.name, identity=str(identity)
    )


def _failed(workshop: Workshop, error: ProviderFailed, then: str) -> Response:
    """The form still takes tokens."""
    _LOG.warning("the provider of sign-ins: %s", error.reason)
    return sign_in_page(workshop, then=then, error=error, status=503)


def _cookie_name(request: Request) -> str:
    return "__Host-discreet-sign-in" if is_https(request) else "discreet-sign-in"
