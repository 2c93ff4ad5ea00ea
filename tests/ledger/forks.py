"""Run as a program: many processes on one ledger, and processes that are killed at every step.

It forks from a program that has no threads, which is the only clean way to. Nothing in discreet can be told
to crash; the children replace what the ledger calls (os.fsync, Path.replace, sqlite3, psycopg) by versions
that kill.
"""

import json
import os
import pathlib
import signal
import sqlite3
import sys
import traceback

import psycopg

from discreet.errors import BudgetExceeded
from discreet.ledger.interface import EntryKind
from discreet.model.privacy import PureLoss
from tests.ledger.places import account, charge, place_at


def in_child(work):
    """Fork; the child does the work and reports lines through a pipe. Returns (pid, the pipe's end)."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    status = 1
    try:
        work(lambda line: os.write(writing, f"{line}\n".encode()))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def outcome(child):
    """What the child reported, and how it ended."""
    pid, reading = child
    with os.fdopen(reading) as pipe:
        lines = pipe.read().split()
    return lines, os.waitpid(pid, 0)[1]


def race(place, processes):
    """Each process tries one charge of its own, all at once; the parent keeps its handle open."""
    return race_on(place, processes, lambda inherited, _: inherited)


def race_of_machines(place, processes):
    """The same with a handle and an anchor for each process, as if each were on a machine of its own."""
    return race_on(place, processes, lambda _, number: place.on_another_machine(number).open())


def race_on(place, processes, handle_of):
    start_reading, start_writing = os.pipe()
    with place.open() as inherited:
        inherited.open_account(account())

        def working(number):
            def work(report):
                ledger = handle_of(inherited, number)
                os.close(start_writing)
                os.read(start_reading, 1)  # returns when the parent closes its end
                try:
                    report(charge(ledger, f"by {os.getpid()}").number)
                except BudgetExceeded:
                    report("refused")

            return work

        children = [in_child(working(number)) for number in range(processes)]
        os.close(start_writing)
        results = [outcome(child) for child in children]
        inherited.verify()
        spent = str(inherited.balance("staff").spent.epsilon)
    return {
        "ended": sum(status for _, status in results),
        "numbers": sorted(int(lines[0]) for lines, _ in results if lines != ["refused"]),
        "refused": sum(lines == ["refused"] for lines, _ in results),
        "spent": spent,
    }


def same(place, processes):
    """All ask the same question; who holds it draws, and all show what was stored."""
    with place.open() as ledger:
        ledger.open_account(account())

        def work(report):
            with ledger.asking("staff", "k"):
                charged = charge(ledger, "k")
                if not isinstance(charged, tuple):
                    charged = charged, ledger.store_answer(charged, f"drawn-by-{os.getpid()}".encode())
            report(charged[1].decode())

        results = [outcome(child) for child in [in_child(work) for _ in range(processes)]]
        ledger.verify()
        return {
            "shown": sorted({line for lines, _ in results for line in lines}),
            "ended": sum(s for _, s in results),
            "spent": str(ledger.balance("staff").spent.epsilon),
        }


def forks_at_work(place, rounds):
    """Fork while threads are inside the ledger: parent and children go on with it."""
    import threading
    import warnings

    warnings.simplefilter("ignore")
    with place.open() as ledger:
        ledger.open_account(account(budget=PureLoss(epsilon=100)))
        stop = threading.Event()
        made = [0, 0]

        def keep_charging(which):
            while not stop.is_set():
                charge(ledger, f"thread {which} {made[which]}")
                made[which] += 1

        threads = [threading.Thread(target=keep_charging, args=(which,)) for which in range(2)]
        for thread in threads:
            thread.start()
        results = [
            outcome(in_child(lambda report, turn=turn: report(charge(ledger, f"child {turn}").number)))
            for turn in range(rounds)
        ]
        stop.set()
        for thread in threads:
            thread.join()
        ledger.verify()
        charged = sum(entry.kind is EntryKind.CHARGED for entry in ledger.entries("staff"))
    return {"ended": sum(s for _, s in results), "missing": charged - sum(made) - rounds}


class Countdown:
    """Kills this process, as kill -9 does, before or after the n-th thing that the ledger does."""

    def __init__(self, steps):
        self.steps = steps

    def around(self, function):
        def counted(*args, **kwargs):
            self.step()
            result = function(*args, **kwargs)
            self.step()
            return result

        return counted

    def before_changes(self, execute):
        """Before each statement but a SELECT; after it is before the next, as a SELECT changes nothing."""

        def counted(cursor, sql, *args, **kwargs):
            if b"SELECT" not in (sql if isinstance(sql, bytes) else sql.encode())[:10]:
                self.step()
            return execute(cursor, sql, *args, **kwargs)

        return counted

    def step(self):
        if self.steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps -= 1

    def install(self):
        class Connection(sqlite3.Connection):
            execute = self.around(sqlite3.Connection.execute)
            executescript = self.around(sqlite3.Connection.executescript)

        connect = sqlite3.connect
        sqlite3.connect = lambda *args, **kwargs: connect(*args, **{**kwargs, "factory": Connection})
        psycopg.Connection.connect = classmethod(self.around(psycopg.Connection.connect.__func__))
        psycopg.Cursor.execute = self.before_changes(psycopg.Cursor.execute)
        os.fsync = self.around(os.fsync)
        os.pwrite = self.around(os.pwrite)
        pathlib.Path.replace = self.around(pathlib.Path.replace)


BUDGET = PureLoss(epsilon=10)
TINY = PureLoss(epsilon=0.001)


def ask(ledger, key, told=lambda _: None):
    """One question, as the curator asks it; what it shows. Each draw is told as soon as it is made."""
    ledger.open_account(account(budget=BUDGET))
    stored = ledger.stored_answer("staff", key)
    if stored is not None:
        return stored
    with ledger.asking("staff", key):
        charged = charge(ledger, key, loss=TINY)
        if isinstance(charged, tuple):
            return charged
        draw = os.urandom(8).hex()
        told(f"{charged.digest}:{draw}")
        return charged, ledger.store_answer(charged, draw.encode())


def crash_in_new(place, least):
    """Kill at step 0, 1, 2, … of the first question to a ledger, a new one each time, until it lives."""
    return crash_until_alive(place.other, least)


def crash_in_old(place, least):
    """Kill at step 0, 1, 2, … of another question to one ledger."""
    return crash_until_alive(lambda _: place, least)


def crash_until_alive(place_of, least):
    steps = 0
    while not crash_once(place_of(steps), steps, f"k{steps}"):
        steps += 1
    assert steps >= least, f"only {steps} steps: is anything counted?"
    return {"killed": steps}


def crash_once(place, steps, key):
    """Whether the child lived. Nothing that it was told may be lost, and the ledger goes on."""

    def work(report):
        Countdown(steps).install()
        with place.open() as ledger:
            report(ask(ledger, key, report)[1].decode())

    lines, status = outcome(in_child(work))
    assert status in (0, signal.SIGKILL), status
    with place.open() as ledger:
        draws = [line for line in lines if ":" in line]
        receipt, shown = ask(ledger, key, draws.append)
        ledger.verify()
        charges = [entry for entry in ledger.entries("staff") if entry.kind is EntryKind.CHARGED]
        assert ledger.balance("staff").spent.epsilon == len(charges) * TINY.epsilon
        paid = {entry.digest for entry in charges if entry.key == key}
        assert {line.split(":")[0] for line in draws} <= paid, "a draw without a charge"
        assert len({line.split(":")[0] for line in draws}) == len(draws), "two draws for one charge"
        assert f"{receipt.digest}:{shown.decode()}" in draws
        assert lines[1:] in ([], [shown.decode()]), "what was shown is not what is stored"
    return status == 0


if __name__ == "__main__":
    _, command, address, anchor, count = sys.argv
    result = globals()[command](place_at(address, anchor), int(count))
    json.dump(result, sys.stdout)
