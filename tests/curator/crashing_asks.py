"""Run as a program: many processes that ask at once, and processes that are killed while they ask.

It forks from a program that has no threads and has opened neither database, which is the only clean way to.
Nothing in discreet can be told to crash: the children wrap the engine and the ledger that the curator is
given, and what the ledger calls, in versions that kill.
"""

import hashlib
import json
import os
import random
import signal
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from discreet import BudgetExceeded
from discreet.curator import open_policy as session
from discreet.curator.ledgers import open_ledger, place_named_by
from discreet.curator.open_policy import open_curator
from discreet.ledger.interface import EntryKind
from discreet.noise.laplace import DiscreteLaplace
from discreet.question.parse import parse_sql
from discreet.release import question_release
from tests.attacks.ask import stored_bytes
from tests.ledger.forks import Countdown, in_child, outcome

PRICE = Fraction(1, 10)
CALLS = (
    "open_account",
    "stored_or_payable",
    "prepare",
    "charge",
    "run_each",
    "draw_noise",
    "store_answer",
    "answer_from",
    "balance",
)


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
            "charged": sum(entry.kind is EntryKind.CHARGED for entry in ledger.entries("clinic")),
            "answered": sum(entry.kind is EntryKind.ANSWERED for entry in ledger.entries("clinic")),
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
    if call == "ledger":
        Countdown(when).install()
        return
    if hasattr(question_release, call):
        setattr(question_release, call, getattr(Killing(question_release, call, when), call))
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
        inside = ("ledger", anything.randrange(160))
        chosen.append(
            anything.choice([inside, (anything.choice(CALLS), anything.choice(["before", "after"]))])
        )
    return chosen[:rounds]


def crashes(policy, rounds):
    """One ledger, and in every round a process that is killed at some step, mostly of a new question.

    Whatever happens, the noise that a question meets is the same again, or is paid for again: a question has
    no more draws than charges, and what is shown is the draw that was stored.
    """
    seen, killed, paid_again = {}, 0, 0
    anything = random.SystemRandom()
    in_a_process(policy, 0, None)  # opens the account
    for step in steps_to_die_at(rounds):
        again = len(seen) > len(CALLS) * 2 and anything.randrange(4) == 0
        number = anything.choice(list(seen)) if again else len(seen) + 1
        before = books(policy)
        died = in_a_process(policy, number, step)
        assert died.status in (0, signal.SIGKILL), (step, died.status)
        killed += died.status == signal.SIGKILL
        lived = in_a_process(policy, number, None)
        assert lived.status == 0, step
        after = books(policy)
        for answer in (*died.shown, *lived.shown):
            assert seen.setdefault(number, answer) == answer, f"another answer at {step}"
        charges = after["charges"] - before["charges"]
        assert not before["charges"] - after["charges"], f"a charge was lost at {step}"
        assert set(charges) <= {question(number)}, f"a strange charge at {step}"
        assert charges.total() <= 1 + (died.status == signal.SIGKILL), f"charged too often at {step}"
        assert after["spent"] == PRICE * after["charges"].total(), f"spent is not the sum at {step}"
        draws = [*died.draws, *lived.draws]
        assert len(draws) == len(set(draws)) <= charges.total(), f"a draw without a charge at {step}"
        paid_again += charges.total() > 1
    return {"killed": killed, "paid_again": paid_again, "questions": len(seen)}


def synthesize(curator, price):
    curator.synthesize("SELECT ward, age FROM visits", epsilon=price)


def fit(curator, price):
    from discreet.learn import LinearRegression

    curator.fit(LinearRegression(), "SELECT age, cost FROM visits", epsilon=price)


def check_synthetic(curator, price):
    table = curator.synthesize("SELECT ward, age FROM visits", epsilon=PRICE)
    curator.check_synthetic(table, epsilon=price)


def releases(policy, _):
    """For each that is no question: its charges and its stored draws after a try that is killed before or
    after its draw is stored, and after each of two that are not.
    """
    found = {}
    outcome(in_child(lambda report: report(synthesize(open_curator(policy, analyst="ana"), PRICE) or "made")))
    for release in (synthesize, fit, check_synthetic):
        for when in ("before", "after"):
            price = Fraction(1, 10) + Fraction(len(found) + 1, 1000)  # each is another release
            tries = []
            for step in (("store_answer", when), None, None):

                def work(report, release=release, price=price, step=step):
                    if step is not None:
                        install(step)
                    release(open_curator(policy, analyst="ana"), price)
                    report("lived")

                lines, _ = outcome(in_child(work))
                tries.append([bool(lines), *charged_and_answered(policy, price)])
            found[f"{release.__name__}, {when}"] = tries
    return found


def charged_and_answered(policy, price):
    """Of what cost this price."""
    with open_ledger(place_named_by(policy)) as ledger:
        ledger.verify()
        entries = list(ledger.entries("clinic"))
    charged = [e for e in entries if e.kind is EntryKind.CHARGED and e.taken.loss.epsilon == price]
    answered = [e for e in entries if e.kind is EntryKind.ANSWERED and e.key in {c.key for c in charged}]
    return len(charged), len(answered)


class Told(NamedTuple):
    draws: list
    shown: list
    status: int


def in_a_process(policy, number, step):
    """Ask in a process of its own, which dies at the step; every draw is told as soon as it is made."""

    def work(report):
        honest = question_release.draw_noise

        def draw_noise(plan, results):
            drawn = honest(plan, results)
            report(f"drawn:{hashlib.sha256(drawn).hexdigest()}")
            return drawn

        question_release.draw_noise = draw_noise
        if step is not None:
            install(step)
        report(stored_bytes(open_curator(policy, analyst="ana").ask(question(number), epsilon=0.1)).hex())

    lines, status = outcome(in_child(work))
    draws = [line for line in lines if line.startswith("drawn:")]
    return Told(draws, [line for line in lines if line not in draws], status)


def books(policy):
    """What a fresh connection finds, once it has verified the whole chain."""
    with open_ledger(place_named_by(policy)) as ledger:
        ledger.verify()
        charges = Counter(e.question for e in ledger.entries("clinic") if e.kind is EntryKind.CHARGED)
        return {"charges": charges, "spent": ledger.balance("clinic").spent.epsilon}


if __name__ == "__main__":
    _, command, path, count = sys.argv
    parse_sql(question(0))  # what every child would load anew
    DiscreteLaplace(scale=Fraction(1)).release([0])
    json.dump(globals()[command](Path(path), int(count)), sys.stdout)
