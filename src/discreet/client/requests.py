"""One request to a service, and its reply.

The token goes to the one host that was named: redirects are refused, and proxies that the environment names
are not used. Certificates are checked.

A request whose connection is lost is sent again. That is safe, as all that a service does for an analyst is
the same when it is done twice: the same question at the same price is charged once, and whoever asks again
gets what was drawn for the first. (If the service itself dies after a charge and before it stored what it
drew, that charge is lost, whoever asks again: see `ledger.interface`.) A request that takes too long is not
sent again: the service may still be at work on it.
"""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

from discreet.client.address import ServiceAddress
from discreet.client.problems import error_of, unexplained
from discreet.errors import DiscreetError, InvalidInput, ServiceUnreachable

T = TypeVar("T")
LARGEST_REPLY = 2**30
"""In bytes."""
USUAL_TIMEOUT = 600.0
"""In seconds: a service may hold answers back for minutes, so that their time tells nothing."""
_CONNECT_SECONDS = 15.0
_PAUSES = (0.2, 1.0)
"""In seconds, before a request is sent again."""
_LOST = (ConnectionError, http.client.HTTPException, ssl.SSLEOFError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Sends requests, each on a connection of its own. Several threads may use it."""

    address: ServiceAddress
    token: str = field(repr=False)
    timeout: float = USUAL_TIMEOUT
    certificates: Path | None = None
    """Of the authorities to trust, as PEM; those of the system if None."""

    def __post_init__(self) -> None:
        if not isinstance(self.token, str) or not self.token.isascii() or not self.token.isprintable():
            raise _bad_token()
        if not self.token or " " in self.token:
            raise _bad_token()

    def reach(self) -> None:
        """ServiceUnreachable if nothing is there. Nothing is sent."""
        self._connected().close()

    def get(self, *path: str) -> Any:
        return self._until_answered(lambda connection: self._answered(connection, "GET", path, None))

    def post(self, *path: str, body: dict[str, Any]) -> Any:
        text = json.dumps(body).encode("ascii")
        return self._until_answered(lambda connection: self._answered(connection, "POST", path, text))

    def forward(self, place: str, message: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """What the service says to a message of JSON-RPC, errors too; None if it says nothing."""
        return self._until_answered(
            lambda connection: self._forwarded(connection, self.address.path + place, message, headers)
        )

    def _until_answered(self, exchange: Callable[[http.client.HTTPConnection], T]) -> T:
        for pause in (*_PAUSES, None):
            connection = self._connected()
            try:
                return exchange(connection)
            except TimeoutError:
                self._took_too_long()
            except _LOST:
                if pause is None:
                    self._lost()
                time.sleep(pause)
            finally:
                connection.close()
        raise AssertionError

    def _answered(
        self, connection: http.client.HTTPConnection, method: str, path: tuple[str, ...], body: bytes | None
    ) -> Any:
        place = "/".join([self.address.prefix, *(quote(part, safe="") for part in path)])
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, place, body, headers)
        with connection.getresponse() as reply:
            found = self._read(reply)
            if found is None or reply.status >= 300:
                raise self._refusal(found, reply.status)
            return found

    def _forwarded(
        self,
        connection: http.client.HTTPConnection,
        place: str,
        message: bytes,
        headers: Mapping[str, str],
    ) -> dict[str, Any] | None:
        own = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", place, message, {**headers, **own})
        with connection.getresponse() as reply:
            found = self._read(reply)
            if reply.status == 202:  # taken, and there is nothing to say to it
                return None
            if isinstance(found, dict) and "jsonrpc" in found:
                return found
            raise self._refusal(found, reply.status)

    def _read(self, reply: http.client.HTTPResponse) -> Any:
        """The JSON of a reply; None if it is not said to be JSON."""
        if 300 <= reply.status < 400:
            self._redirected(reply.headers.get("Location", ""))
        text = self._body(reply)
        return _json(text) if "json" in reply.headers.get("Content-Type", "") else None

    def _refusal(self, found: Any, status: int) -> DiscreetError:
        if status >= 300 and isinstance(found, dict) and ("detail" in found or "title" in found):
            return error_of(found, status)
        return unexplained(status, self.address)

    def _body(self, reply: http.client.HTTPResponse) -> bytes:
        announced = reply.length or 0
        text = b"" if announced > LARGEST_REPLY else reply.read(LARGEST_REPLY + 1)
        if max(announced, len(text)) > LARGEST_REPLY:
            raise ServiceUnreachable(
                f"The reply of {self.address} has more than {LARGEST_REPLY:,} bytes.",
                remedy="Ask for fewer groups: with LIMIT, or by a coarser key.",
            )
        if reply.length:  # it was cut on the way
            raise http.client.IncompleteRead(text, reply.length)
        return text

    def _connected(self) -> http.client.HTTPConnection:
        where = self.address
        connection: http.client.HTTPConnection
        if where.secure:
            context = self._context()
            connection = http.client.HTTPSConnection(
                where.host, where.port, timeout=_CONNECT_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(where.host, where.port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            _not_connected(where, error)
        connection.sock.settimeout(self.timeout)
        return connection

    def _context(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.certificates)
        except (OSError, ValueError):
            raise InvalidInput(
                f"“{self.certificates}” holds no certificates.", remedy="Give a PEM file of authorities."
            ) from None

    def _redirected(self, target: str) -> NoReturn:
        raise ServiceUnreachable(
            f"{self.address} points to another address: {target[:200] or 'which it does not name'}.",
            remedy="The token was not sent there. If you trust that address, connect to it instead.",
        )

    def _took_too_long(self) -> NoReturn:
        raise ServiceUnreachable(
            f"{self.address} gave no answer within {self.timeout:g} seconds.",
            remedy="Ask the same again later: it is charged once, and what was paid for is kept.",
        )

    def _lost(self) -> NoReturn:
        raise ServiceUnreachable(
            f"The connection to {self.address} was lost {len(_PAUSES) + 1} times.",
            remedy="Check the address and whether it is https. Ask the same again later: it is charged once.",
        )


def _not_connected(where: ServiceAddress, error: OSError) -> NoReturn:
    if isinstance(error, ssl.SSLCertVerificationError):
        raise ServiceUnreachable(
            f"The certificate of {where} is not trusted: {error.verify_message}.",
            remedy="Check the host's name. For a certificate of your own authority, set SSL_CERT_FILE.",
        ) from None
    if isinstance(error, ssl.SSLError):
        raise ServiceUnreachable(
            f"{where} does not speak TLS as it should.", remedy="Check the port, and whether it is https."
        ) from None
    if isinstance(error, socket.gaierror):
        raise ServiceUnreachable(f"There is no host “{where.host}”.", remedy="Check the address.") from None
    raise ServiceUnreachable(
        f"Nothing answers at {where}.", remedy="Check the address, and whether the service is running."
    ) from None


def _bad_token() -> InvalidInput:
    return InvalidInput(
        "This is not a token: it is empty, or has spaces or characters that no token has.",
        remedy="Copy the whole token that the owner of the data gave you. It begins with discreet_",
    )


def _json(text: bytes) -> Any:
    """None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
