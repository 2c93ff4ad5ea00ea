"""A device: it randomises each answer once, remembers the report, and repeats it.

Privacy
    If a question is asked every day, fresh noise averages out. So the first report stands for good, or for
    the epoch if the question says so, *whatever the answer is by then*: one report for each answer would
    show when the answer changes. A device adds up the ε of all that it ever randomised, over all surveys.
    Beyond the limit that it was set up with, it gives away nothing more. Without its memory it does not
    answer at all.
"""

import json
import os
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Protocol, TypedDict

from discreet.errors import BudgetExceeded, InvalidInput
from discreet.local.batch import write_batch
from discreet.local.mechanisms.randomness import Draws
from discreet.local.survey import MILLION, Survey, SurveyQuestion, definition
from discreet.model.exact import Number, short, within


class Memory(TypedDict):
    """What a device keeps. Losses are in millionths of ε; reports, and numbers of batches, in hex.

    No answer is kept.
    """

    limit: int
    spent: int
    reports: dict[str, str]


class Store(Protocol):
    """Where a device keeps its memory: one text, replaced as a whole."""

    def read(self) -> str | None: ...

    def replace(self, old: str | None, new: str) -> bool:
        """Durably, and only if the text still is the old one."""
        ...


def enrol(store: Store, *, limit: Number) -> None:
    """Set up a device that may ever give away ε = limit. One that has a memory keeps it."""
    most = within(limit, "limit", Fraction(1, MILLION), Fraction(1000))
    memory = Memory(limit=int(most * MILLION), spent=0, reports={})
    if store.read() is None:
        store.replace(None, _written(memory))


class Client:
    """Answers surveys for one device."""

    def __init__(self, store: Store, *, draws: Draws | None = None) -> None:
        self._store = store
        self._draws = draws or Draws()

    @property
    def spent(self) -> Fraction:
        return Fraction(_read(self._store.read())["spent"], MILLION)

    def report(self, survey: Survey, answers: Mapping[str, object], *, today: date | None = None) -> bytes:
        """A batch with one report for each question answered. It may be sent any number of times.

        Reports on the same questions in the same epoch are the same batch, and count once.
        """
        if survey.expires < (today or date.today()):
            raise InvalidInput("The survey has ended.", remedy="Ask whoever runs it for the present one.")
        levels = {name: survey.question(name).level(answer) for name, answer in answers.items()}
        asked = [
            (place, question) for place, question in enumerate(survey.questions) if question.name in levels
        ]
        while True:
            old = self._store.read()
            memory = _read(old)
            reports = [
                (place, self._remembered(memory, survey, question, levels[question.name]))
                for place, question in asked
            ]
            places = ",".join(str(place) for place, _ in asked)
            nonce = memory["reports"].setdefault(f"{survey.digest.hex()} {places}", os.urandom(16).hex())
            new = _written(memory)
            if new == old or self._store.replace(old, new):
                return write_batch(survey, reports, nonce=bytes.fromhex(nonce))

    def _remembered(self, memory: Memory, survey: Survey, question: SurveyQuestion, level: int) -> bytes:
        key = memory_key(survey, question)
        if key not in memory["reports"]:
            cost = int(question.epsilon * MILLION)
            if memory["spent"] + cost > memory["limit"]:
                left = Fraction(memory["limit"] - memory["spent"], MILLION)
                raise BudgetExceeded(
                    f"Question {question.name} costs ε = {short(question.epsilon)},"
                    f" and this device may give away {short(left)} more.",
                    remedy="Nothing was sent, and nothing more is.",
                )
            memory["spent"] += cost
            memory["reports"][key] = question.mechanism.randomise(level, self._draws).hex()
        return bytes.fromhex(memory["reports"][key])


def memory_key(survey: Survey, question: SurveyQuestion) -> str:
    """A question is known by its survey, words and thresholds; and by the epoch, if it is refreshed."""
    words = json.dumps(definition(question), ensure_ascii=False, separators=(",", ":"))
    epoch = survey.epoch if question.refresh == "epoch" else 0
    return f"{survey.name} {epoch} {words}"


def _read(text: str | None) -> Memory:
    """The memory. Refused if it is missing or damaged: the device would forget what it has reported."""
    try:
        memory: Memory = json.loads(text or "")
        whole = all(isinstance(memory[name], int) for name in ("limit", "spent"))
        if whole and all(bytes.fromhex(report) for report in memory["reports"].values()):
            return memory
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise InvalidInput(
        "This device has no memory of what it reported, or it is damaged; it does not answer.",
        remedy="Set it up with enrol(store, limit=…), but only if it never answered before.",
    )


def _written(memory: Memory) -> str:
    return json.dumps(memory, ensure_ascii=False, separators=(",", ":"))
