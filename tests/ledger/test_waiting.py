"""Nobody waits for ever, and nobody waits who only looks.

A process that is stopped in its turn, or whose server has fallen silent, keeps the ledger. Others are told
who it is, and can still see what is spent.
"""

import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.file_lock import FileLock
from discreet.ledger.postgres import database as postgres_database
from discreet.ledger.sqlite import file as sqlite_file
from discreet.model.privacy import PureLoss

from .holders import stopped_in_its_turn
from .places import TENTH, account, charge
from .proxies import network_to


@pytest.fixture
def impatient(monkeypatch):
    """Deadlines in tenths of a second; what is waited for in these tests never comes by itself."""
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(postgres_database, "PATIENCE_SECONDS", 0.3)


def looked_at(ledger):
    """All that can be done without a turn."""
    ledger.open_account(account())
    ledger.verify()
    return (
        ledger.balance("staff").spent,
        ledger.stored_answer("staff", "k")[1],
        len(list(ledger.entries("staff"))),
        len(list(ledger.export())),
    )


def test_item10_a_stopped_holder_keeps_nobody_from_looking(used):
    with stopped_in_its_turn(used), used.open() as ledger:
        assert looked_at(ledger) == (TENTH, b"42", 3, 3)


@pytest.mark.usefixtures("impatient")
def test_item10_a_stopped_holder_is_named_to_those_who_would_add(used):
    with stopped_in_its_turn(used) as process, used.open() as ledger:
        for _ in range(3):
            with pytest.raises(LedgerClosed, match="has kept the ledger") as refused:
                charge(ledger, "k2")
            assert f"Process {process} on {os.uname().nodename}" in refused.value.problem
            assert f"kill -CONT {process}" in refused.value.remedy
        waiting = [thread for thread in threading.enumerate() if thread.name == "waits for the ledger"]
        assert len(waiting) == 1  # it is asked again, not doubled
        assert ledger.balance("staff").spent == TENTH


@pytest.mark.usefixtures("impatient")
def test_item10_the_remedy_works(used, monkeypatch):
    with stopped_in_its_turn(used) as process, used.open() as ledger:
        with pytest.raises(LedgerClosed, match="has kept the ledger"):
            charge(ledger, "k2")
        os.kill(process, signal.SIGCONT)
        monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 30)
        monkeypatch.setattr(postgres_database, "PATIENCE_SECONDS", 30)
        with used.open() as other:  # what the first handle waited for comes to it, and is given back
            charge(other, "k3")
        charge(ledger, "k2")
        ledger.verify()


@pytest.mark.usefixtures("impatient")
def test_item10_a_fork_does_not_rely_on_the_wait_of_its_parent(used, monkeypatch):
    own, of_child = socket.socketpair()
    with own, of_child, used.open() as ledger:
        with stopped_in_its_turn(used):
            with pytest.raises(LedgerClosed, match="has kept the ledger"):
                charge(ledger, "k2")
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with pytest.raises(LedgerClosed, match="has kept the ledger"):
                        charge(ledger, "k3")
                    of_child.send(b"refused")
                    of_child.recv(1)
                    sqlite_file.PATIENCE_SECONDS = postgres_database.PATIENCE_SECONDS = 30
                    charge(ledger, "k3")
                    status = 0
                finally:
                    os._exit(status)
            of_child.close()
            assert own.recv(7) == b"refused"
        own.send(b"!")
        assert os.waitpid(child, 0)[1] == 0
        monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 30)
        monkeypatch.setattr(postgres_database, "PATIENCE_SECONDS", 30)
        charge(ledger, "k2")
        ledger.verify()


@pytest.mark.usefixtures("impatient")
def test_item10_threads_of_one_handle_do_not_wait_for_ever(ledger):
    with ledger._database.transaction(), ThreadPoolExecutor(1) as thread:
        assert thread.submit(ledger.balance, "staff").result().spent == PureLoss(epsilon=0)
        with pytest.raises(LedgerClosed, match="Another thread has kept the ledger"):
            thread.submit(charge, ledger, "k").result()
    charge(ledger, "k")


def test_item10_whoever_looks_sees_what_is_anchored(place):
    """The anchor of a charge is written after it: a look at any moment finds both, and no false alarm."""
    with place.open() as writer, place.open() as reader, ThreadPoolExecutor(1) as thread:
        writer.open_account(account())
        cheap = PureLoss(epsilon=0.01)
        charges = thread.submit(lambda: [charge(writer, f"k{i}", loss=cheap) for i in range(60)])
        seen = [PureLoss(epsilon=0)]
        while not charges.done():
            seen.append(reader.balance("staff").spent)
        charges.result()
    assert [spent.epsilon for spent in seen] == sorted(spent.epsilon for spent in seen)


def test_item10_what_was_looked_at_is_remembered(place, kind):
    """A machine that only looks notices a restored backup too."""
    if kind == "sqlite":
        pytest.skip("one machine has one anchor")
    with place.open() as ledger:
        ledger.open_account(account())
        backup = place.backup()
        elsewhere = place.on_another_machine("b")
        charge(ledger, "k")
    with elsewhere.open() as other:
        assert other.balance("staff").spent == TENTH
    place.restore(backup)
    with elsewhere.open() as other, pytest.raises(LedgerClosed, match="not the one it was"):
        other.balance("staff")


def test_item10_to_look_changes_nothing(used):
    with used.open() as ledger:
        with (
            pytest.raises(LedgerClosed, match=r"cannot be used|cannot be written|can only be read"),
            ledger._database.reading() as look,
        ):
            look.change("UPDATE accounts SET version = version + 1")
        ledger.verify()


class TestServers:
    """A server that says nothing, and one whose tables another machine keeps."""

    @pytest.fixture
    def kind(self):
        return "postgres"

    @pytest.fixture
    def quick(self, monkeypatch):
        monkeypatch.setattr(postgres_database, "PATIENCE_MILLISECONDS", 300)
        monkeypatch.setattr(postgres_database, "MORE_MILLISECONDS", 100)

    @pytest.mark.usefixtures("quick")
    def test_item10_a_holder_on_another_machine_is_named(self, used):
        with stopped_in_its_turn(used.on_another_machine("b")) as process, used.open() as ledger:
            with pytest.raises(LedgerClosed, match="kept busy") as refused:
                charge(ledger, "k2")
            assert f"by process {process} on {os.uname().nodename[:30]}, in session" in refused.value.problem
            with pytest.raises(LedgerClosed) as again:
                charge(ledger, "k2")
            used.run(again.value.remedy.split("session: ")[1])
            charge(ledger, "k2")

    @pytest.mark.usefixtures("quick")
    @pytest.mark.parametrize("word", [b"BEGIN", b"INSERT INTO entries", b"ROLLBACK"])
    def test_item10_a_silent_server_is_told(self, used, postgres_server, word, monkeypatch):
        with network_to(postgres_server.port) as network:
            port = str(postgres_server.port)
            through = replace(used, address=used.address.replace(port, str(network.port)))
            with through.open() as ledger:
                charge(ledger, "k2")
                network.fall_silent_at(word)
                if word == b"ROLLBACK":
                    charge(ledger, "k")  # answered before: nothing is added
                else:
                    with pytest.raises(LedgerClosed, match=r"no longer answers.*added nothing"):
                        charge(ledger, "k3")
                monkeypatch.setattr(postgres_database, "PATIENCE_MILLISECONDS", 30_000)
                network.speak_again()  # else the server itself ends that turn, a little later
                assert charge(ledger, "k4").number == 5

    @pytest.mark.usefixtures("quick")
    def test_item10_a_server_that_is_silent_at_the_commit_is_told_as_unknown(self, used, postgres_server):
        with network_to(postgres_server.port) as network:
            port = str(postgres_server.port)
            through = replace(used, address=used.address.replace(port, str(network.port)))
            with through.open() as ledger:
                charge(ledger, "k2")
                network.fall_silent_at(b"COMMIT")
                with pytest.raises(LedgerClosed, match="may have been made or not"):
                    charge(ledger, "k3")

    def test_item10_healthy_handles_do_not_wait_for_a_silent_one(self, used, postgres_server, monkeypatch):
        monkeypatch.setattr(postgres_database, "PATIENCE_SECONDS", 0.3)
        with network_to(postgres_server.port) as network, ThreadPoolExecutor(1) as thread:
            port = str(postgres_server.port)
            through = replace(used, address=used.address.replace(port, str(network.port)))
            with through.open() as silent, used.open() as healthy:
                charge(silent, "k2")
                network.fall_silent_at(b"BEGIN ISOLATION LEVEL SERIALIZABLE")
                waiting = thread.submit(charge, silent, "k3")
                while network.word is not None:
                    pass
                assert looked_at(healthy)[0] == PureLoss(epsilon=0.2)
                assert silent.balance("staff").spent == PureLoss(epsilon=0.2)
                with pytest.raises(LedgerClosed, match=f"Process {os.getpid()} on"):
                    charge(healthy, "k4")
                network.speak_again()
                with pytest.raises(LedgerClosed, match="lost the connection"):
                    waiting.result()
                charge(healthy, "k4")


def test_item10_a_wait_that_is_over_closes_no_file_of_another(tmp_path):
    """In the child of a fork: the number of its handle may be that of any file by then."""
    lock = FileLock(tmp_path / "lock")
    with FileLock(lock.path).held("ledger", 1), pytest.raises(LedgerClosed), lock.held("ledger", 0.05):
        pytest.fail("held by two")
    for thread in threading.enumerate():
        if thread.name == "waits for the ledger":
            thread.join()
    opened = [os.open(tmp_path / "lock", os.O_RDONLY) for _ in range(8)]
    lock.forget()
    for handle in opened:
        os.close(handle)
