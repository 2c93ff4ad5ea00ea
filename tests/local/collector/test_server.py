"""Collectors as processes: they stop in order, keep their folder to themselves, forget no report."""

import http.client
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from discreet.errors import InvalidInput
from discreet.local.collector.counts import merge
from discreet.local.collector.store import counts_of_folder
from discreet.web.listening import listening
from tests.local.collector.processes import ROOT, Sender, running, signed_file, stopped
from tests.local.collector.surveys import batches_of, same, survey, tallies_of

ASKED = survey()
SLOW_PROGRAM = """
import sys
from pathlib import Path
from discreet.local.collector.service import Settings, application
from discreet.web.listening import listening
from discreet.web.serving import Manners, serve
from discreet.local.collector.store import Collector
from discreet.local.signing import open_signed
signed = Path(sys.argv[1]).read_text()
survey = open_signed(signed, key=sys.argv[2])
with Collector(sys.argv[3], survey) as collector, listening("127.0.0.1", 0) as sock:
    print(sock.getsockname()[1], flush=True)
    serve(application(collector, signed, Settings(body_seconds=1)), sock, Manners(silent_seconds=1))
    print(dict(collector.rejected()), collector.reports(), flush=True)
"""


@pytest.fixture(scope="module")
def file_and_key(tmp_path_factory):
    return signed_file(tmp_path_factory.mktemp("survey"), ASKED)


def test_it_collects_stops_in_order_and_goes_on(file_and_key, tmp_path):
    batches = batches_of(ASKED, 40)
    with running(*file_and_key, tmp_path / "a") as (process, port):
        with Sender(port) as sender:
            for batch in batches[:2]:
                assert sender.post(batch) == (200, {"accepted": 30, "rejected": 0, "repeated": False})
            assert sender.post(b"x")[0] == 400
            assert sender.get("/estimate.json")[0] == 404
        said = stopped(process)
        assert "smokes 20, town 20, hours 20" in said
        assert "malformed 1" in said
    with running(*file_and_key, tmp_path / "a") as (process, port):
        with Sender(port) as sender:
            for batch in batches:
                sender.post(batch)
        process.send_signal(signal.SIGTERM)
        said = process.stdout.read()
        assert "smokes 40" in said
        assert "malformed 1, repeated 2" in said
        assert process.wait() == 0
    assert same(counts_of_folder(tmp_path / "a")[1].tallies, tallies_of(ASKED, batches))


def test_two_collectors_merged_equal_one(file_and_key, tmp_path):
    batches = batches_of(ASKED, 200)
    with (
        running(*file_and_key, tmp_path / "a") as (_, first),
        running(*file_and_key, tmp_path / "b") as (_, second),
        Sender(first) as north,
        Sender(second) as south,
    ):
        for i, batch in enumerate(batches):
            assert (south if i % 2 else north).post(batch)[0] == 200
        found = [counts_of_folder(tmp_path / name)[1] for name in "ab"]
    assert same(merge(*found).tallies, tallies_of(ASKED, batches))


def test_two_processes_cannot_have_one_folder(file_and_key, tmp_path):
    path, key = file_and_key
    with running(path, key, tmp_path / "a") as (_, port):
        with pytest.raises(AssertionError, match="Another collector works in this folder"):
            running(path, key, tmp_path / "a").__enter__()
        with Sender(port) as sender:
            assert sender.post(batches_of(ASKED, 10)[0])[0] == 200


def test_killed_it_loses_nothing_acknowledged_and_counts_what_is_sent_again_once(file_and_key, tmp_path):
    """Senders send one batch after the other; the collector is killed in the midst of it, again and again."""
    batches = batches_of(ASKED, 1500, size=1)
    acknowledged, next_batch, lock = set(), iter(range(len(batches))), threading.Lock()
    unacknowledged = set()

    def keep_sending(port, started):
        with Sender(port) as sender:
            while True:
                with lock:
                    number = next(next_batch, None)
                if number is None:
                    return
                try:
                    status, receipt = sender.post(batches[number])
                except (OSError, http.client.HTTPException):
                    unacknowledged.add(number)
                    return
                assert (status, receipt["accepted"], receipt["repeated"]) == (200, 3, False)
                acknowledged.add(number)
                started.set()

    rounds = 0
    while len(acknowledged) + len(unacknowledged) < len(batches) and rounds < 4:
        with running(*file_and_key, tmp_path / "a") as (process, port):
            started = threading.Event()
            senders = [threading.Thread(target=keep_sending, args=(port, started)) for _ in range(6)]
            for sender in senders:
                sender.start()
            assert started.wait(30)
            time.sleep(random.SystemRandom().random() * 0.3)
            process.kill()
            for sender in senders:
                sender.join()
        rounds += 1
        found = tallies_of(ASKED, [batches[number] for number in acknowledged])
        kept = counts_of_folder(tmp_path / "a")[1].tallies
        assert all((now >= then).all() for now, then in zip(kept, found, strict=True))
    assert unacknowledged
    with running(*file_and_key, tmp_path / "a") as (process, port), Sender(port) as sender:
        for number in acknowledged:
            assert sender.post(batches[number]) == (200, {"accepted": 3, "rejected": 0, "repeated": True})
        for number in set(range(len(batches))) - acknowledged:
            assert sender.post(batches[number])[1]["accepted"] == 3
    assert same(counts_of_folder(tmp_path / "a")[1].tallies, tallies_of(ASKED, batches))


@pytest.fixture
def impatient(file_and_key, tmp_path):
    """A collector that waits for a second only; and what it says when it is stopped."""
    path, key = file_and_key
    command = [sys.executable, "-c", SLOW_PROGRAM, str(path), key, str(tmp_path / "a")]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PYTHONPATH": f"{ROOT}/src"},
    )
    yield int(process.stdout.readline()), lambda: stopped(process)
    process.kill()
    process.stdout.close()
    process.wait()


def closed_by_peer(connection):
    connection.settimeout(20)
    return b"".join(iter(lambda: connection.recv(2**16), b""))


def test_a_silent_connection_is_closed(impatient):
    port, _ = impatient
    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert closed_by_peer(connection) == b""


@pytest.mark.parametrize("before", [b"", b"GET /survey.json HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_head_that_dribbles_is_closed(impatient, before):
    """Byte by byte, for longer than a second; also after a whole request on the same connection."""
    port, _ = impatient
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(before)
        try:
            for byte in b"GET /survey.json HTTP/1.1\r\nHost: localhost\r\n":
                connection.sendall(bytes([byte]))
                time.sleep(0.1)
        except OSError:
            return
        pytest.fail("a dribbled head of four seconds was waited for")


def test_a_slow_body_is_told_so_and_counted(impatient):
    port, stop = impatient
    (batch,) = batches_of(ASKED, 10)
    head = f"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: {len(batch)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + batch[:40])
        answer = closed_by_peer(connection)
    assert b" 408 " in answer
    assert b"too long to arrive" in answer
    said = stop()
    assert "too slow" in said
    assert "'smokes': 0" in said


def test_nothing_about_requests_is_said(impatient):
    """Not who, not when, not what: whatever is sent."""
    port, stop = impatient
    (batch,) = batches_of(ASKED, 10)
    for raw in (
        b"\x00\xff garbage canary\r\n\r\n",
        b"GET /canary HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(raw)
            answer = closed_by_peer(connection)
            assert b'{"problem":' in answer
            assert b"uvicorn" not in answer.lower()
            assert b"\r\ndate:" not in answer.lower()
    with Sender(port) as sender:
        sender.post(batch)
    said = stop()
    assert "canary" not in said
    assert "127.0.0.1" not in said
    assert len(said.splitlines()) == 1


def test_a_port_in_use_is_said():
    with listening("127.0.0.1", 0) as sock, pytest.raises(InvalidInput, match="cannot listen") as refused:
        listening("127.0.0.1", sock.getsockname()[1])
    assert "--port" in refused.value.remedy
    with pytest.raises(InvalidInput, match="port"):
        listening("127.0.0.1", 70_000)
    with pytest.raises(InvalidInput, match="cannot listen"):
        listening("no.such.host.invalid", 0)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_stopped_as_soon_as_it_speaks_it_stops_in_order(file_and_key, tmp_path, end):
    with running(*file_and_key, tmp_path / "a") as (process, _):
        process.send_signal(end)
        assert "Stopped. Reports: smokes 0, town 0, hours 0." in process.stdout.read()
        assert process.wait() == 0


def test_an_interrupt_in_the_midst_of_an_import_is_forgotten_too(tmp_path):
    """Dataclasses are made by `exec`. After an interrupt there, CPython ends as if it was never caught."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "__main__.py").write_text(
        "from discreet.web.serving import until_interrupted\n"
        "with until_interrupted():\n"
        "    exec('raise KeyboardInterrupt')\n"
        "print('stopped in order')\n"
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("stopped in order\n", "", 0)
