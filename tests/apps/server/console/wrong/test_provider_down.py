"""A provider that does not work: a plain page says so, the operator reads why, and tokens are taken."""

import socket
import threading
import time
from contextlib import ExitStack

import pytest

from discreet.apps.server.oidc import fetching, kept
from tests.apps.server.console.wanderer import Wanderer
from tests.apps.server.console.wrong.wrong_provider import console_of, refused

PLAIN = "The sign-in of your organisation does not work at the moment."
DESCRIPTION = "/.well-known/openid-configuration"


def down(console, caplog):
    """What the operator reads. Tokens are still taken, on the same page."""
    page = Wanderer().open(f"{console}/sign-in/provider")
    assert page.status == 503
    assert PLAIN in page.text
    assert 'name="token"' in page.text
    return caplog.records[-1].getMessage()


def test_a_provider_that_is_not_there(service, add, tokens, caplog):
    add("ana")
    with socket.create_server(("127.0.0.1", 0)) as sock:
        issuer = f"http://localhost:{sock.getsockname()[1]}"
    with console_of(service, issuer) as console:
        assert down(console, caplog).endswith("does not answer")
        page = Wanderer().open(f"{console}/sign-in", fields={"token": tokens["ana"]}, follow=False)
        assert page.status == 303


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((500, {}, {}), "its description cannot be read (status 500)"),
        ((404, {}, {"a": 1}), "its description cannot be read (status 404)"),
        ((200, {}, b"<html>"), "its description cannot be read (status 200)"),
        ((200, {}, b"[" * 100_000), "its description cannot be read (status 200)"),
        ((200, {}, b"[1]"), "its description cannot be read (status 200)"),
        ((200, {}, b" " * 1_000_001), "sends more than 1,000,000 bytes"),
        ((200, {"Content-Length": "100"}, b"{}"), "does not answer"),
        ((302, {"Location": "http://127.0.0.1:1/"}, {}), "points to another address"),
    ],
)
def test_a_description_that_cannot_be_read(console, provider, caplog, monkeypatch, reply, said):
    monkeypatch.setattr(fetching, "_SECONDS", 1.0)
    provider.replies[DESCRIPTION] = reply
    assert said in down(console, caplog)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://other.example"}, "it calls itself otherwise"),
        ({"authorization_endpoint": None}, "it has no authorization_endpoint"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "it has no authorization_endpoint"),
        ({"authorization_endpoint": "https://a.example/\r\nX: y"}, "it has no authorization_endpoint"),
    ],
)
def test_a_description_that_is_wrong(console, provider, caplog, metadata, said):
    provider.metadata = metadata
    assert said in down(console, caplog)


def test_a_provider_that_fails_on_the_way_back(service, console, provider):
    provider.replies["/token"] = 500, {}, {}
    refused(service, console, "its token endpoint answers with status 500", status=503)


def test_a_provider_whose_keys_cannot_be_had(service, console, provider):
    provider.replies["/jwks"] = 500, {}, {}
    refused(service, console, "its key set cannot be read (status 500)", status=503)


def test_what_is_not_encrypted_is_not_called(service, provider, monkeypatch):
    """A provider with https that names an address without it."""
    found = {**provider.description(), "issuer": "https://login.example"}
    monkeypatch.setattr(
        "discreet.apps.server.oidc.provider.fetch",
        lambda *_, **__: fetching.ProviderReply(status=200, facts=found),
    )
    with console_of(service, "https://login.example") as console:
        assert Wanderer().open(f"{console}/sign-in/provider").status == 503


def test_a_provider_that_says_nothing_holds_nobody_up(service, add, tokens, monkeypatch):
    """It drips: each byte comes in time, and all of them never."""
    monkeypatch.setattr(fetching, "_SECONDS", 8.0)
    add("ana")
    stop = threading.Event()

    def drip(sock):
        while not stop.is_set():
            try:
                client, _ = sock.accept()
            except OSError:
                return
            clients.append(client)
            client.sendall(b"HTTP/1.1 200 OK\r\n")
            threading.Thread(target=dripping, args=(client,), daemon=True).start()

    def dripping(client):
        while not stop.wait(0.2):
            try:
                client.sendall(b"X")
            except OSError:
                return

    clients = []
    with ExitStack() as stack:
        sock = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        threading.Thread(target=drip, args=(sock,), daemon=True).start()
        console = stack.enter_context(console_of(service, f"http://localhost:{sock.getsockname()[1]}"))
        waiting = [
            threading.Thread(target=Wanderer().open, args=(f"{console}/sign-in/provider",)) for _ in range(20)
        ]
        begun = time.monotonic()
        for thread in waiting:
            thread.start()
        while not clients:
            time.sleep(0.01)
        page = Wanderer().open(f"{console}/sign-in", fields={"token": tokens["ana"]}, follow=False)
        assert page.status == 303
        assert all(thread.is_alive() for thread in waiting)  # they have threads of their own
        for thread in waiting:
            thread.join()
        assert time.monotonic() - begun < 60  # one was tried, or a few: not twenty
        stop.set()
        sock.shutdown(socket.SHUT_RDWR)
        for client in clients:
            client.close()
    assert len(clients) <= 4


def test_what_failed_is_tried_again_after_a_moment(console, provider, caplog, monkeypatch):
    provider.replies[DESCRIPTION] = 500, {}, {}
    for _ in range(3):
        assert "status 500" in down(console, caplog)
    assert len(provider.requests) == 1
    del provider.replies[DESCRIPTION]
    monkeypatch.setattr(kept, "_AGAIN_SECONDS", 0.0)
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text
