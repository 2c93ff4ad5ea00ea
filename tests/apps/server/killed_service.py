"""A service that is killed under load, again and again, and what must be true after every time.

Clients ask one question after the other. Of those who lose an answer by a kill, some ask the same again in
the next round, as `discreet.connect` does. Others never do, and fetch it at the end by its receipt. In either
group somebody asks for reports.
"""

import http.client
import itertools
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from discreet.curator.ledgers import open_existing, place_named_by
from discreet.ledger.interface import EntryKind
from discreet.service.service import open_people
from tests.apps.server.running_service import Client, add_account, running, stopped

NAMES = ("ana", "bo", "cy", "dee")
ASK_AGAIN = ("ana", "bo")
ASK_REPORTS = ("bo", "dee")
PRICE = 0.1
LONGEST_LIFE = 0.6
"""In seconds. Every other round this begins with its first answer, else with its first question."""


@dataclass(slots=True, kw_only=True)
class KilledService:
    """A clinic whose service is killed, and what its clients saw."""

    clinic: object
    tokens: dict
    rounds: int = 0
    asked: int = 0
    """Questions that were sent, those that were sent again included."""
    lost: int = 0
    """Of these, how many had no reply."""
    answered: dict = field(default_factory=dict)
    """Who was told what, by receipt: the reply of the first who got it."""
    problems: list = field(default_factory=list)
    _numbers: object = field(default_factory=lambda: itertools.count(1))
    _again: dict = field(default_factory=dict)

    def play(self, rounds):
        """Kill it so many times, and look at the ledger and the log after each."""
        for number in range(rounds):
            with running(self.clinic.policy, options=["--no-access-log"]) as (process, port):
                clients = [threading.Thread(target=self._keep_asking, args=(name, port)) for name in NAMES]
                for client in clients:
                    client.start()
                if number % 2 == 0:
                    self._wait_for_an_answer()
                time.sleep(random.SystemRandom().random() * LONGEST_LIFE)
                process.kill()
                for client in clients:
                    client.join(60)
            self.rounds += 1
            charges(self.clinic.policy)
            people = open_people(self.clinic.policy)
            people.log.verify()
            people.close()

    def _wait_for_an_answer(self, seconds=60):
        before, until = len(self.answered), time.monotonic() + seconds
        while len(self.answered) == before and not self.problems:
            assert time.monotonic() < until, "Nothing was answered."
            time.sleep(0.01)

    def _keep_asking(self, name, port):
        with Client(port, self.tokens[name]) as client:
            while True:
                sql = self._again.pop(name, None)
                sql = sql or f"SELECT count(*) AS n FROM visits WHERE cost < {next(self._numbers)}.5"
                self.asked += 1
                try:
                    told = _asked(client, name, sql)
                except (OSError, http.client.HTTPException):
                    if name in ASK_AGAIN:
                        self._again[name] = sql
                    self.lost += 1
                    return
                if told.status != 200:
                    self.problems.append((sql, told.status, told.body))
                    return
                self.answered.setdefault(told.json["receipt"]["number"], (name, told.body))


def _asked(client, name, sql):
    if name not in ASK_REPORTS:
        return client.ask(sql, epsilon=PRICE)
    report = {"questions": [f"-- All of them\n{sql}", f"{sql} GROUP BY ward"], "epsilon": PRICE}
    return client.post("datasets/clinic/report", report)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillReport:
    """What is true after all rounds."""

    rounds: int
    asked: int
    lost: int
    answered: int
    charges: int
    drawn: int
    """Charges whose noisy numbers are stored. The others were killed before: they are used up."""
    fetched: int
    problems: list
    """What should not be. It is empty."""


def killed_service(clinic, rounds):
    """After so many kills: everything that `KillReport` counts."""
    service = KilledService(clinic=clinic, tokens={name: add_account(clinic.policy, name) for name in NAMES})
    service.play(rounds)
    paid = {entry.number: entry for entry in charges(clinic.policy)}
    drawn = _drawn(clinic.policy, paid)
    problems = [*service.problems, *_uncharged(service.answered, paid, drawn), *_twice(paid, drawn)]
    fetched, missing = _fetched(service, paid, drawn)
    problems += missing
    if len(charges(clinic.policy)) != len(paid):
        problems.append("To fetch an answer was charged.")
    return KillReport(
        rounds=service.rounds,
        asked=service.asked,
        lost=service.lost,
        answered=len(service.answered),
        charges=len(paid),
        drawn=len(drawn),
        fetched=fetched,
        problems=problems,
    )


def charges(policy):
    """All that the ledger says was charged, after it was verified."""
    with open_existing(place_named_by(policy)) as ledger:
        ledger.verify()
        return [entry for entry in ledger.entries("clinic") if entry.kind is EntryKind.CHARGED]


def _drawn(policy, paid):
    with open_existing(place_named_by(policy)) as ledger:
        return {
            number
            for number, entry in paid.items()
            if (found := ledger.stored_answer("clinic", entry.key)) and found.receipt.number == number
        }


def _uncharged(answered, paid, drawn):
    free = answered.keys() - paid.keys()
    kept = answered.keys() - drawn - free
    yield from (f"Receipt {number} was answered and not charged." for number in sorted(free))
    yield from (f"Receipt {number} was answered and is not kept." for number in sorted(kept))


def _twice(paid, drawn):
    """A question is drawn once, whoever asks it again."""
    texts = Counter(paid[number].question for number in drawn)
    yield from (f"{sql} was drawn {times} times." for sql, times in texts.items() if times > 1)


def _fetched(service, paid, drawn):
    """How many answers are there by their receipt, and what is wrong with the others."""
    found, wrong = 0, []
    with running(service.clinic.policy, options=["--no-access-log"]) as (process, port):
        clients = {name: Client(port, token) for name, token in service.tokens.items()}
        for number in sorted(drawn):
            name = paid[number].analyst
            got = clients[name].get(f"datasets/clinic/receipts/{number}")
            if got.status != 200:
                wrong.append(f"Receipt {number} has status {got.status}: {got.body!r}")
            elif not _is_same(service, number, name, got):
                wrong.append(f"Receipt {number} is not what {name} was told.")
            else:
                found += 1
        for client in clients.values():
            client.__exit__()
        stopped(process)
    return found, wrong


def _is_same(service, number, name, got):
    """Whether it is what was told, to the byte; a repeat differs in what it says of its own price."""
    if got.json["receipt"]["number"] != number:
        return False
    if number not in service.answered:
        return True
    who, body = service.answered[number]
    told = json.loads(body)
    if told["receipt"]["repeated"]:
        return who == name and _numbers(told) == _numbers(got.json)
    return who == name and body == got.body


def _numbers(told):
    """Of an answer, or of each question of a report."""
    answers = [each["answer"] for each in told["questions"]] if "questions" in told else [told]
    return [[answer[part] for part in ("rows", "raw", "intervals")] for answer in answers]
