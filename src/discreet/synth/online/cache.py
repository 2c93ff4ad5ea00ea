"""The readings of a cached table, as the ledger keeps them: over analysts, processes and restarts.

A reading is charged under a key that says what is measured, with which noise, and after which readings. So
two processes that know the same and want the same share one charge and one reading; what was charged and
never stored is used again; and what was stored is a fact for everybody, in the order of the ledger.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock

import numpy as np

from discreet.answers.released import Released
from discreet.compile.calibrate import charge_for
from discreet.compile.counts import Count
from discreet.compile.explain import Explanation, priced
from discreet.errors import LedgerClosed
from discreet.ledger.ledger import Balance, Kind, Ledger
from discreet.model.privacy import ConcentratedLoss, PureLoss, amount_of
from discreet.model.receipt import Receipt
from discreet.model.request import Request, Within
from discreet.synth.domain import Domain
from discreet.synth.online.cached import CachedTable
from discreet.synth.online.online import Buy, FromCache, Online, Pay, Step
from discreet.synth.online.question import Question
from discreet.synth.online.readings import Price, Reading
from discreet.synth.online.stored import as_text, from_text

NOTE = "Follows from noisy counts of the whole table, which other answers share."
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
    step: Step
    key: str
    """Of the reading that it takes, if it takes one."""


class Cache:
    """What is known of one cached table. It can be shared by threads."""

    def __init__(self, table: CachedTable, ledger: Ledger) -> None:
        self.table = table
        self._ledger = ledger
        self._prefix = f"cache:{hashlib.sha256(repr(table).encode()).hexdigest()[:32]}:"
        self._lock = Lock()
        self._known = _Known(table, version=0)

    def ask(self, count: Count, request: Request, *, analyst: str, direct: Price) -> Asked | None:
        """What a question takes of this analyst; None if it is not for the cache, or dearer than directly."""
        question = self.table.question(count)
        if question is None or not isinstance(request.price, Within):
            return None
        most = self._most_for(analyst)
        with self._lock:
            self._catch_up()
            step = self._known.online.decide(
                question,
                within=request.price.error,
                confidence=request.confidence,
                most_for_tables=most,
            )
            if isinstance(step, Pay) and amount_of(step.loss) > min(
                most, MOST_OVER_DIRECT * amount_of(direct)
            ):
                return None
            return Asked(count=count, question=question, step=step, key=self._key(step))

    def answer(self, asked: Asked, request: Request) -> tuple[Receipt, Released]:
        """From all readings there are now, and the receipt of the last one."""
        with self._lock:
            self._catch_up()
            found = self._known.online.answer(asked.question)
            receipt = self._known.receipt
        if receipt is None:
            raise LedgerClosed("A reading was paid for and is gone.", remedy="Run: discreet ledger verify")
        reach = found.interval(request.confidence)
        name = asked.count.name
        released = Released(
            columns=(name,),
            values={name: np.array([max(0, round(found.value))], dtype=np.int64)},
            raw={name: np.array([found.value])},
            low={name: np.array([max(0.0, float(reach.low))])},
            high={name: np.array([max(0.0, float(reach.high))])},
            confidence=float(request.confidence),
            notes=self._notes(),
        )
        return receipt, released

    def explained(self, found: Explanation, step: Step, balance: Balance) -> Explanation:
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

    def _way(self, step: Step) -> str:
        """How a question will be answered, in words."""
        names = " and ".join(self.table.attributes[i].name for i in getattr(step, "attributes", ()))
        match step:
            case FromCache():
                return "It follows from what was paid for before: free."
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

    def _notes(self) -> tuple[str, ...]:
        source = self.table.bounded.query.source
        if source.one_row_a_person:
            return (NOTE,)
        return NOTE, WEIGHT_NOTE.format(rows=source.max_rows)

    def _key(self, step: Step) -> str:
        if not isinstance(step, Pay | Buy):
            return ""
        told = repr((step.attributes, step.tables if isinstance(step, Buy) else step.noise)).encode()
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
            if answered and entry.key.startswith(self._prefix):
                stored = self._ledger.stored_answer(dataset, entry.key)
                if stored is not None:
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
        self.version, self.seen, self.digest = version, 0, b""
        self.receipt: Receipt | None = None
        self.online = Online(table.domain, table.pricing())

    def learn(self, key: str, receipt: Receipt, stored: bytes) -> None:
        self.receipt = receipt
        self.online.learn(*decode_readings(stored, self.online.domain))
        self.digest = hashlib.sha256(self.digest + key.encode()).digest()
