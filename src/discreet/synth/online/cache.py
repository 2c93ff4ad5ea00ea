"""The readings of a cached table, as the ledger keeps them: over analysts, processes and restarts.

A reading is charged under a key that says what is measured, with which noise, and after which readings. So
two processes that know the same and want the same share one charge and one reading; and what was stored is a
fact for everybody, in the order of the ledger.

A run of tests (`tested`) is charged likewise, and then claimed: what is stored for its charge is a name that
one process made up. A process that finds another name there has no run, and charges one of its own. A guess
that passed is stored, for a charge of nothing, before it is shown: the same question has the same answer for
everybody.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Lock

import numpy as np

from discreet.answers.released import Released
from discreet.answers.wording import charge_text
from discreet.compile.calibrate import charge_for
from discreet.compile.counts import Count
from discreet.compile.explain import Explanation, priced
from discreet.compile.identity import mechanism_facts
from discreet.errors import LedgerClosed
from discreet.ledger.ledger import Answered, Balance, Kind, Ledger
from discreet.ledger.storing import store_patiently
from discreet.model.privacy import ConcentratedLoss, PureLoss, amount_of
from discreet.model.receipt import Receipt
from discreet.model.request import Request, Within
from discreet.synth.domain import Domain
from discreet.synth.online.cached import CachedTable
from discreet.synth.online.online import Buy, FromCache, Online, Pay, Step
from discreet.synth.online.passed import Passed, digest_of
from discreet.synth.online.question import Question
from discreet.synth.online.readings import Price, Reading
from discreet.synth.online.stored import as_text, from_text
from discreet.synth.online.tested import Guesses, TryGuess

NOTE = "Follows from noisy counts of the whole table, which other answers share."
PASSED_NOTE = "Guessed from noisy counts of the whole table; a private test found it near enough."
WEIGHT_NOTE = "People with more than {rows} rows count for less, also if few of their rows are asked about."
MOST_OVER_DIRECT = Fraction(5, 4)
"""A payment may be dearer than the direct answer, as it also serves later ones. Where the error is hardly
more than a person it would be much dearer: an estimate makes no use of counts being whole."""
_NOTHING = (PureLoss(epsilon=Fraction(0)), ConcentratedLoss(rho=Fraction(0), delta=Fraction(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A counting question that the cache can answer: what it is, and what it takes."""

    count: Count
    question: Question
    step: Step | TryGuess
    key: str
    """Of the reading that it takes, if it takes one, or if its test fails."""
    within: Fraction
    stated: Fraction
    """The confidence that was asked for."""
    confidence: Fraction
    """Of the interval; more than stated after a test, which may miss too."""
    guess: float | None = None
    """What is expected, in people, if anything is."""
    passed: tuple[Receipt, Passed] | None = None
    """The guess that answers it."""

    def failed(self) -> "Asked":
        """The same after a test that failed: it is paid for, with the misses that the test left to it."""
        if not isinstance(self.step, TryGuess):
            raise TypeError("Only a test fails.")
        return replace(self, step=self.step.otherwise, confidence=self.step.paid_confidence)


class Cache:
    """What is known of one cached table. It can be shared by threads."""

    def __init__(self, table: CachedTable, ledger: Ledger, *, older: Sequence[str] = ()) -> None:
        self.table = table
        self.testing = Lock()
        """Held from the decision to test until the outcome is stored: threads share a run, one by one."""
        self._ledger = ledger
        self._prefix = f"{table.identity()}:"
        self._older = tuple(older)
        """With which the keys of readings begin that older versions stored."""
        self._runs, self._passes = f"{self._prefix}run:", f"{self._prefix}passed:"
        self._lock = Lock()
        self._known = _Known(table, version=0)

    def ask(self, count: Count, request: Request, *, analyst: str, direct: Price) -> Asked | None:
        """What a question takes of this analyst; None if it is not for the cache, or dearer than directly."""
        question = self.table.question(count)
        if question is None or not isinstance(request.price, Within):
            return None
        within, confidence, most = request.price.error, request.confidence, self._most_for(analyst)
        with self._lock:
            self._catch_up()
            known = self._known
            passed = known.passed_for(question, within, confidence)
            if passed is not None:
                step: Step = FromCache(reach=passed[1].within / known.online.pricing.unit)
                return Asked(
                    count=count,
                    question=question,
                    step=step,
                    key="",
                    within=within,
                    stated=confidence,
                    confidence=confidence,
                    passed=passed,
                )
            step = known.online.decide(question, within=within, confidence=confidence, most_for_tables=most)
            if isinstance(step, Pay) and amount_of(step.loss) > min(
                most, MOST_OVER_DIRECT * amount_of(direct)
            ):
                return None
            guess = test = None
            if not isinstance(step, FromCache):
                guess = known.tester.guess(question, known.online, within, confidence)
                test = known.tester.decide(
                    question,
                    known.online,
                    step,
                    guess=guess,
                    within=within,
                    confidence=confidence,
                    most=most,
                )
            return Asked(
                count=count,
                question=question,
                step=test or step,
                key=self._key(test.otherwise if test else step),
                within=within,
                stated=confidence,
                confidence=confidence,
                guess=guess,
            )

    def begin(self, test: TryGuess, *, question: str, analyst: str) -> tuple[Receipt, ...]:
        """A run for a test that needs one, charged and claimed; nothing if one is under way."""
        if test.run is None:
            return ()
        name = secrets.token_hex(16).encode()
        with self._lock:
            while True:
                told = self._known.digest + repr((self._known.runs, test.mechanism)).encode()
                key = self._runs + hashlib.sha256(told).hexdigest()
                dataset = self.table.dataset.name
                with self._ledger.asking(dataset, key):
                    charged = self._ledger.charge(
                        dataset, analyst=analyst, question=question, key=key, loss=test.run
                    )
                    if isinstance(charged, Receipt) and store_patiently(self._ledger, charged, name) == name:
                        self._known.tester.begin(test)
                        return (charged,)
                self._catch_up()

    def take_run(self, test: TryGuess) -> None:
        """Before data is read for a test: only one that passes gives its run back."""
        with self._lock:
            self._known.tester.take_run(test)

    def passes(self, test: TryGuess, exact: int) -> bool:
        """Whether the guess is near the exact count, in 1/unit of a person. It is drawn once."""
        with self._lock:
            return self._known.tester.passes(test, exact)

    def tested(self, asked: Asked, *, passed: bool, question: str, analyst: str) -> Asked:
        """What the question takes after its test: nothing if it passed, which is stored; else a payment."""
        test = asked.step
        if not isinstance(test, TryGuess):
            raise TypeError("Only a test is tested.")
        if not passed:
            return asked.failed()
        found = Passed(
            question=digest_of(asked.question),
            guess=test.guess,
            within=test.within,
            confidence=asked.confidence,
        )
        told = repr((found.question, found.within, found.confidence)).encode()
        dataset = self.table.dataset
        charged = self._ledger.charge(
            dataset.name,
            analyst=analyst,
            question=question,
            key=self._passes + hashlib.sha256(told).hexdigest(),
            loss=_NOTHING[dataset.delta > 0],
        )
        if isinstance(charged, Receipt):
            charged = Answered(charged, store_patiently(self._ledger, charged, found.encode()))
        first = Passed.decode(charged.answer)
        return replace(asked, step=FromCache(reach=test.reach), key="", passed=(charged.receipt, first))

    def paid(self, asked: Asked, stored: bytes) -> None:
        """What this process paid, and what was stored for it."""
        if isinstance(asked.step, Pay | Buy):
            readings = decode_readings(stored, self.table.domain)
            with self._lock:
                self._known.tester.paid(asked.step, readings, asked.guess, asked.within)

    def charged(self, paid: Sequence[Receipt]) -> Price:
        """All of it together."""
        return self._known.online.pricing.sum([receipt.charged for receipt in paid])

    def answer(self, asked: Asked) -> tuple[Receipt, Released]:
        """From all readings there are now, and the receipt of the last one; or the guess that passed."""
        if asked.passed is not None:
            receipt, passed = asked.passed
            unit = self._known.online.pricing.unit
            return receipt, self._released(asked, passed.guess / unit, passed.within / unit, PASSED_NOTE)
        with self._lock:
            self._catch_up()
            found = self._known.online.answer(asked.question)
            last = self._known.receipt
        if last is None:
            raise LedgerClosed("A reading was paid for and is gone.", remedy="Run: discreet ledger verify")
        reach = float(found.interval(asked.confidence).half_width)
        return last, self._released(asked, found.value, reach, NOTE)

    def _released(self, asked: Asked, value: float, reach: float, note: str) -> Released:
        name = asked.count.name
        return Released(
            columns=(name,),
            values={name: np.array([max(0, round(value))], dtype=np.int64)},
            raw={name: np.array([value])},
            low={name: np.array([max(0.0, value - reach)])},
            high={name: np.array([max(0.0, value + reach)])},
            confidence=float(asked.stated),
            notes=self._notes(note),
        )

    def explained(self, found: Explanation, step: Step | TryGuess, balance: Balance) -> Explanation:
        """What the cache makes of a question that was explained without it: its price, and its way."""
        dataset = self.table.dataset
        return priced(
            found,
            _NOTHING[dataset.delta > 0] if isinstance(step, FromCache) else step.loss,
            dataset,
            budget=balance.account.budget,
            left=balance.left,
            way=self._way(step),
            reach=step.reach,
        )

    def _way(self, step: Step | TryGuess) -> str:
        """How a question will be answered, in words."""
        names = " and ".join(self.table.attributes[i].name for i in getattr(step, "attributes", ()))
        match step:
            case FromCache():
                return "It follows from what was paid for before: free."
            case TryGuess(run=None):
                return (
                    "Free if a guess passes a test, which is paid for already;"
                    f" if not, {charge_text(step.otherwise.loss)} is paid."
                )
            case TryGuess(run=price) if price is not None:
                return (
                    f"A guess is tested: {charge_text(price)}, which later questions share;"
                    f" if it fails, {charge_text(step.otherwise.loss)} more is paid."
                )
            case Buy():
                return f"All counts by {names} are bought: then many questions about them are free."
        return "It is paid by itself, and helps to answer it again."

    def _most_for(self, analyst: str) -> Fraction:
        """What an analyst may pay for one question: by the policy, and by what is left."""
        dataset = self.table.dataset
        balance = self._ledger.balance(dataset.name)
        spent = balance.analysts.get(analyst)
        own = amount_of(balance.account.analyst_cap) - (amount_of(spent) if spent else 0)
        cap = charge_for(dataset, dataset.question_epsilon)
        return min(amount_of(cap), amount_of(balance.left), own)

    def _notes(self, first: str) -> tuple[str, ...]:
        source = self.table.bounded.query.source
        if source.one_row_a_person:
            return (first,)
        return first, WEIGHT_NOTE.format(rows=source.max_rows)

    def _key(self, step: Step) -> str:
        if not isinstance(step, Pay | Buy):
            return ""
        tables = step.tables if isinstance(step, Buy) else ((None, step.noise),)
        noise = [[levels and list(levels), mechanism_facts(each)] for levels, each in tables]
        told = json.dumps([list(step.attributes), noise]).encode()
        mask = np.packbits(step.mask).tobytes() if isinstance(step, Pay) else b""
        return self._prefix + hashlib.sha256(self._known.digest + told + mask).hexdigest()

    def _catch_up(self) -> None:
        """Learn what was stored since the last look. A new version of the data begins with nothing."""
        dataset = self.table.dataset.name
        version = self._ledger.balance(dataset).version
        if version != self._known.version:
            self._known = _Known(self.table, version=version)
        for entry in self._ledger.entries(dataset, after=self._known.seen):
            self._known.seen = entry.number
            answered = entry.kind is Kind.ANSWERED and entry.version == version
            if answered and entry.key.startswith(self._runs):
                self._known.runs += 1
            elif answered and entry.key.startswith((self._prefix, *self._older)):
                stored = self._ledger.stored_answer(dataset, entry.key)
                if stored is not None and entry.key.startswith(self._passes):
                    self._known.learn_passed(*stored)
                elif stored is not None:
                    self._known.learn(entry.key, *stored)


def encode_readings(readings: Sequence[Reading]) -> bytes:
    """For the ledger."""
    return "\n".join(map(as_text, readings)).encode()


def decode_readings(stored: bytes, domain: Domain) -> list[Reading]:
    """What `encode_readings` gave."""
    return [from_text(line, domain) for line in stored.decode().split("\n")]


class _Known:
    """What the readings of one version of the data say, and how far the ledger was read."""

    def __init__(self, table: CachedTable, *, version: int) -> None:
        self.version, self.seen, self.digest, self.runs = version, 0, b"", 0
        self.receipt: Receipt | None = None
        self.online = Online(table.domain, table.pricing())
        self.tester = Guesses(table.domain, table.pricing())
        self._passed: dict[str, list[tuple[Receipt, Passed]]] = {}

    def learn(self, key: str, receipt: Receipt, stored: bytes) -> None:
        self.receipt = receipt
        readings = decode_readings(stored, self.online.domain)
        self.online.learn(*readings)
        self.tester.learn(readings)
        self.digest = hashlib.sha256(self.digest + key.encode()).digest()

    def learn_passed(self, receipt: Receipt, stored: bytes) -> None:
        passed = Passed.decode(stored)
        self._passed.setdefault(passed.question, []).append((receipt, passed))

    def passed_for(
        self, question: Question, within: Fraction, confidence: Fraction
    ) -> tuple[Receipt, Passed] | None:
        """The first guess that passed and serves, if there is one."""
        digest, most = digest_of(question), within * self.online.pricing.unit
        known = self._passed.get(digest, ())
        return next((each for each in known if each[1].serves(digest, most, confidence)), None)
