"""How handles are kept: threads, forks, signals, open files."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger import charges as charging
from discreet.ledger import database
from discreet.model.privacy import PureLoss

from .places import ONE, account, charge


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts open files in /proc")
def test_no_file_stays_open(used):
    before = open_files()
    for _ in range(5):
        with used.open() as ledger:
            ledger.balance("staff")
            list(ledger.export())
        with used.open() as ledger, pytest.raises(LedgerClosed):
            ledger.open_account(account(budget=PureLoss(epsilon=2)))
    assert open_files() == before


def test_a_handle_is_usable_from_a_thread_that_did_not_open_it(ledger):
    results = []
    thread = threading.Thread(target=lambda: results.append(charge(ledger, "k")))
    thread.start()
    thread.join()
    assert ledger.store_answer(results[0], b"42") == b"42"


def test_no_connection_lives_through_a_fork(ledger):
    """No state may be inherited: what a fork calls first closes the connection, and keeps everybody out."""
    ledger.balance("staff")
    database._FORK.hold()
    try:
        assert ledger._database._connection is None
        with ThreadPoolExecutor(1) as other_thread:
            waiting = other_thread.submit(ledger.balance, "staff")
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.1)
            database._FORK.release()
            assert waiting.result().spent == PureLoss(epsilon=0)
    finally:
        if database._FORK.registering.locked():
            database._FORK.release()


def test_a_signal_handler_inside_the_ledger_does_not_wait_for_itself(ledger, monkeypatch):
    admitted = charging.admitted

    def interrupted(*args):
        with pytest.raises(LedgerClosed, match="inside the ledger already"):
            ledger.refresh("staff")
        assert ledger.balance("staff").spent == PureLoss(epsilon=0)  # to look is no turn
        return admitted(*args)

    monkeypatch.setattr(charging, "admitted", interrupted)
    charge(ledger, "k", loss=ONE)
    ledger.verify()
