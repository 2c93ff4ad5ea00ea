"""Runs an application until it is told to stop. Connections that are silent or slow are closed."""

import asyncio
import json
import logging
import math
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from discreet.web.guarded import AsgiApp, load_server
from discreet.web.listening import Room, room_for_connections

SILENT_SECONDS = 10.0
"""How long a connection may take to send the whole head of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How a server treats connections."""

    what: str = "collector"
    """What it calls itself."""
    room: Room | None = None
    """That of the process if not given."""
    silent_seconds: float = SILENT_SECONDS
    stop_seconds: float = SILENT_SECONDS
    """How long requests under way may go on when it is told to stop."""
    certificate: Path | None = None
    key: Path | None = None


def serve(app: AsgiApp, sock: socket.socket, manners: Manners | None = None) -> None:
    """Returns when the process is interrupted, or asked to end."""
    load_server()
    import uvicorn

    manners = manners or Manners()
    room = manners.room or room_for_connections(what=manners.what)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # its messages quote what others sent
    config = uvicorn.Config(
        app,
        http=_impatient(manners, room.connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=room.waiting,
        timeout_keep_alive=int(manners.silent_seconds) or 1,
        timeout_graceful_shutdown=math.ceil(manners.stop_seconds),
        ssl_certfile=manners.certificate,
        ssl_keyfile=manners.key,
    )
    with until_interrupted():
        uvicorn.Server(config).run(sockets=[sock])


@contextmanager
def until_interrupted() -> Iterator[None]:
    """A context that ends when the process is interrupted or asked to end. What follows it is still done.

    uvicorn shuts down in order on a signal, and then raises the signal again.

    Where code runs by `exec`, as when a dataclass is made during an import, CPython notes that it was
    interrupted, and later ends the process as if nobody had caught it. The next `exec` takes the note back.
    """

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        try:
            yield
        except KeyboardInterrupt:
            exec("")  # noqa: S102
    finally:
        signal.signal(signal.SIGTERM, before)


def _impatient(manners: Manners, most: int) -> type[asyncio.Protocol]:
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
                self._told("503 Service Unavailable", f"The {manners.what} has no room.", "Try again later.")
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
            self._patience = self.loop.call_later(manners.silent_seconds, self._look)

        def _look(self) -> None:
            self._patience = None
            if self.cycle is self._after and self._between_requests():
                self.transport.close()

    return Impatient
