"""Where a service is, and whether a token may go there."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from discreet.errors import InvalidInput

_PREFIX = "/api/v1"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """A service; `str` gives its URL."""

    scheme: str
    host: str
    port: int
    path: str
    """What is before /api/v1, if the service is in a folder of its host."""

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def prefix(self) -> str:
        return self.path + _PREFIX

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def read_address(url: str, *, insecure: bool = False) -> ServiceAddress:
    """From a URL. Without TLS, others on the way can read a token: only on this machine, or if `insecure`."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, AttributeError, TypeError):
        raise _no_address() from None
    if parts.scheme not in _PORTS or not host or parts.query or parts.fragment or parts.username is not None:
        raise _no_address()
    path = parts.path.rstrip("/").removesuffix(_PREFIX).rstrip("/")
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise _no_address()
    found = ServiceAddress(scheme=parts.scheme, host=host, port=port or _PORTS[parts.scheme], path=path)
    if not (found.secure or insecure or _is_loopback(host)):
        raise InvalidInput(
            f"{found} is not encrypted, so everybody on the way could read the token.",
            remedy=f"Use {url.replace('http', 'https', 1)}, or say that you accept it: insecure=True"
            " (--insecure).",
        )
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _no_address() -> InvalidInput:
    return InvalidInput(
        "This is not the address of a service.",
        remedy="Write it as https://curator.example, or http://127.0.0.1:8080 on this machine.",
    )
