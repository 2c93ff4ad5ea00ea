"""One request to a service: nothing leaves for another place, and every failure says what to do."""

import json
import pickle
import socket
import subprocess
import time

import pytest

import discreet
from discreet import (
    BudgetExceeded,
    DiscreetError,
    InvalidInput,
    LedgerBusy,
    NeedsApproval,
    NotAllowed,
    NotSignedIn,
    QueryRefused,
    ServiceUnreachable,
    TookTooLong,
)
from discreet.client import requests
from discreet.client.address import read_address
from discreet.client.problems import error_of
from discreet.client.requests import Requests

from .odd_servers import cuts_off, hangs_up, hangs_up_at_first, odd_server, says

TOKEN = "discreet_secret"  # noqa: S105
ME = says(200, json.dumps({"name": "ana", "datasets": ["clinic"]}).encode())


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(requests, "_PAUSES", (0.01, 0.01))


def to(url, **settings):
    return Requests(address=read_address(url), token=TOKEN, **settings)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://curator.example", "https://curator.example"),
        ("https://curator.example/", "https://curator.example"),
        ("https://curator.example:8443/health/api/v1/", "https://curator.example:8443/health"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost", "http://localhost"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_addresses(url, read):
    assert str(read_address(url)) == read


@pytest.mark.parametrize(
    "url",
    [
        "",
        "curator.example",
        "ftp://curator.example",
        "https://",
        "https://ana:secret@curator.example",
        "https://curator.example?token=1",
        "https://curator.example#1",
        "https://curator.example:99999",
        "https://curator.example/a b",
        "https://curator.example/\r\nHost: other",
        "https://curatör.example",
        None,
        7,
    ],
)
def test_what_is_no_address(url):
    with pytest.raises(InvalidInput, match="https://curator"):
        read_address(url)


@pytest.mark.parametrize(
    "url", ["http://curator.example", "http://10.0.0.1", "http://127.0.0.1.evil.example", "http://128.0.0.1"]
)
def test_without_encryption_only_on_this_machine(url):
    with pytest.raises(InvalidInput, match="not encrypted"):
        discreet.connect(url, TOKEN)
    assert str(read_address(url, insecure=True)) == url


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX:y", "a\tb", "tökén", None, 7])
def test_what_is_no_token(token):
    with pytest.raises(InvalidInput, match="token") as refused:
        discreet.connect("http://127.0.0.1:1", token)
    assert "discreet_" in refused.value.remedy


def test_the_token_is_in_no_text():
    assert TOKEN not in repr(to("http://127.0.0.1:1"))


def test_the_token_goes_to_the_service_and_nowhere_else():
    """A redirect is an error: who asks decides whether to trust the other address."""
    with odd_server(ME) as other:
        target = f"{other.url}/api/v1/me\x1b[31m"
        with (
            odd_server(says(307, b"{}", Location=target)) as service,
            pytest.raises(ServiceUnreachable, match="another address") as refused,
        ):
            discreet.connect(service.url, TOKEN)
        assert other.requests == []
    assert "\x1b" not in str(refused.value)
    ((method, path, headers, _),) = service.requests
    assert (method, path, headers["Authorization"]) == ("GET", "/api/v1/me", f"Bearer {TOKEN}")


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with odd_server(ME) as proxy, odd_server(ME) as service:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert discreet.connect(service.url, TOKEN).analyst == "ana"
        assert proxy.requests == []


def test_a_lost_connection_is_tried_again():
    with odd_server(hangs_up_at_first(2, ME)) as service:
        assert discreet.connect(service.url, TOKEN).dataset == "clinic"
        assert len(service.requests) == 3
    with (
        odd_server(hangs_up) as service,
        pytest.raises(ServiceUnreachable, match="lost 3 times") as lost,
    ):
        to(service.url).post("datasets", "clinic", "ask", body={"sql": "SELECT 1"})
    assert "charged once" in lost.value.remedy
    assert len({body for *_, body in service.requests}) == 1


def test_a_reply_that_is_cut_off_is_tried_again():
    with odd_server(cuts_off) as service, pytest.raises(ServiceUnreachable, match="lost"):
        to(service.url).get("me")
    assert len(service.requests) == 3


def test_a_refusal_is_not_tried_again():
    body = {"type": "urn:discreet:problem:budget-exceeded", "detail": "Too much.", "remedy": "Ask less."}
    with (
        odd_server(says(409, json.dumps(body).encode(), "application/problem+json")) as service,
        pytest.raises(BudgetExceeded, match=r"^Too much\. Ask less\.$"),
    ):
        to(service.url).get("me")
    assert len(service.requests) == 1


def test_a_service_that_takes_too_long_is_not_asked_twice():
    with odd_server(lambda *_: time.sleep(0.5)) as service:
        with pytest.raises(ServiceUnreachable, match=r"within 0\.1 seconds") as late:
            to(service.url, timeout=0.1).get("me")
        assert len(service.requests) == 1
    assert "charged once" in late.value.remedy


def test_nobody_is_there():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServiceUnreachable, match="Nothing answers at http://127"):
        discreet.connect(f"http://127.0.0.1:{port}", TOKEN)
    with pytest.raises(ServiceUnreachable, match="no host"):
        discreet.connect("https://nowhere.invalid", TOKEN)


@pytest.mark.parametrize(
    "reply",
    [
        says(200, b"<html>Hello</html>", "text/html"),
        says(200, b"{", "application/json"),
        says(200, b"[" * 100_000, "application/json"),
        says(200, b"\xff\xfe", "application/json"),
        says(404, b"<html>Not found</html>", "text/html"),
        says(500, b'["odd"]'),
        says(500, b'{"error": 1}'),
        says(200, b"5"),
        says(200, b'{"name": "ana"}'),
        says(200, b'{"name": "ana", "datasets": 5}'),
    ],
)
def test_what_is_no_discreet_service(reply):
    with odd_server(reply) as service, pytest.raises(ServiceUnreachable) as error:
        discreet.connect(service.url, TOKEN)
    assert error.value.remedy


def test_a_proxy_that_does_not_reach_the_service():
    with (
        odd_server(says(502, b"<html>Bad gateway</html>", "text/html")) as service,
        pytest.raises(ServiceUnreachable, match="not running just now") as error,
    ):
        discreet.connect(service.url, TOKEN)
    assert "charged once" in error.value.remedy


@pytest.mark.parametrize("announced", [True, False])
def test_a_huge_reply_is_not_read(monkeypatch, announced):
    monkeypatch.setattr(requests, "LARGEST_REPLY", 1_000)

    def huge(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        if announced:
            handler.send_header("Content-Length", str(2**50))
        handler.end_headers()
        handler.wfile.write(b" " * 5_000)

    with odd_server(huge) as service, pytest.raises(ServiceUnreachable, match="more than 1,000") as error:
        discreet.connect(service.url, TOKEN)
    assert "fewer groups" in error.value.remedy


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    place = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem", "-days", "2"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, *place, *named], check=True, capture_output=True)
    return folder


def test_certificates_are_checked(certificate):
    import ssl

    with odd_server(ME) as service:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
        service.server.socket = context.wrap_socket(service.server.socket, server_side=True)
        port, ours = service.server.server_port, certificate / "certificate.pem"
        with pytest.raises(ServiceUnreachable, match="not trusted") as refused:
            discreet.connect(f"https://localhost:{port}", TOKEN)
        assert "SSL_CERT_FILE" in refused.value.remedy
        with pytest.raises(ServiceUnreachable, match="not trusted"):  # made for another name
            discreet.connect(f"https://127.0.0.1:{port}", TOKEN, certificates=ours)
        assert service.requests == []
        found = discreet.connect(f"https://localhost:{port}", TOKEN, certificates=ours)
        assert found.analyst == "ana"
        with pytest.raises(InvalidInput, match="no certificates"):
            discreet.connect(f"https://localhost:{port}", TOKEN, certificates=certificate / "none.pem")
        with pytest.raises(ServiceUnreachable, match="whether it is https"):
            discreet.connect(f"http://localhost:{port}", TOKEN)
    with odd_server(ME) as plain, pytest.raises(ServiceUnreachable, match="TLS"):
        discreet.connect(plain.url.replace("http:", "https:"), TOKEN)


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("urn:discreet:problem:budget-exceeded", 409, BudgetExceeded),
        ("https://discreet.example/errors#QueryRefused", 422, QueryRefused),
        ("urn:discreet:problem:took-too-long", 504, TookTooLong),
        ("urn:discreet:problem:ledger-busy", 503, LedgerBusy),
        ("about:blank", 401, NotSignedIn),
        ("about:blank", 403, NotAllowed),
        ("about:blank", 400, InvalidInput),
        ("about:blank", 500, ServiceUnreachable),
        ("urn:discreet:problem:discreet-error", 500, ServiceUnreachable),
        (5, 500, ServiceUnreachable),
    ],
)
def test_problems_are_the_errors_of_a_local_curator(name, status, kind):
    error = error_of({"type": name, "detail": "What happened.", "remedy": "What to do."}, status)
    assert (type(error), error.problem, error.remedy) == (kind, "What happened.", "What to do.")


def test_a_problem_without_words_still_says_what_to_do():
    error = error_of({"detail": 5, "remedy": None, "title": "x" * 10_000}, 500)
    assert isinstance(error, DiscreetError)
    assert len(error.problem) < 3_000
    assert error.remedy


def test_an_approval_is_named_and_survives_another_process():
    error = error_of({"type": "needs-approval", "detail": "Wait.", "approval": "a1"}, 409)
    assert isinstance(error, NeedsApproval)
    assert pickle.loads(pickle.dumps(error)).approval == "a1"  # noqa: S301
