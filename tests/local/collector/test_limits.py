"""Collectors and connections: requests that two servers read differently, and more than there is room for."""

import socket
from contextlib import ExitStack

import pytest

from discreet.errors import InvalidInput
from discreet.web.listening import Room, room_for_connections
from tests.local.collector.processes import Sender, running, signed_file, stopped
from tests.local.collector.surveys import batches_of, survey

ASKED = survey()
SECOND = b"GET /survey.json HTTP/1.1\r\nHost: x\r\n\r\n"
"""What a proxy takes for part of a body, and the collector must not take for a request."""


@pytest.fixture(scope="module")
def file_and_key(tmp_path_factory):
    return signed_file(tmp_path_factory.mktemp("survey"), ASKED)


def told(port, raw):
    """All that the collector says on a connection on which this is sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(raw)
        return b"".join(iter(lambda: connection.recv(2**16), b""))


def test_item9_a_body_with_two_lengths_is_refused_and_the_connection_closed(file_and_key, tmp_path):
    """Transfer-Encoding with Content-Length: a proxy that goes by the other one lets a request through."""
    (batch,) = batches_of(ASKED, 10)
    chunked = f"{len(batch):x}\r\n".encode() + batch + b"\r\n0\r\n\r\n"
    both = b"Transfer-Encoding: chunked\r\n" + f"Content-Length: {len(chunked)}\r\n".encode()
    with running(*file_and_key, tmp_path / "a") as (_, port):
        for version, lengths, body in (
            (b"1.1", both, chunked + SECOND),
            (b"1.1", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + SECOND),
            (b"1.0", b"Transfer-Encoding: chunked\r\n", chunked + SECOND),
        ):
            for path in (b"/reports", b"/elsewhere"):
                head = b"POST " + path + b" HTTP/" + version + b"\r\nHost: x\r\n" + lengths + b"\r\n"
                answer = told(port, head + body)
                assert answer.startswith(b"HTTP/1.1 400 ")
                assert answer.count(b"HTTP/1.1 ") == 1
                assert b"connection: close" in answer.lower()
        head = b"POST /reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        assert b'"accepted":30' in told(port, head + chunked)  # each alone is well


def test_item14_more_connections_than_files_may_be_open_do_not_stop_a_collector(file_and_key, tmp_path):
    """Silent ones, twice as many as there may be files: who is connected goes on, others are told."""
    batches = batches_of(ASKED, 200)
    limited = ["sh", "-c", 'ulimit -n 200; exec "$0" "$@"']
    with running(*file_and_key, tmp_path / "a", before=limited) as (_, port):
        with Sender(port) as sender, ExitStack() as silent:
            for batch in batches:
                for _ in range(20):
                    last = socket.create_connection(("127.0.0.1", port), timeout=20)
                    silent.enter_context(last)
                assert sender.post(batch) == (200, {"accepted": 30, "rejected": 0, "repeated": False})
            assert last.recv(2**16).startswith(b"HTTP/1.1 503 ")
        with Sender(port) as sender:
            assert sender.post(batches[0])[1]["repeated"]


def test_item14_the_limit_is_said_at_the_start(file_and_key, tmp_path):
    path, key = file_and_key
    command = ["sh", "-c", 'ulimit -n 200; exec "$0" "$@"']
    with running(path, key, tmp_path / "a", before=command) as (process, port):
        with Sender(port) as sender:
            sender.get("/survey.json")
        said = stopped(process)
    assert "connections at once" in said
    assert "ulimit -n" in said


def test_item14_room_follows_the_limit():
    assert room_for_connections(2**20) == Room(connections=2000, waiting=1024)
    for limit in (128, 200, 256, 1024, 4096):
        room = room_for_connections(limit)
        assert room.connections + room.waiting <= limit - 64
        assert room.connections >= 32
    with pytest.raises(InvalidInput, match="open files") as refused:
        room_for_connections(100)
    assert "ulimit -n" in refused.value.remedy
