"""Runs the service until it is told to stop. Connections that are silent or slow are closed."""

import asyncio
import json
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from discreet.errors import InvalidInput
from discreet.local.collector.service import Guarded, load_server
from discreet.model.exact import whole

SILENT_SECONDS = 10.0
"""How long a connection may take to send the whole head of a request."""
_MOST_CONNECTIONS = 2000
_MOST_WAITING = 1024
_FILES_OF_OUR_OWN = 64
"""What a collector has open besides connections: its database, its log, its socket, and some to spare."""
_FEWEST_FILES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many connections there may be, and how many more may wait. Each of them is an open file."""

    connections: int
    waiting: int


def room_for_connections(limit: int | None = None) -> Room:
    """The room that a limit of open files leaves; by default the limit of this process.

    Without it, a flood of connections would take the files that reports are written to.
    """
    files = _limit_of_files() if limit is None else limit
    if files < _FEWEST_FILES:
        raise InvalidInput(
            f"This process may have {files} open files only, too few for a collector.",
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


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any free one."""
    whole(port, "port", 0, 65535)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise InvalidInput(
            f"The collector cannot listen at {host}, port {port}: {error.strerror or 'no such address'}.",
            remedy="Choose another --port, or stop what listens there.",
        ) from None
    found.set_inheritable(False)
    return found


def serve(
    app: Guarded, sock: socket.socket, *, room: Room | None = None, silent_seconds: float = SILENT_SECONDS
) -> None:
    """Returns when the process is interrupted, or asked to end."""
    load_server()
    import uvicorn

    room = room or room_for_connections()
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # its messages quote what others sent
    config = uvicorn.Config(
        app,
        http=_impatient(silent_seconds, room.connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=room.waiting,
        timeout_keep_alive=int(silent_seconds) or 1,
        timeout_graceful_shutdown=int(SILENT_SECONDS),
    )
    with until_interrupted():
        uvicorn.Server(config).run(sockets=[sock])


@contextmanager
def until_interrupted() -> Iterator[None]:
    """A context that ends when the process is interrupted or asked to end. What follows it is still done.

    uvicorn shuts down in order on a signal, and then raises the signal again.
    """

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _impatient(seconds: float, most: int) -> type[asyncio.Protocol]:
    """uvicorn waits for the head of a request for ever: here such a connection is closed.

    A connection beyond the limit is closed at once: uvicorn would keep it until it sends a request.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):  # type: ignore[misc]
        _patience: asyncio.TimerHandle | None = None
        _after: Any = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                self._told("503 Service Unavailable", "The collector has no room.", "Try again later.")
                return
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._between_requests() and (self._patience is None or self._after is not self.cycle):
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._patience is not None:
                self._patience.cancel()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:  # noqa: ARG002  it may say what was sent
            """To what is not HTTP, or too long a head."""
            self._told("400 Bad Request", "This is not a request.", "Speak HTTP.")

        def _told(self, status: str, problem: str, remedy: str) -> None:
            body = json.dumps({"problem": problem, "remedy": remedy}).encode()
            head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
            self.transport.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
            self.transport.close()

        def _between_requests(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _wait(self) -> None:
            """Start the time limit for the head of the next request."""
            if self._patience is not None:
                self._patience.cancel()
            self._after = self.cycle
            self._patience = self.loop.call_later(seconds, self._look)

        def _look(self) -> None:
            self._patience = None
            if self.cycle is self._after and self._between_requests():
                self.transport.close()

    return Impatient
