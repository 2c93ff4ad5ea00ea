"""What every answer of a server has, and what no request may do."""

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from starlette.requests import Request

AsgiScope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]
Tell: TypeAlias = Callable[[DiscreetError, int, Mapping[str, str] | None], AsgiApp]
"""Makes a response of an error."""

_LOG = logging.getLogger(__name__)


def load_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "The parts of a web server are not installed.", remedy='Run: pip install "discreet[server]"'
        ) from None


def security_headers(content_security_policy: str) -> dict[str, str]:
    return {
        "content-security-policy": content_security_policy,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
    }


class Guarded:
    """Adds headers to every answer that has none such, and lets no error out but in our words."""

    def __init__(
        self, inner: AsgiApp, *, headers: Mapping[str, str], tell: Tell, failed: DiscreetError
    ) -> None:
        self._inner = inner
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._tell = tell
        self._failed = failed

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = message.get("headers", [])
                there = {name.lower() for name, _ in own}
                message["headers"] = [*own, *(each for each in self._headers if each[0] not in there)]
            await send(message)

        if _has_two_lengths(scope):
            faulty = InvalidInput(
                "The request says in two ways where its body ends.",
                remedy="Send Content-Length, or Transfer-Encoding with HTTP/1.1, but not both.",
            )
            await self._tell(faulty, 400, {"connection": "close"})(scope, receive, send_with_headers)
            return
        try:
            await self._inner(scope, receive, send_with_headers)
        except Exception as error:
            _LOG.error("a request failed: %s", type(error).__name__)
            if not started:
                await self._tell(self._failed, 500, None)(scope, receive, send_with_headers)


def _has_two_lengths(scope: AsgiScope) -> bool:
    """A proxy may go by the other length, and take one request for two (RFC 9112, 6.1)."""
    names = {name.lower() for name, _ in scope["headers"]}
    other = b"content-length" in names or scope["http_version"] == "1.0"
    return b"transfer-encoding" in names and other


def is_from_this_host(request: "Request") -> bool:
    """Whether a browser says that a page of this host sent it. Scripts cannot change what it says."""
    origin = request.headers.get("origin", "")
    try:
        return bool(origin) and urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


async def body_of(request: "Request", largest: int) -> bytes | None:
    """None as soon as there is more than a body may have."""
    with suppress(ValueError):
        if int(request.headers.get("content-length", "0")) > largest:
            return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            return None
    return bytes(body)
