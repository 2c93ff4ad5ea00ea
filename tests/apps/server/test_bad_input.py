"""Requests that are not as they should be get a typed problem, and cost nothing."""

import http.client
import json
from contextlib import closing, suppress

import pytest

from tests.apps.server.running_service import COUNT, said_to

ASK, REPORT = "datasets/clinic/ask", "datasets/clinic/report"


def is_problem(found, status):
    """A problem as RFC 9457 has it."""
    assert found.status == status, found.body
    assert found.headers["content-type"] == "application/problem+json"
    problem = found.json
    assert problem["status"] == status
    assert problem["type"].startswith("urn:discreet:problem:")
    assert problem["title"]
    assert problem["detail"]
    assert problem["remedy"]
    return True


@pytest.fixture
def nothing_spent(client):
    before = client("olga").get("datasets/clinic/budget").json["spent"]
    yield
    assert client("olga").get("datasets/clinic/budget").json["spent"] == before


@pytest.mark.usefixtures("nothing_spent")
@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        '"sql"',
        "{'sql': 1}",
        '{"sql": "SELECT 1", "sql": "SELECT 2", "epsilon": 1}',
        '{"sql": "SELECT count(*) FROM visits", "epsilon": NaN}',
        '{"sql": "SELECT count(*) FROM visits", "epsilon": Infinity}',
        '{"sql": "SELECT count(*) FROM visits", "epsilon": 1e999}',
        '{"sql": "SELECT count(*) FROM visits", "epsilon": ' + "9" * 5_000 + "}",
        "[" * 100_000,
        '{"a":' * 50_000,
        b"\xff\xfe",
        b'{"sql": "\xff", "epsilon": 1}',
        json.dumps({"sql": COUNT, "epsilon": 1, "eps": 1}),
        json.dumps({"sql": COUNT, "epsilon": 1, "analyst": "olga"}),
        json.dumps({"sql": COUNT, "epsilon": 1, "caps": []}),
        json.dumps({"sql": COUNT, "epsilon": "1"}),
        json.dumps({"sql": COUNT, "epsilon": True}),
        json.dumps({"sql": COUNT, "epsilon": [1]}),
        json.dumps({"sql": COUNT, "epsilon": 10**400}),
        json.dumps({"sql": COUNT, "epsilon": 0}),
        json.dumps({"sql": COUNT, "epsilon": -1}),
        json.dumps({"sql": COUNT, "epsilon": 1e-320}),
        json.dumps({"sql": COUNT}),
        json.dumps({"sql": COUNT, "epsilon": 1, "rho": 1}),
        json.dumps({"sql": COUNT, "epsilon": 1, "confidence": 1}),
        json.dumps({"sql": COUNT, "epsilon": 1, "purpose": 7}),
        json.dumps({"sql": COUNT, "epsilon": 1, "purpose": "x" * 2_001}),
        json.dumps({"sql": 7, "epsilon": 1}),
        json.dumps({"sql": "", "epsilon": 1}),
        json.dumps({"sql": None, "epsilon": 1}),
        json.dumps({"sql": "\0", "epsilon": 1}),
        json.dumps({"sql": "SELECT '\ud800'", "epsilon": 1}),
        json.dumps({"sql": "x" * 100_001, "epsilon": 1}),
        json.dumps({"epsilon": 1}),
    ],
)
@pytest.mark.parametrize("path", [ASK, "datasets/clinic/explain"])
def test_malformed_bodies(client, path, body):
    assert is_problem(client("ana").send("POST", path, body), 400)


@pytest.mark.usefixtures("nothing_spent")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"questions": [COUNT]},
        {"questions": COUNT, "epsilon": 1},
        {"questions": None, "epsilon": 1},
        {"questions": [], "epsilon": 1},
        {"questions": [""], "epsilon": 1},
        {"questions": [COUNT, 7], "epsilon": 1},
        {"questions": [COUNT, None], "epsilon": 1},
        {"questions": [[COUNT]], "epsilon": 1},
        {"questions": {"1": COUNT}, "epsilon": 1},
        {"questions": [COUNT] * 101, "epsilon": 1},
        {"questions": ["x" * 100_001], "epsilon": 1},
        {"questions": [COUNT, "\0"], "epsilon": 1},
        {"questions": [COUNT, "SELECT '\ud800"], "epsilon": 1},
        {"questions": [COUNT], "sql": COUNT, "epsilon": 1},
        {"questions": [COUNT], "epsilon": 1, "within": 5},
        {"questions": [COUNT], "within": 5},
        {"questions": [COUNT], "epsilon": 1, "rho": 1},
        {"questions": [COUNT], "epsilon": "1"},
        {"questions": [COUNT], "epsilon": True},
        {"questions": [COUNT], "epsilon": 0},
        {"questions": [COUNT], "epsilon": 1, "confidence": 1},
        {"questions": [COUNT], "epsilon": 1, "purpose": 7},
        {"questions": [COUNT], "epsilon": 1, "analyst": "olga"},
        {"questions": [COUNT], "epsilon": 1, "titles": ["n"]},
    ],
)
@pytest.mark.parametrize("path", [REPORT, f"{REPORT}/explain"])
def test_malformed_reports(client, path, body):
    assert is_problem(client("ana").post(path, body), 400)


@pytest.mark.usefixtures("nothing_spent")
@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([COUNT, "SELECT * FROM visits"], "Question 2: "),
        ([COUNT, "-- Doctors\nSELECT doctor FROM visits"], "Question 2 (Doctors): "),
        ([COUNT, f"{COUNT}; {COUNT}"], "Question 2: A question is exactly one SELECT"),
        (["'", COUNT], "Question 1: "),
        ([" ", COUNT], "Question 1: "),
        (["x" * 60_000] * 2, "at most 100 questions, and 100,000 characters"),
        (["SELECT 1"] * 100, "Question 1: "),
    ],
)
def test_reports_without_a_private_answer(client, questions, words):
    for path in (REPORT, f"{REPORT}/explain"):
        found = client("ana").post(path, {"questions": questions, "epsilon": 1})
        assert is_problem(found, 422)
        assert words in found.json["detail"]


@pytest.mark.usefixtures("nothing_spent")
@pytest.mark.parametrize(
    "sql", ["SELECT", "SELECT * FROM visits", "DROP TABLE visits", "é", "(" * 5_000, ";"]
)
def test_questions_without_a_private_answer(client, sql):
    for path in (ASK, "datasets/clinic/explain"):
        assert is_problem(client("ana").post(path, {"sql": sql, "epsilon": 1}), 422)


def test_a_body_of_10_mb_is_not_read(client):
    body = json.dumps({"sql": "x" * 10_000_000, "epsilon": 1})
    with suppress(BrokenPipeError, ConnectionResetError):  # it answers while the body is on its way
        assert is_problem(client("ana").send("POST", ASK, body), 413)
    assert client("ana").get("me").status == 200


def test_a_body_of_10_mb_in_chunks_is_not_read(port, tokens):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {tokens['ana']}", "Content-Type": "application/json"}
    chunks = (b"x" * 100_000 for _ in range(100))
    with closing(connection), suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", f"/api/v1/{ASK}", chunks, headers, encode_chunked=True)
        assert connection.getresponse().status == 413


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_only_json_is_taken(client, kind):
    """A form of another site can send the others without asking the browser's leave."""
    assert is_problem(client("ana").post(ASK, {"sql": COUNT, "epsilon": 1}, Content_Type=kind), 415)


def test_json_with_its_character_set_is_taken(client):
    found = client("ana").post(
        "datasets/clinic/explain",
        {"sql": COUNT, "epsilon": 1},
        Content_Type="application/json; charset=utf-8",
    )
    assert found.status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods(client, method):
    found = client("ana").send(method, ASK)
    assert (found.status, found.headers["allow"]) == (405, "POST")
    assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize(
    "query", ["most=x", "most=0", "most=-1", "most=1&most=2", "unknown=1", "most=" + "9" * 99]
)
def test_odd_queries(client, query):
    assert is_problem(client("ana").get(f"history?{query}"), 400)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_another_host_is_refused(client, host):
    """As after DNS rebinding: the page of an attacker's has a name that leads here."""
    assert is_problem(client("ana").get("me", Host=host), 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:8080", "10.1.2.3:99"])
def test_its_own_names_and_addresses_are_known(client, host):
    assert client("ana").get("me", Host=host).status == 200


def test_every_answer_is_guarded(client):
    for found in (
        client("ana").get("me"),
        client().get("me"),
        client().get("/nothing"),
        client().get("/healthz"),
        client("ana").send("POST", ASK, "{"),
    ):
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-frame-options"] == "DENY"
        assert "server" not in found.headers
        assert not any(name.startswith("access-control") for name in found.headers)


def test_two_lengths_are_refused(port, tokens):
    head = (
        f"POST /api/v1/{ASK} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tokens['ana']}\r\n"
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    assert said_to(port, head.encode()).startswith(b"HTTP/1.1 400")


def test_what_is_not_http(port):
    assert said_to(port, b"\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n").startswith(b"HTTP/1.1 400")
