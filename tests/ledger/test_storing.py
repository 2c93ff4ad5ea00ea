"""What was drawn is stored as soon as the ledger is free again: once, whatever happens to the tries."""

import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from discreet.errors import LedgerBusy, LedgerClosed
from discreet.ledger import patient_storing as storing
from discreet.ledger.interface import EntryKind
from discreet.ledger.patient_storing import store_patiently
from discreet.ledger.postgres import database as postgres_database
from discreet.ledger.sqlite import file as sqlite_file

from .holders import stopped_in_its_turn
from .places import account, charge
from .proxies import network_to

pytestmark = pytest.mark.filterwarnings("ignore:(The ledger|Process)")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(postgres_database, "PATIENCE_SECONDS", 0.2)


def answers(ledger):
    ledger.verify()
    return sum(entry.kind is EntryKind.ANSWERED for entry in ledger.entries("staff"))


@pytest.mark.usefixtures("impatient")
def test_g1_a_draw_outwaits_a_process_that_is_stopped_in_its_turn(place):
    with place.open() as ledger, ThreadPoolExecutor(1) as thread:
        ledger.open_account(account())
        receipt = charge(ledger, "k")
        with stopped_in_its_turn(place) as process, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            stored = thread.submit(store_patiently, ledger, receipt, b"42")
            while not told and not stored.done():
                threading.Event().wait(0.05)
            os.kill(process, signal.SIGCONT)
            assert stored.result(60) == b"42"
        assert str(process) in str(told[0].message)
        assert answers(ledger) == 1


@pytest.mark.usefixtures("impatient")
def test_g1_a_ledger_that_stays_busy_is_given_up(place, monkeypatch):
    monkeypatch.setattr(storing, "PATIENCE_SECONDS", 0.3)
    with place.open() as ledger:
        ledger.open_account(account())
        receipt = charge(ledger, "k")
        with stopped_in_its_turn(place), pytest.raises(LedgerBusy, match="has kept the ledger"):
            store_patiently(ledger, receipt, b"42")
        assert answers(ledger) == 0


def test_g1_a_receipt_from_before_a_rebase_is_not_tried_again(place):
    with place.open() as ledger:
        ledger.open_account(account())
        receipt = charge(ledger, "k")
        ledger.rebase(write_off="everything", reason="lost")
        with pytest.raises(LedgerClosed, match="re-based") as refused:
            store_patiently(ledger, receipt, b"42")
        assert not isinstance(refused.value, LedgerBusy)


@pytest.mark.usefixtures("impatient")
def test_g1_what_another_stored_meanwhile_is_what_is_used(place):
    with place.open() as ledger, ThreadPoolExecutor(1) as thread:
        ledger.open_account(account())
        mine, theirs = charge(ledger, "k"), charge(ledger, "k")
        with stopped_in_its_turn(place) as process:
            with place.open() as other:
                waiting = thread.submit(store_patiently, ledger, mine, b"42")
                os.kill(process, signal.SIGCONT)
                first = store_patiently(other, theirs, b"43")
            assert waiting.result(60) == first
        assert answers(ledger) == 1


class TestConnections:
    """Lost between a charge and what is stored for it."""

    @pytest.fixture
    def kind(self):
        return "postgres"

    @pytest.mark.parametrize("server_hears", [False, True])
    @pytest.mark.parametrize(
        "word", [b"BEGIN ISOLATION LEVEL SERIALIZABLE", b"INSERT INTO answers", b"COMMIT"]
    )
    def test_g1_a_lost_connection_costs_no_draw(self, place, postgres_server, word, server_hears):
        """Also if the commit came through and nobody was told: there is one answer, and it is this one."""
        with network_to(postgres_server.port) as network:
            port = str(postgres_server.port)
            through = replace(place, address=place.address.replace(port, str(network.port)))
            with through.open() as ledger:
                ledger.open_account(account())
                receipt = charge(ledger, "k")
                network.cut_at(word, server_hears=server_hears)
                assert store_patiently(ledger, receipt, b"42") == b"42"
                assert network.word is None
                assert answers(ledger) == 1

    def test_g1_a_session_that_was_ended_costs_no_draw(self, place):
        with place.open() as ledger:
            ledger.open_account(account())
            receipt = charge(ledger, "k")
            place.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                f" WHERE application_name LIKE 'discreet ledger, process {os.getpid()} on %'"
            )
            assert store_patiently(ledger, receipt, b"42") == b"42"
            assert answers(ledger) == 1
