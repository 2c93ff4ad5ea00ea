"""How many questions a second one ledger takes, and whether it gets slower as it grows.

A question is what the curator asks of the ledger: look, charge, store, look at the balance. The ledger is on
the disk of temporary files, written through; several processes take turns.
"""

import multiprocessing
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from time import perf_counter

from timing import CONSOLE, Figure, at_least, at_most, best_of_rounds, judge

from discreet import PureLoss
from discreet.ledger.interface import Account
from discreet.ledger.sqlite.ledger import SqliteLedger

PROCESSES, QUESTIONS, ENTRIES, ANALYSTS = 4, 150, 50_000, 3_000
BUDGET, PRICE = PureLoss(epsilon=1000), PureLoss(epsilon=0.001)
COPIED = "kind, dataset, version, analyst, question, key || x.i, currency, amount, delta, spent, spent_delta"


def opened(path: Path) -> SqliteLedger:
    ledger = SqliteLedger(path)
    ledger.open_account(
        Account(
            dataset="bench", budget=BUDGET, analyst_cap=BUDGET, fingerprint="bench", people=frozenset({"x"})
        )
    )
    return ledger


def ask(ledger: SqliteLedger, key: str) -> None:
    ledger.stored_or_payable("bench", analyst="ana", key=key, loss=PRICE)
    with ledger.asking("bench", key):
        receipt = ledger.charge("bench", analyst="ana", question="SELECT 1", key=key, loss=PRICE)
        ledger.store_answer(receipt, b"\0" * 300)
    ledger.balance("bench", analysts=["ana"])


def _ask_many(path: Path, process: int) -> None:
    with opened(path) as ledger:
        for number in range(QUESTIONS):
            ask(ledger, f"{process} {number}")


def questions_a_second(path: Path) -> float:
    opened(path).close()
    workers = [multiprocessing.Process(target=_ask_many, args=(path, i)) for i in range(PROCESSES)]
    start = perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return PROCESSES * QUESTIONS / (perf_counter() - start)


def grow(path: Path) -> None:
    """Write many entries and analysts, bypassing the ledger: a turn does not check that they all add up."""
    with opened(path) as ledger:
        ask(ledger, "first")
    with closing(connect(path)) as database:
        database.execute("DROP TRIGGER entries_have_no_gaps")
        database.execute(
            f"WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < {ENTRIES})"
            f" INSERT INTO entries SELECT -x.i, {COPIED}, note, at, digest || x.i FROM entries, x"
            " WHERE kind = 'charged'"
        )
        database.executemany(
            "INSERT INTO analysts VALUES ('bench', ?, 0, 0)", ((f"analyst {i}",) for i in range(ANALYSTS))
        )
        database.execute(
            "CREATE TRIGGER entries_have_no_gaps BEFORE INSERT ON entries WHEN NEW.number <>"
            " (SELECT coalesce(max(number), 0) + 1 FROM entries)"
            " BEGIN SELECT RAISE(ABORT, 'entries are numbered without gaps'); END"
        )
        database.commit()


def growth(folder: Path) -> float:
    """Processor time of a question in a ledger that has grown, as a multiple of one in a new one."""
    ledgers = {}
    for name in ("new", "grown"):
        path = folder / f"{name}.db"
        if name == "grown":
            grow(path)
        ledgers[name] = opened(path)
    numbers = iter(range(10**9))

    def some(ledger: SqliteLedger) -> None:
        for _ in range(20):
            ask(ledger, f"more {next(numbers)}")

    best = best_of_rounds(5, {name: lambda each=each: some(each) for name, each in ledgers.items()})
    for ledger in ledgers.values():
        ledger.close()
    return best["grown"] / best["new"]


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = Path(place)
        rate = max(questions_a_second(folder / f"{i}.db") for i in range(3))
        ratio = growth(folder)
    CONSOLE.print(f"{PROCESSES} processes; {ENTRIES:,} entries and {ANALYSTS:,} analysts")
    return [
        at_least("ledger in SQLite, questions a second", rate, 100, ""),
        at_most("a question in a ledger that has grown, beside a new one", ratio, 1.3, "×"),
    ]


if __name__ == "__main__":
    sys.exit(judge(figures()))
