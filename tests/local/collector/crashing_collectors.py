"""Run as a program: collectors that are killed at every step of their work with SQLite.

It forks from a program that has no threads, which is the only clean way to. Nothing in discreet can be told
to crash: the children replace what the collector calls by versions that kill.
"""

import json
import signal
import sqlite3
import sys
from pathlib import Path

from discreet.local.collector.store import Collector
from tests.ledger.forks import Countdown, in_child, outcome
from tests.local.collector.surveys import TODAY, batches_of, same, survey, tallies_of

ASKED = survey()


class Killing(Countdown):
    """Also before and after statements of many rows."""

    def install(self):
        class Connection(sqlite3.Connection):
            execute = self.around(sqlite3.Connection.execute)
            executemany = self.around(sqlite3.Connection.executemany)
            executescript = self.around(sqlite3.Connection.executescript)

        connect = sqlite3.connect
        sqlite3.connect = lambda *args, **kwargs: connect(*args, **{**kwargs, "factory": Connection})


def opened(folder):
    collector = Collector(folder, ASKED, today=TODAY)
    collector._tallies_after = 2  # so that it is also killed while it keeps its tallies
    return collector


def crash_in_new(folder, least):
    """Kill at step 0, 1, 2, … in a folder of its own each time, until the collector lives."""
    return until_alive(lambda step: Path(folder) / str(step), least)


def crash_in_old(folder, least):
    """The same in one folder, with new batches each time."""
    return until_alive(lambda _: Path(folder) / "one", least)


def until_alive(folder_of, least):
    expected, step = {}, 0
    while not crash_once(folder_of(step), step, expected.setdefault(folder_of(step), tallies_of(ASKED, []))):
        step += 1
    assert step >= least, f"only {step} steps: is anything counted?"
    return {"killed": step}


def crash_once(folder, step, expected):
    """Whether the child lived. What it was told counts; what it was not told counts once when sent again."""
    batches = batches_of(ASKED, 30)

    def work(report):
        Killing(step).install()
        with opened(folder) as collector:
            for number, batch in enumerate(batches):
                collector.add(batch)
                report(number)

    lines, status = outcome(in_child(work))
    assert status in (0, signal.SIGKILL), status
    with opened(folder) as collector:
        for number, batch in enumerate(batches):
            receipt = collector.add(batch)
            assert receipt.accepted == 30
            assert receipt.repeated or str(number) not in lines, f"lost what it acknowledged, at step {step}"
        for tally, more in zip(expected, tallies_of(ASKED, batches), strict=True):
            tally += more
        assert same(collector.counts().tallies, expected), f"counted wrongly at step {step}"
    return status == 0


if __name__ == "__main__":
    _, command, place, count = sys.argv
    json.dump(globals()[command](place, int(count)), sys.stdout)
