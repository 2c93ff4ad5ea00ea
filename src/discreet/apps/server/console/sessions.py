"""Signing in and out, and the checks that every POST passes.

A session is a random secret in a cookie that no script can read and no other site can send. A form carries a
second token, which only pages of this session know: an HMAC of the secret. And a browser says where a form
was sent from: that must be this host.
"""

import hashlib
import hmac

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from discreet.apps.server.public_address import is_https
from discreet.apps.server.sign_in import SignIn
from discreet.errors import NotAllowed, NotSignedIn
from discreet.service.accounts import IF_TOKEN_FAILS, SESSION_HOURS, TokenKind
from discreet.service.service import CuratorService
from discreet.service.user_account import UserAccount
from discreet.web.guarded import is_from_this_host

_LONGEST_TOKEN = 200


def cookie_name(request: Request) -> str:
    """With https the browser itself holds it to this host, this path and https."""
    return "__Host-discreet" if is_https(request) else "discreet-session"


def session_secret(request: Request) -> str:
    """The cookie; empty if there is none."""
    return str(request.cookies.get(cookie_name(request), ""))


def account_of(service: CuratorService, secret: str) -> UserAccount:
    """Whose session it is; NotSignedIn if it is nobody's."""
    if not secret or len(secret) > _LONGEST_TOKEN:
        raise NotSignedIn("You are not signed in.", remedy="Sign in with your token.")
    return service.accounts.with_token(secret, TokenKind.SESSION)


def csrf_token(secret: str) -> str:
    """What the forms of a session carry. It does not tell the secret."""
    return hmac.new(secret.encode(), b"discreet console form", hashlib.sha256).hexdigest()


def check_origin(request: Request) -> None:
    """A POST must come from a page of this host. Browsers say so, and scripts cannot change it."""
    if not is_from_this_host(request):
        raise NotAllowed(
            "This form was not sent from a page of this console.",
            remedy="Open the console in this browser, and try again.",
        )


def check_csrf(secret: str, given: str) -> None:
    if not hmac.compare_digest(csrf_token(secret).encode(), given.encode(errors="replace")):
        raise NotAllowed("This page is out of date.", remedy="Load it again, then try once more.")


def sign_in(service: CuratorService, guard: SignIn, request: Request, token: str, then: str) -> Response:
    """A new session for a good token. One from before, whoever set it, ends. NotSignedIn is logged."""
    try:
        if not token or len(token) > _LONGEST_TOKEN:
            raise NotSignedIn("This token is wrong, expired or revoked.", remedy=IF_TOKEN_FAILS)
        account = service.accounts.with_token(token)
    except NotSignedIn:
        guard.note_refused(request.client.host if request.client else "", way="console")
        raise
    secret = service.accounts.open_session(account, way="console")
    response = RedirectResponse(local_path(then), status_code=303)
    return with_session(service, request, response, secret)


def with_session(service: CuratorService, request: Request, response: Response, secret: str) -> Response:
    """The same response, with the cookie of a new session. The one from before ends."""
    _close(service, session_secret(request))
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=SESSION_HOURS * 3600,
        path="/",
        secure=is_https(request),
        httponly=True,
        samesite="strict",
    )
    return response


def sign_out(service: CuratorService, request: Request, secret: str) -> Response:
    """The session ends here and in the browser."""
    _close(service, secret)
    response = RedirectResponse("/sign-in", status_code=303)
    response.delete_cookie(
        cookie_name(request), path="/", secure=is_https(request), httponly=True, samesite="strict"
    )
    return response


def local_path(path: str) -> str:
    """Where to go after signing in: never another host."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain and "\\" not in path else "/console"


def _close(service: CuratorService, secret: str) -> None:
    try:
        account = account_of(service, secret)
    except NotSignedIn:
        return
    service.accounts.close_session(secret, account)
