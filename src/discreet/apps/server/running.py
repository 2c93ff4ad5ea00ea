"""Runs a service as one process or several, until it is told to stop.

What is asked by then is answered before the processes end, for a while. What takes longer is given up: its
charge is durable, and its answer is fetched later by its receipt if it was drawn.
"""

import gc
import multiprocessing
import os
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from urllib.parse import urlsplit

from discreet.apps.server.application import application
from discreet.apps.server.calls import Workshop
from discreet.apps.server.oidc.settings import OidcSettings
from discreet.apps.server.settings import LOOPBACK_NAMES, ServerSettings
from discreet.errors import DiscreetError, InvalidInput
from discreet.service.service import CuratorService, open_service
from discreet.service.storage.event_log import Action
from discreet.web.guarded import load_server
from discreet.web.listening import address_of, is_loopback, listening, room_for_connections
from discreet.web.serving import Manners, serve, until_interrupted

_DAY = 86_400.0
_SHORT_LIFE = 5.0
"""A process that ends by itself sooner than this after its start is not started again."""
_MOST_WORKERS = 64
_GARBAGE_AFTER = 20_000
"""New objects between two looks for garbage. A question makes some thousand, and few of them in circles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """The options of `discreet serve`. It is sent to other processes, so it holds plain values."""

    policies: tuple[Path, ...]
    host: str
    port: int
    workers: int = 1
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False
    public_url: str = ""
    answer_times: tuple[float, ...] | None = None
    allowed_hosts: tuple[str, ...] = ()
    keep_questions: int | None = None
    access_log: bool = True
    stop_seconds: float = 60.0
    public_pages: bool = False
    oidc: OidcSettings | None = None

    def check(self) -> None:
        """Everything that can be known before the data is opened."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidInput(
                "TLS needs a certificate and its key.", remedy="Give both --tls-certificate and --tls-key."
            )
        if self.certificate is not None:
            _check_certificate(self.certificate, self.key)
        elif not (self.insecure or is_loopback(self.host)):
            raise InvalidInput(
                f"At {self.host} others could read tokens and answers on their way.",
                remedy="Give --tls-certificate and --tls-key, or --insecure behind a proxy with HTTPS.",
            )
        self._check_public_url()
        if not 1 <= self.workers <= _MOST_WORKERS:
            raise InvalidInput(
                f"--workers is 1 to {_MOST_WORKERS}.", remedy="Give about one for each processor."
            )

    def _check_public_url(self) -> None:
        if self.oidc is not None and self.public_url not in ("", self.oidc.url):
            raise InvalidInput(
                f"--public-url is {self.public_url}, but the file of --oidc says {self.oidc.url}.",
                remedy="Give one address: url in that file is enough.",
            )
        if self.certificate is not None and self.found_at.startswith("http:"):
            raise InvalidInput(
                f"With --tls-certificate the service is not at {self.found_at}.",
                remedy=f"Give {self.found_at.replace('http:', 'https:')}",
            )

    @property
    def found_at(self) -> str:
        """Its public address; empty if nobody said it."""
        return self.public_url or ("" if self.oidc is None else self.oidc.url)

    @property
    def settings(self) -> ServerSettings:
        own = () if self.host in ("0.0.0.0", "::") else (self.host,)  # noqa: S104
        named = filter(None, [urlsplit(self.found_at).hostname])
        return ServerSettings(
            allowed_hosts=(*LOOPBACK_NAMES, *own, *named, *self.allowed_hosts),
            access_log=self.access_log,
            tls=self.certificate is not None or self.found_at.startswith("https:"),
            public_url=self.found_at,
            oidc=self.oidc,
            public_pages=self.public_pages,
        )

    @property
    def manners(self) -> Manners:
        return Manners(
            what="service",
            room=room_for_connections(what="service"),
            stop_seconds=self.stop_seconds,
            certificate=self.certificate,
            key=self.key,
        )


def run_service(request: ServeRequest, say: Callable[[str], None]) -> None:
    """Returns when the process is interrupted or asked to end, and all is closed."""
    load_server()
    request.check()
    service = open_service(request.policies, answer_times=request.answer_times)
    ended = True
    try:
        sock = listening(request.host, request.port, what="service")
        with sock, until_interrupted(), _erasing(service, request.keep_questions):
            address = address_of(sock, request.host, tls=request.certificate is not None)
            found = f", for others at {request.found_at}/" if request.found_at else ""
            say(f"Serving {', '.join(service.datasets)} at {address}{found}")
            if request.workers == 1:
                ended = _serve_here(service, request, sock)
            else:
                _supervise(request, sock, say)
    finally:
        service.note(Action.STOPPED)
        if ended:
            service.close()
    say("Stopped.")
    if not ended:
        _leave()


def _serve_here(service: CuratorService, request: ServeRequest, sock: socket.socket) -> bool:
    """Whether all questions had ended when it stopped."""
    workshop = Workshop(service, request.settings)
    gc.collect()
    gc.freeze()  # what is there by now stays: looking through it again and again took a tenth of the time
    gc.set_threshold(_GARBAGE_AFTER)
    try:
        serve(application(service, request.settings, workshop), sock, request.manners)
    finally:
        gc.unfreeze()  # or what is frozen is told as leaked at the end
    return workshop.close(seconds=1.0)


def _leave() -> None:
    """End at once: Python would wait for threads whose questions have taken too long already."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


# Several processes


def _supervise(request: ServeRequest, sock: socket.socket, say: Callable[[str], None]) -> None:
    """Start processes, start those anew that end by themselves, and end all at the end.

    They are started afresh, not forked: an open database does not survive a fork.
    """
    workers: dict[BaseProcess, float] = {}
    try:
        while True:
            while len(workers) < request.workers:
                workers[_started(request, sock)] = time.monotonic()
            wait([worker.sentinel for worker in workers])
            for worker in [each for each in workers if not each.is_alive()]:
                if time.monotonic() - workers.pop(worker) < _SHORT_LIFE:
                    say("A process of the service ended right after its start.")
                    return
    finally:
        for worker in workers:
            worker.terminate()
        until = time.monotonic() + request.stop_seconds + 5
        for worker in workers:
            worker.join(max(0.0, until - time.monotonic()))
            worker.kill()


def _started(request: ServeRequest, sock: socket.socket) -> BaseProcess:
    worker = multiprocessing.get_context("spawn").Process(target=_work, args=(request, sock))
    worker.start()
    return worker


def _work(request: ServeRequest, sock: socket.socket) -> None:
    """What each process does."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with until_interrupted():
        try:
            service = open_service(request.policies, answer_times=request.answer_times, announce=False)
        except DiscreetError as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(1)
        if _serve_here(service, request, sock):
            service.close()
        else:
            _leave()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


# What is checked before, and done besides


def _check_certificate(certificate: Path, key: Path | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise InvalidInput(
            f"“{certificate}” and its key cannot be used.",
            remedy="Give a certificate and its private key as PEM files that this account can read.",
        ) from None


@contextmanager
def _erasing(service: CuratorService, days: int | None) -> Iterator[None]:
    """Erase what old events say: now, and every day."""
    stop = threading.Event()

    def erase() -> None:
        while not stop.wait(_DAY):
            try:
                service.erase_older_than(days or 0)
            except DiscreetError as error:
                sys.stderr.write(f"{error}\n")

    if days is None:
        yield
        return
    service.erase_older_than(days)
    thread = threading.Thread(target=erase, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
