"""Clients that send one byte now and then hold a connection for seconds, not for ever."""

import socket
import time

from tests.apps.server.running_service import said_to

ASK = "datasets/clinic/ask"


def test_a_head_that_never_ends_is_given_up(port):
    """Slow-loris: one byte now and then."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        begun = time.monotonic()
        while time.monotonic() - begun < 25:
            try:
                sock.sendall(b"x")
            except OSError:
                break
            time.sleep(0.5)
        assert time.monotonic() - begun < 20


def test_a_body_that_never_ends_is_given_up(port, tokens):
    head = (
        f"POST /api/v1/{ASK} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tokens['ana']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    assert said_to(port, head.encode()).startswith(b"HTTP/1.1 408")
