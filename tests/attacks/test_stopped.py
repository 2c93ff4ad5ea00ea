"""Attack G1, by stopping: Ctrl-C, a watch that raises, no memory, a ledger that is busy when it matters.

A stop is no refusal, and no failure of the database: what was charged is used up, and nobody looks twice for
one price. And whoever did nothing wrong does not lose what they paid for.
"""

import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet import LedgerBusy, LedgerClosed
from discreet.curator import charging as charged
from discreet.engines.base.execution import accepted
from discreet.engines.duckdb.statement import EmptyTables
from discreet.ledger import patient_storing as storing
from discreet.ledger.interface import EntryKind
from discreet.ledger.sqlite import file as sqlite_file
from discreet.ledger.sqlite.ledger import SqliteLedger
from tests.ledger.holders import stopped_in_its_turn
from tests.ledger.places import sqlite_place

COUNT = "SELECT count(*) AS n FROM visits"


class Unusual(BaseException):
    """A stop of somebody's own, which cannot be made again from what it holds."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def kinds(clinic):
    """What happened to charges, in order."""
    with clinic.open() as curator:
        found = [entry.kind for entry in curator._ledger.entries("clinic")]
    return [str(kind) for kind in found if kind not in (EntryKind.OPENED, EntryKind.DATA_SEEN)]


# Before the charge.


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Whoever runs the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c():
    """As a terminal does: Python notices in its main thread."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_g1_a_stop_while_the_database_looks_at_a_question_is_no_refusal(clinic, monkeypatch, stop):
    """DuckDB takes Ctrl-C for an error of the statement: RuntimeError("Query interrupted"), and no more."""

    def stopped(*_):
        if stop is MemoryError:
            raise MemoryError
        press_ctrl_c()
        threading.Event().wait(0.2)  # in the main thread, this is where it would be raised
        raise RuntimeError("Query interrupted")

    curator = clinic.open()
    with monkeypatch.context() as patched:
        patched.setattr(EmptyTables, "accepts", stopped)
        with pytest.raises(stop):
            curator.ask(COUNT, epsilon=1)
    assert kinds(clinic) == []
    curator.ask(COUNT, epsilon=1)


def test_g1_ctrl_c_amid_a_statement_of_duckdb_reaches_its_caller():
    import duckdb

    connection = duckdb.connect()
    timer = threading.Timer(0.3, press_ctrl_c)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        accepted(lambda: _until_interrupted(connection))
    timer.join()


def _until_interrupted(connection):
    """A statement that ends by itself, somewhat later."""
    return connection.execute("SELECT count(*) FROM range(3000000000)").fetchall()


@pytest.mark.parametrize(
    "place", ["base.execution.accepted", "postgres.engine._state", "spark.silence.attempt"]
)
def test_g1_want_of_memory_is_no_refusal_on_any_engine(place):
    from importlib import import_module

    module, _, name = place.rpartition(".")
    asking = getattr(import_module(f"discreet.engines.{module}"), name)

    def no_memory():
        raise MemoryError

    def refused():
        raise ValueError("not one SELECT")

    with pytest.raises(MemoryError):
        asking(no_memory)
    assert asking(refused) is not True


# Between the charge and the draw.


@pytest.mark.parametrize("at", ["while it runs", "at the end"])
def test_g1_a_watch_that_raises_does_not_look_again_for_nothing(clinic, monkeypatch, at):
    """An error of the watch was taken for one of the database: the charge was not used up."""
    monkeypatch.setattr("discreet.engines.base.execution._SECONDS_BETWEEN_SIGNS", 0.0001)
    told = []

    def watch(share):
        told.append(share)
        if at == "while it runs" or share == 1:
            raise OSError("The display is gone.")

    curator = clinic.open()
    curator.watch = watch
    with pytest.warns(UserWarning, match=r"The watch failed \(OSError\)"):
        first = curator.ask(COUNT, epsilon=1)
    assert kinds(clinic) == ["charged", "answered"]
    assert not first.repeated
    assert len(told) == 1 or at == "at the end"


def test_g1_a_watch_that_raises_where_warnings_are_errors_does_not_either(clinic):
    curator = clinic.open()

    def watch(_):
        raise ValueError

    curator.watch = watch
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curator.ask(COUNT, epsilon=1)
    assert kinds(clinic) == ["charged", "answered"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(3), Unusual(1, 2)])
def test_g1_a_watch_that_stops_the_program_has_used_up_the_charge(clinic, stop):
    def watch(_):
        raise stop

    curator = clinic.open()
    curator.watch = watch
    expected = KeyboardInterrupt if isinstance(stop, Unusual) else type(stop)
    with pytest.raises(expected) as raised:
        curator.ask(COUNT, epsilon=1)
    clinic.see_error(raised.value)
    curator.watch = None
    curator.ask(COUNT, epsilon=1)
    assert kinds(clinic) == ["charged", "charged", "answered"]


# Between the draw and the answer.


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.2)


def stop_holder_at_storing(clinic, monkeypatch, entered):
    """When the draw is to be stored, another process is stopped in its turn."""
    honest, holders = charged.ChargedData._store, []

    def store(data, receipt, drawn):
        holder = stopped_in_its_turn(sqlite_place(clinic.folder / "clinic.ledger"))
        holders.append((holder, holder.__enter__()))
        entered.set()
        return honest(data, receipt, drawn)

    monkeypatch.setattr(charged.ChargedData, "_store", store)
    return holders


@pytest.mark.usefixtures("impatient")
def test_g1_a_ledger_that_is_busy_when_a_draw_is_stored_is_waited_for(clinic, monkeypatch):
    """The lock is given up on after a while. What was drawn is in memory still, and is not lost to that."""
    entered, curator = threading.Event(), clinic.open()
    with monkeypatch.context() as patched, ThreadPoolExecutor(1) as thread:
        holders = stop_holder_at_storing(clinic, patched, entered)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            asked = thread.submit(curator.ask, COUNT, epsilon=1)
            assert entered.wait(60)
            ((holder, process),) = holders
            while not told and not asked.done():
                threading.Event().wait(0.05)
            assert not asked.done()  # though the deadline of the lock has passed
            os.kill(process, signal.SIGCONT)
            asked.result(60)
            holder.__exit__(None, None, None)
    assert f"Process {process} on" in str(told[0].message)
    assert f"kill -CONT {process}" in str(told[0].message)
    assert kinds(clinic) == ["charged", "answered"]
    assert clinic.ask(COUNT, epsilon=1).repeated


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore:Process")
def test_g1_a_ledger_that_stays_busy_is_told_and_the_draw_is_paid_for(clinic, monkeypatch):
    monkeypatch.setattr(storing, "PATIENCE_SECONDS", 0.5)
    with monkeypatch.context() as patched:
        holders = stop_holder_at_storing(clinic, patched, threading.Event())
        with pytest.raises(LedgerBusy, match=r"was charged, which stays.*charged anew"):
            clinic.open().ask(COUNT, epsilon=1)
        holders[0][0].__exit__(None, None, None)
    clinic.ask(COUNT, epsilon=1)
    assert kinds(clinic) == ["charged", "charged", "answered"]


def test_g1_a_ledger_that_is_damaged_is_not_waited_for(clinic, monkeypatch):
    tries = []

    def damaged(*_):
        tries.append(1)
        raise LedgerClosed("It is damaged.", remedy="Restore it.")

    monkeypatch.setattr(SqliteLedger, "store_answer", damaged)
    with pytest.raises(LedgerClosed, match="damaged"):
        clinic.open().ask(COUNT, epsilon=1)
    assert len(tries) == 1


def test_g1_a_charge_that_cannot_be_marked_as_unused_is_told_as_used(clinic, monkeypatch):
    from discreet import EngineFailed
    from discreet.engines.base.execution import failed

    def fails(*_, **__):
        raise failed()

    def closed(*_):
        raise LedgerClosed("The disk is full.", remedy="Make room.")

    curator = clinic.open()
    with monkeypatch.context() as patched:
        patched.setattr(curator._data.engine, "run_each", fails)
        patched.setattr(SqliteLedger, "mark_unused", closed)
        with pytest.raises(EngineFailed, match="charged anew"):
            curator.ask(COUNT, epsilon=1)
