"""Requests to a provider. A provider that is slow, or says too much, is given up.

Nothing is sent to another address than the one that was named: redirects are refused, and proxies that the
environment names are not used. Certificates are checked.
"""

import http.client
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socket import SHUT_RDWR
from typing import Any
from urllib.parse import urlencode

from discreet.apps.server.oidc.refusals import ProviderFailed
from discreet.web.urls import split_url

_SECONDS = 5.0
"""For all of a request, after the connection is there; and as much for the connection."""
_LARGEST = 1_000_000
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderReply:
    status: int
    facts: Mapping[str, Any]
    """The JSON object; empty if it was none."""


def fetch(
    url: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> ProviderReply:
    """GET, or POST if there is a form."""
    parts = split_url(url)
    if parts is None or not parts.hostname:
        raise ProviderFailed("it names an address that is no URL")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    body = None if form is None else urlencode(form).encode()
    sent = {"Accept": "application/json", "Connection": "close", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = _FORM
    try:
        with _connected(parts.scheme, parts.hostname, parts.port) as connection:
            connection.request("GET" if body is None else "POST", target, body, sent)
            with connection.getresponse() as reply:
                return _read(reply, parts.netloc)
    except ssl.SSLCertVerificationError as error:
        raise ProviderFailed(
            f"the certificate of {parts.netloc} is not trusted: {error.verify_message}"
        ) from None
    except (OSError, http.client.HTTPException, UnicodeError):
        raise ProviderFailed(f"{parts.netloc} does not answer") from None


def _read(reply: http.client.HTTPResponse, host: str) -> ProviderReply:
    if 300 <= reply.status < 400:
        raise ProviderFailed(f"{host} points to another address")
    text = reply.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise ProviderFailed(f"{host} sends more than {_LARGEST:,} bytes")
    if reply.length:
        raise http.client.IncompleteRead(text, reply.length)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return ProviderReply(status=reply.status, facts=found if isinstance(found, dict) else {})


@contextmanager
def _connected(scheme: str, host: str, port: int | None) -> Iterator[http.client.HTTPConnection]:
    """A connection that is cut when its time is up, however slowly something still arrives."""
    connection: http.client.HTTPConnection
    if scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        connection.connect()
        sock = connection.sock

        def cut() -> None:
            with suppress(OSError):
                sock.shutdown(SHUT_RDWR)

        timer = threading.Timer(_SECONDS, cut)
        timer.daemon = True
        timer.start()
        try:
            yield connection
        finally:
            timer.cancel()
    finally:
        connection.close()
