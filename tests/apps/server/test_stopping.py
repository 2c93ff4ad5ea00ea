"""Services that are stopped, killed and left in the midst of questions: what was paid for is never lost."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from discreet.service.service import open_people
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Role
from tests.apps.server.killed_service import charges, killed_service
from tests.apps.server.running_service import COUNT, ROOT, Client, add_account, running, stopped
from tests.attacks.ask import Clinic

WAITS = "answer_times = [2]"
NO_WAIT = "answer_times = []"
ROUNDS = int(os.environ.get("DISCREET_KILLS", "3"))
"""How often the service is killed; `bench/kills.py` does it 50 times."""


@pytest.fixture
def slow(tmp_path):
    """Every answer takes two seconds."""
    return Clinic(tmp_path / "slow", epsilon=900, dataset=WAITS)


def actions(policy):
    people = open_people(policy)
    people.log.verify()
    found = [event.action for event in people.log.events()]
    people.close()
    return found


def begun(client, sql=COUNT):
    """A question that is under way; call the result for its answer."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(client.ask(sql, epsilon=1)))
    thread.start()

    def answer():
        thread.join(30)
        return answers[0]

    return answer


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_question_under_way_is_answered_before_it_stops(slow, by, workers):
    token = add_account(slow.policy, "ana")
    with running(slow.policy, options=["--workers", workers]) as (process, port), Client(port, token) as ana:
        answer = begun(ana)
        wait_for(lambda: Action.ASKED in actions(slow.policy))
        time.sleep(0.3)
        said, logged = stopped(process, by)
        told = answer()
    assert told.status == 200
    assert "Stopped." in said
    assert "Traceback" not in logged
    assert actions(slow.policy)[-2:] == [Action.ANSWERED, Action.STOPPED]
    assert len(charges(slow.policy)) == 1


def test_what_takes_longer_than_it_may_is_given_up_in_order(tmp_path):
    clinic = Clinic(tmp_path / "slower", epsilon=900, dataset="answer_times = [20]")
    token = add_account(clinic.policy, "ana")
    with (
        running(clinic.policy, options=["--stop-seconds", 1]) as (process, port),
        Client(port, token) as ana,
    ):

        def ask_in_vain():
            with suppress(OSError, http.client.HTTPException):
                assert ana.ask().status == 500

        threading.Thread(target=ask_in_vain, daemon=True).start()
        wait_for(lambda: charges(clinic.policy))
        begin = time.monotonic()
        stopped(process)
        assert time.monotonic() - begin < 10
    assert actions(clinic.policy)[-1] is Action.STOPPED
    assert len(charges(clinic.policy)) == 1


def test_who_hangs_up_can_fetch_the_answer_later(slow):
    token = add_account(slow.policy, "ana")
    with running(slow.policy) as (process, port):
        body = json.dumps({"sql": COUNT, "epsilon": 1})
        with socket.create_connection(("127.0.0.1", port)) as sock:
            head = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nHost: localhost\r\n"
            length = f"Content-Length: {len(body)}\r\n\r\n"
            line = "POST /api/v1/datasets/clinic/ask HTTP/1.1\r\n"
            sock.sendall((line + head + length + body).encode())
            wait_for(lambda: charges(slow.policy))
        with Client(port, token) as ana:
            wait_for(lambda: ana.get("history").json["questions"][0]["receipt"] is not None)
            (asked,) = ana.get("history").json["questions"]
            found = ana.get(f"datasets/clinic/receipts/{asked['receipt']}")
            assert (found.status, found.json["columns"]) == (200, ["n"])
        _, logged = stopped(process)
    assert "Traceback" not in logged
    assert len(charges(slow.policy)) == 1


def test_the_access_log_has_no_values(tmp_path):
    clinic = Clinic(tmp_path / "clinic", epsilon=900, dataset=NO_WAIT)
    token = add_account(clinic.policy, "ana")
    with running(clinic.policy) as (process, port), Client(port, token) as ana:
        ana.ask("SELECT count(*) AS canary FROM visits")
        ana.get("/canary?canary=1")
        ana.send("CANARY", "/canary")
        ana.get("datasets/clinic/receipts/3")
        _, logged = stopped(process)
    assert all(line.startswith("{") for line in logged.splitlines()), logged
    lines = [json.loads(line) for line in logged.splitlines()]
    assert [line["route"] for line in lines] == [
        "/api/v1/datasets/{name}/ask",
        "none",
        "none",
        "/api/v1/datasets/{name}/receipts/{number}",
    ]
    assert [line["account"] for line in lines] == ["ana", None, None, "ana"]
    assert set(lines[0]) == {"at", "method", "route", "status", "ms", "account"}
    assert "anary" not in logged.lower()
    assert token not in logged


def test_killed_under_load_nothing_that_was_paid_is_lost(tmp_path):
    clinic = Clinic(tmp_path / "clinic", epsilon=900, dataset=NO_WAIT)
    report = killed_service(clinic, ROUNDS)
    assert report.problems == []
    assert report.fetched == report.drawn >= report.answered > 0


def test_killed_under_load_with_a_ledger_in_postgresql(tmp_path, postgres_server):
    ledger = f'ledger = "{postgres_server.url}#killed_service"'
    clinic = Clinic(tmp_path / "clinic", epsilon=900, dataset=f"{NO_WAIT}\n{ledger}")
    report = killed_service(clinic, ROUNDS)
    assert report.problems == []
    assert report.fetched == report.drawn >= report.answered > 0


# Starting


def refused(*options):
    """What is said when it does not start."""
    command = [sys.executable, "-m", "discreet", "serve", *map(str, options)]
    done = subprocess.run(
        command, env={"PYTHONPATH": f"{ROOT}/src"}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_beyond_this_machine_it_needs_tls_or_a_proxy(slow, tmp_path):
    policy = ["--policy", slow.policy]
    assert "others could read tokens" in refused(*policy, "--host", "0.0.0.0")  # noqa: S104
    assert "certificate and its key" in refused(*policy, "--tls-key", "x")
    assert "cannot be used" in refused(*policy, "--tls-key", "x", "--tls-certificate", "y")
    assert "ascending order" in refused(*policy, "--answer-times", "5,1")
    assert "Two policies are called" in refused(*policy, *policy)
    assert "There is no" in refused("--policy", tmp_path / "none.toml")
    with running(slow.policy, options=["--host", "0.0.0.0", "--insecure"]) as (process, port):  # noqa: S104
        with Client(port) as nobody:
            assert nobody.get("/healthz").status == 200
        stopped(process)


def test_a_taken_port(slow):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused("--policy", slow.policy, "--port", taken.getsockname()[1])
    assert "port " in said
    assert said.splitlines()[0].endswith(": Address already in use.")


def test_https(tmp_path, slow):
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {key}"
        f" -out {certificate} -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost".split(),
        check=True,
        capture_output=True,
    )
    token = add_account(slow.policy, "ana")
    options = ["--tls-certificate", certificate, "--tls-key", key]
    with running(slow.policy, options=options) as (process, port):
        context = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("localhost", port, context=context, timeout=30)
        connection.request("GET", "/api/v1/me", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        assert response.status == 200
        assert response.getheader("strict-transport-security")
        connection.close()
        stopped(process)


def test_several_processes_share_one_budget(tmp_path):
    clinic = Clinic(tmp_path / "clinic", epsilon=20, dataset=NO_WAIT)
    token = add_account(clinic.policy, "ana")
    statuses = []

    def ask(port, first):
        with Client(port, token) as ana:
            for number in range(first, first + 8):
                told = ana.ask(f"SELECT count(*) AS n FROM visits WHERE cost < {number}.5", epsilon=1)
                statuses.append(told.status)

    with running(clinic.policy, options=["--workers", 2]) as (process, port):
        threads = [threading.Thread(target=ask, args=(port, 8 * i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        _, logged = stopped(process)
    assert "Traceback" not in logged
    assert sorted(statuses) == [200] * 20 + [409] * 12
    assert actions(clinic.policy).count(Action.STARTED) == 1
    assert len(charges(clinic.policy)) == 20


def test_two_hosts_share_accounts_and_a_budget_in_postgresql(tmp_path, postgres_server):
    """Each has its own copy of the policy, the data and the anchor, as machines have."""
    ledger = f'ledger = "{postgres_server.url}#two_hosts"'
    first = Clinic(tmp_path / "first", epsilon=5, dataset=f"{NO_WAIT}\n{ledger}")
    token = add_account(first.policy, "ana")
    with running(first.policy) as (_, port), Client(port, token) as ana:
        paid = ana.ask(epsilon=1).json
        shutil.copytree(first.folder, tmp_path / "second")
        with running(tmp_path / "second" / "clinic.toml") as (_, other), Client(other, token) as again:
            number = paid["receipt"]["number"]
            assert again.get(f"datasets/clinic/receipts/{number}").json["rows"] == paid["rows"]
            assert again.ask(epsilon=1).json["charged"] == {"epsilon": 0}
            sqls = [f"{COUNT} WHERE cost < {each}.5" for each in range(8)]
            told = [client.ask(sql, epsilon=1).status for sql in sqls for client in (ana, again)]
    assert told == [200] * 8 + [409] * 8  # each of four is paid once, and free on the other host
    assert len(charges(first.policy)) == 5


def test_old_questions_are_erased_when_it_starts(tmp_path, monkeypatch):
    clinic = Clinic(tmp_path / "clinic", epsilon=20, dataset=NO_WAIT)
    monkeypatch.setattr("discreet.service.storage.event_log.now_text", lambda: "2020-01-01T00:00:00+00:00")
    add_account(clinic.policy, "ana", Role.OWNER)
    monkeypatch.undo()
    with running(clinic.policy, options=["--keep-questions", 30]) as (process, _):
        stopped(process)
    people = open_people(clinic.policy)
    events = list(people.log.events())
    people.log.verify()
    people.close()
    assert events[0].details is None
    assert events[-1].details is not None
