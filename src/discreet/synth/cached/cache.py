"""The readings of a cached table, as the ledger keeps them: over analysts, processes and restarts.

A reading is charged under a key that says what is measured, with which noise, and after which readings. So if
two processes have the same readings and need the same next one, they share one charge and one reading. Stored
readings hold for everybody, in the order of the ledger.

Older versions also charged for tests of guesses, under keys of their own (`_TESTS`). Those are not readings,
and are skipped.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Lock

import numpy as np

from discreet.answers.explanation import Explanation
from discreet.answers.released import Released
from discreet.bounds.calibrate import charge_for
from discreet.bounds.identity import mechanism_facts
from discreet.errors import LedgerClosed
from discreet.ledger.interface import EntryKind, Ledger
from discreet.model.privacy import Spend, amount_of, spend_of
from discreet.model.receipt import Receipt
from discreet.model.request import Request, Within
from discreet.question.counting import Count
from discreet.release.explain import priced
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.cached.reading_text import as_text, from_text
from discreet.synth.cached.readings import Reading
from discreet.synth.cached.strategy import Buy, FromCache, Online, Pay, Step
from discreet.synth.cached.table import CachedTable
from discreet.synth.core.domain import Domain

NOTE = "Follows from noisy counts of the whole table, which other answers share."
CHOSEN_NOTE = (
    "If earlier answers made you ask this, its interval may miss more often than it says; asked with an"
    " epsilon instead, it has noise of its own, and the interval holds."
)
"""Whoever looks for the cells with much noise, and then asks about them, gets that noise again: adaptive
questions (Dwork et al. 2015, arXiv 1411.2664). An interval for all questions at once would be as wide as the
noise of all cells together, and within no error that anybody asks for."""
WEIGHT_NOTE = "People with more than {rows} rows count for less, also if few of their rows are asked about."
MOST_OVER_DIRECT = Fraction(5, 4)
"""How many times the price of the direct answer a payment may cost, as it also serves later questions. For an
error of hardly more than one person it would cost far more: estimates make no use of counts being whole."""
_TESTS = ("run:", "passed:")
"""What follows the prefix in the key of a test; in that of a reading it is a digest."""
_UNFINISHED = 0
"""No version of data: what is known is not all of what was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A counting question that the cache can answer: what it is, and what it takes."""

    count: Count
    question: CountingQuestion
    step: Step
    key: str
    """The key of the reading that it takes, if it takes one."""
    confidence: Fraction


class Cache:
    """What is known of one cached table. It can be shared by threads."""

    def __init__(self, table: CachedTable, ledger: Ledger, *, older: Sequence[str] = ()) -> None:
        self.table = table
        self._ledger = ledger
        self._prefix = f"{table.identity()}:"
        prefixes = (self._prefix, *older)
        self._readings = prefixes
        """The prefixes of the keys of readings, also in older versions."""
        self._tests = tuple(prefix + test for prefix in prefixes for test in _TESTS)
        self._lock = Lock()
        self._known = _ReadingsSoFar(table, version=_UNFINISHED)

    def ask(self, count: Count, request: Request, *, left: Spend, direct: Spend) -> Asked | None:
        """What the question takes; None if the cache cannot answer it, or only at too high a price."""
        question = self.table.question(count)
        if question is None or not isinstance(request.price, Within):
            return None
        within, confidence, most = request.price.error, request.confidence, self._most_of(left)
        with self._lock:
            self._catch_up()
            step = self._known.online.decide(
                question, within=within, confidence=confidence, most_for_tables=most
            )
            if isinstance(step, Pay) and amount_of(step.loss) > min(
                most, MOST_OVER_DIRECT * amount_of(direct)
            ):
                return None
            key = self._key(step)
        return Asked(count=count, question=question, step=step, key=key, confidence=confidence)

    def answer(self, asked: Asked) -> tuple[Receipt, Released]:
        """The receipt of the last reading, and the answer from all readings so far."""
        with self._lock:
            self._catch_up()
            found = self._known.online.answer(asked.question)
            last = self._known.receipt
        if last is None:
            raise LedgerClosed("A reading was paid for and is gone.", remedy="Run: discreet ledger verify")
        return last, self._released(asked, found.value, float(found.interval(asked.confidence).half_width))

    def _released(self, asked: Asked, value: float, reach: float) -> Released:
        name = asked.count.name
        return Released(
            columns=(name,),
            values={name: np.array([max(0, round(value))], dtype=np.int64)},
            raw={name: np.array([value])},
            low={name: np.array([max(0.0, value - reach)])},
            high={name: np.array([max(0.0, value + reach)])},
            confidence=float(asked.confidence),
            notes=self._notes(),
        )

    def explained(self, found: Explanation, step: Step, left: Spend) -> Explanation:
        """The explanation of a question with the price, and the way to answer it, that the cache gives it."""
        dataset = self.table.dataset
        balance = self._ledger.balance(dataset.name, analysts=())
        nothing = spend_of(Fraction(0), concentrated=dataset.delta > 0)
        return priced(
            replace(found, notes=(*found.notes, CHOSEN_NOTE)),
            step.loss if isinstance(step, Pay | Buy) else nothing,
            dataset,
            budget=balance.account.budget,
            left=left,
            way=self._way(step),
            reach=step.reach,
        )

    def _way(self, step: Step) -> str:
        """How a question will be answered, in words."""
        names = " and ".join(self.table.attributes[i].name for i in getattr(step, "attributes", ()))
        match step:
            case FromCache():
                return "It follows from what was paid for before: free."
            case Buy():
                return f"All counts by {names} are bought: then many questions about them are free."
        return "It is paid by itself, and helps to answer it again."

    def _most_of(self, left: Spend) -> Fraction:
        """What an analyst may pay for one question: by the policy, and by what they have left."""
        dataset = self.table.dataset
        return min(amount_of(charge_for(dataset, dataset.question_epsilon)), amount_of(left))

    def _notes(self) -> tuple[str, ...]:
        source = self.table.bounded.query.source
        if source.one_row_a_person:
            return NOTE, CHOSEN_NOTE
        return NOTE, CHOSEN_NOTE, WEIGHT_NOTE.format(rows=source.max_rows)

    def _key(self, step: Step) -> str:
        if not isinstance(step, Pay | Buy):
            return ""
        tables = step.tables if isinstance(step, Buy) else ((None, step.noise),)
        noise = [[levels and list(levels), mechanism_facts(each)] for levels, each in tables]
        told = json.dumps([list(step.attributes), noise]).encode()
        mask = np.packbits(step.mask).tobytes() if isinstance(step, Pay) else b""
        return self._prefix + hashlib.sha256(self._known.digest + told + mask).hexdigest()

    def _catch_up(self) -> None:
        """Learn what was stored since the last look. A new version of the data begins with nothing.

        If that is stopped halfway, nothing of it is kept, and all is learnt anew the next time.
        """
        dataset = self.table.dataset.name
        version = self._ledger.balance(dataset, analysts=()).version
        if version != self._known.version:
            self._known = _ReadingsSoFar(self.table, version=version)
        self._known.version = _UNFINISHED
        for entry in self._ledger.entries(dataset, after=self._known.seen):
            self._known.seen = entry.number
            answered = entry.kind is EntryKind.ANSWERED and entry.version == version
            if answered and self._is_reading(entry.key):
                stored = self._ledger.stored_answer(dataset, entry.key)
                if stored is not None:
                    self._known.learn(entry.key, *stored)
        self._known.version = version

    def _is_reading(self, key: str) -> bool:
        return key.startswith(self._readings) and not key.startswith(self._tests)


def encode_readings(readings: Sequence[Reading]) -> bytes:
    """For the ledger."""
    return "\n".join(map(as_text, readings)).encode()


def decode_readings(stored: bytes, domain: Domain) -> list[Reading]:
    """What `encode_readings` gave."""
    return [from_text(line, domain) for line in stored.decode().split("\n")]


class _ReadingsSoFar:
    """What the readings of one version of the data say, and how far the ledger was read."""

    def __init__(self, table: CachedTable, *, version: int) -> None:
        self.version, self.seen, self.digest = version, 0, b""
        self.receipt: Receipt | None = None
        self.online = Online(table.domain, table.pricing())

    def learn(self, key: str, receipt: Receipt, stored: bytes) -> None:
        self.receipt = receipt
        self.online.learn(*decode_readings(stored, self.online.domain))
        self.digest = hashlib.sha256(self.digest + key.encode()).digest()
