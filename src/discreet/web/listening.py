"""A socket that listens, and how many connections there may be."""

import os
import socket
from dataclasses import dataclass
from ipaddress import ip_address

from discreet.errors import InvalidInput
from discreet.model.exact import whole

_MOST_CONNECTIONS = 2000
_MOST_WAITING = 1024
_FILES_OF_OUR_OWN = 64
"""What a server has open besides connections: its databases, its log, its socket, and some to spare."""
_FEWEST_FILES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many connections there may be, and how many more may wait. Each of them is an open file."""

    connections: int
    waiting: int


def room_for_connections(limit: int | None = None, *, what: str = "collector") -> Room:
    """The room that a limit of open files leaves; by default the limit of this process.

    Without it, a flood of connections would take the files that the server itself writes to.
    """
    files = _limit_of_files() if limit is None else limit
    if files < _FEWEST_FILES:
        raise InvalidInput(
            f"This process may have {files} open files only, too few for a {what}.",
            remedy=f"Run “ulimit -n 4096” before; {_FEWEST_FILES} is the least.",
        )
    left = files - _FILES_OF_OUR_OWN
    waiting = min(_MOST_WAITING, left // 4)
    return Room(connections=min(_MOST_CONNECTIONS, left - waiting), waiting=waiting)


def _limit_of_files() -> int:
    try:
        import resource
    except ImportError:  # Windows, where there is no such limit
        return _MOST_CONNECTIONS + _MOST_WAITING + _FILES_OF_OUR_OWN
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**20 if limit == resource.RLIM_INFINITY else limit


def listening(host: str, port: int, *, what: str = "collector") -> socket.socket:
    """A socket that listens; port 0 takes any free one."""
    whole(port, "port", 0, 65535)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise InvalidInput(
            f"The {what} cannot listen at {host}, port {port}: {_reason(error)}.",
            remedy="Choose another --port, or stop what listens there.",
        ) from None
    found.set_inheritable(False)
    return found


def _reason(error: OSError) -> str:
    """In the words of the system, without the address, which Python adds to some."""
    known = error.errno is not None and error.errno > 0
    return os.strerror(error.errno or 0) if known else "no such address"


def address_of(sock: socket.socket, host: str, *, tls: bool = False) -> str:
    """The URL that a browser would open."""
    shown = f"[{host}]" if ":" in host else host
    return f"http{'s' if tls else ''}://{shown}:{sock.getsockname()[1]}/"


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can be there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
