"""Run as a program: many processes that ask at once, and processes that are killed while they ask.

It forks from a program that has no threads and has opened neither database, which is the only clean way to.
Nothing in discreet can be told to crash: the children wrap the engine and the ledger that the curator is
given, and what the ledger calls, in versions that kill.
"""

import json
import os
import random
import signal
import sys
from fractions import Fraction
from pathlib import Path

from discreet import BudgetExceeded
from discreet.apps import session
from discreet.apps.ledgers import open_ledger, place_named_by
from discreet.apps.session import open_curator
from discreet.compile.parse_sql import parse_sql
from discreet.ledger.ledger import Kind
from discreet.noise.laplace import DiscreteLaplace
from tests.attacks.ask import stored_bytes
from tests.ledger.forks import Countdown, in_child, outcome

PRICE = Fraction(1, 10)
CALLS = ("open_account", "stored_answer", "prepare", "charge", "run_each", "store_answer", "balance")


def question(number):
    return f"SELECT ward, count(*) AS n, sum(cost) AS total FROM visits WHERE age < {number} GROUP BY ward"


def all_at_once(policy, works):
    """Each in a process of its own, started together; what they report."""
    start_reading, start_writing = os.pipe()

    def waiting(work):
        def waits(report):
            os.close(start_writing)
            os.read(start_reading, 1)  # returns when the parent closes its end
            work(report)

        return waits

    children = [in_child(waiting(work)) for work in works]
    os.close(start_reading)
    os.close(start_writing)
    results = [outcome(child) for child in children]
    with open_ledger(place_named_by(policy)) as ledger:
        ledger.verify()
        return {
            "ended": sorted({status for _, status in results}),
            "lines": sorted(line for lines, _ in results for line in lines),
            "spent": str(ledger.balance("clinic").spent.epsilon),
            "charged": sum(entry.kind is Kind.CHARGED for entry in ledger.entries("clinic")),
            "answered": sum(entry.kind is Kind.ANSWERED for entry in ledger.entries("clinic")),
        }


def race(policy, processes):
    """Every process asks another question."""

    def asking(number):
        def work(report):
            try:
                open_curator(policy, analyst=f"ana{number % 7}").ask(question(number), epsilon=0.1)
            except BudgetExceeded:
                report("refused")
            else:
                report("answered")

        return work

    return all_at_once(policy, [asking(number) for number in range(processes)])


def same(policy, processes):
    """Every process asks the same; they report what they were shown."""

    def work(report):
        report(stored_bytes(open_curator(policy, analyst="ana").ask(question(1), epsilon=0.1)).hex())

    return all_at_once(policy, [work] * processes)


class Killing:
    """An engine or ledger that kills its process before or after one of its calls."""

    def __init__(self, honest, call, when):
        self._honest, self._call, self._when = honest, call, when

    def __getattr__(self, name):
        found = getattr(self._honest, name)
        if name != self._call:
            return found

        def killing(*args, **kwargs):
            if self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = found(*args, **kwargs)
            if self._when == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return killing


def install(step):
    """Make the next curator that is opened die at this step."""
    call, when = step
    if call == "sqlite":
        Countdown(when).install()
        return
    for name in ("open_engine", "open_ledger"):
        honest = getattr(session, name)
        setattr(
            session, name, lambda *args, honest=honest, **named: Killing(honest(*args, **named), call, when)
        )


def steps_to_die_at(rounds):
    """Every call, before and after, and then anything: half of it inside the ledger."""
    chosen = [(call, when) for call in CALLS for when in ("before", "after")]
    anything = random.SystemRandom()
    while len(chosen) < rounds:
        inside = ("sqlite", anything.randrange(160))
        chosen.append(
            anything.choice([inside, (anything.choice(CALLS), anything.choice(["before", "after"]))])
        )
    return chosen[:rounds]


def crashes(policy, rounds):
    """One ledger, and in every round a process that is killed at some step, mostly of a new question."""
    seen, killed, unseen_charges = {}, 0, 0
    anything = random.SystemRandom()
    in_a_process(policy, 0, None)  # opens the account
    before = books(policy)
    for step in steps_to_die_at(rounds):
        again = len(seen) > len(CALLS) * 2 and anything.randrange(4) == 0
        number = anything.choice(list(seen)) if again else len(seen) + 1
        lines, status = in_a_process(policy, number, step)
        assert status in (0, signal.SIGKILL), (step, status)
        killed += status == signal.SIGKILL
        after = books(policy)
        assert before["charged"] <= after["charged"], f"a charge was lost at {step}"
        assert after["charged"] - before["charged"] <= {question(number)}, f"a strange charge at {step}"
        assert after["spent"] == PRICE * len(after["charged"]), f"spent is not the sum at {step}"
        if lines:
            assert question(number) in after["charged"], f"an answer without a charge at {step}"
            assert seen.setdefault(number, lines[0]) == lines[0], f"another answer at {step}"
        unseen_charges += question(number) in after["charged"] and number not in seen
        retried, status = in_a_process(policy, number, None)
        assert status == 0
        assert seen.setdefault(number, retried[0]) == retried[0], f"another answer after {step}"
        settled = books(policy)
        assert settled["charged"] == after["charged"] | {question(number)}
        assert settled["spent"] == PRICE * len(settled["charged"]), f"charged again after {step}"
        before = settled
    return {"killed": killed, "unseen_charges": unseen_charges, "questions": len(seen)}


def in_a_process(policy, number, step):
    """Ask in a process of its own, which dies at the step, and report what was shown."""

    def work(report):
        if step is not None:
            install(step)
        report(stored_bytes(open_curator(policy, analyst="ana").ask(question(number), epsilon=0.1)).hex())

    return outcome(in_child(work))


def books(policy):
    """What a fresh connection finds, once it has verified the whole chain."""
    with open_ledger(place_named_by(policy)) as ledger:
        ledger.verify()
        charged = [e.question for e in ledger.entries("clinic") if e.kind is Kind.CHARGED]
        assert len(charged) == len(set(charged)), "charged twice"
        return {"charged": set(charged), "spent": ledger.balance("clinic").spent.epsilon}


if __name__ == "__main__":
    _, command, path, count = sys.argv
    parse_sql(question(0))  # what every child would load anew
    DiscreteLaplace(scale=Fraction(1)).release([0])
    json.dump(globals()[command](Path(path), int(count)), sys.stdout)
