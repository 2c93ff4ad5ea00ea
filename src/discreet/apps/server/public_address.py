"""Where people find a service. A proxy may stand before it, and speak HTTPS for it."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from discreet.errors import InvalidInput
from discreet.web.urls import checked_url

if TYPE_CHECKING:
    from starlette.requests import Request

_OPTION = "--public-url"


def read_public_url(given: str) -> str:
    """The same, without a slash at its end."""
    parts = urlsplit(checked_url(given.strip(), _OPTION))
    if parts.path.strip("/"):
        raise InvalidInput(
            f"{_OPTION} has a path. The service needs a name, or a port, of its own.",
            remedy=f"Let the proxy pass on all of {parts.scheme}://{parts.netloc}, and give that.",
        )
    return f"{parts.scheme}://{parts.netloc}".lower()


def is_https(request: "Request") -> bool:
    """With us, or with a proxy before us: our settings say so, or the proxy does.

    Whoever claims it without a proxy is given stricter cookies, and nothing else.
    """
    claimed = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return bool(request.app.state.settings.tls or "https" in (request.url.scheme, claimed))


def public_url(request: "Request") -> str:
    """How the service is called from where the request came. Its Host was checked."""
    known = str(request.app.state.settings.public_url)
    return known or f"http{'s' if is_https(request) else ''}://{request.headers['host']}"
