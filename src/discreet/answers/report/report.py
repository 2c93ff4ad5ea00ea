"""A report as the analyst gets it: the answers of many questions, one charge and one receipt."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from discreet.answers.answer import Answer
from discreet.answers.json_text import answer_facts, escaped_json, to_json
from discreet.answers.text import text_rows
from discreet.answers.wording import charge_text, confidence_text, key_text
from discreet.errors import InvalidInput
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt
from discreet.model.report import ReportQuestion

_NOT_IN_NAMES = re.compile(r"\W+")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Report(Sequence[Answer]):
    """The answers of questions that were paid together, in their order."""

    questions: tuple[ReportQuestion, ...]
    answers: tuple[Answer, ...]

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.answers)

    @overload
    def __getitem__(self, which: int) -> Answer: ...
    @overload
    def __getitem__(self, which: str) -> Answer: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, which: object) -> object:
        """An answer by its number, from 0, or by its title; several with a slice."""
        if isinstance(which, str):
            if which in self.titles:
                return self.answers[self.titles.index(which)]
            raise InvalidInput(
                f"There is no question “{which}” in this report.",
                remedy=f"Its questions are: {', '.join(self.titles)}.",
            )
        if isinstance(which, int | slice):
            return self.answers[which]
        raise InvalidInput(
            "An answer is taken by its number, or by its title.",
            remedy='Write report[0] or report["Question 1"].',
        )

    @property
    def titles(self) -> tuple[str, ...]:
        """Of each question: its title, or its number if it has none."""
        return tuple(each.title or f"Question {i}" for i, each in enumerate(self.questions, 1))

    @property
    def headings(self) -> tuple[str, ...]:
        """The titles with their numbers: notes name questions by them."""
        return tuple(
            f"{i}. {each.title}" if each.title else f"Question {i}"
            for i, each in enumerate(self.questions, 1)
        )

    @property
    def charged(self) -> Spend:
        """What all questions cost together."""
        return self.answers[0].charged

    @property
    def left(self) -> Spend:
        """What the analyst may still spend."""
        return self.answers[0].left

    @property
    def receipt(self) -> Receipt:
        return self.answers[0].receipt

    @property
    def repeated(self) -> bool:
        """Whether the same had been asked before: then these are the same answers, and were free."""
        return self.answers[0].repeated

    def notes_of(self, number: int) -> tuple[str, ...]:
        """What has to be known of one answer alone."""
        return tuple(note for note in self.answers[number].released.notes if len(self._noted[note]) == 1)

    def shared_notes(self) -> list[str]:
        """What has to be known of several answers: of all, or of those that are named."""
        return [
            note if len(places) == len(self) else f"Questions {_listed(places)}: {note}"
            for note, places in self._noted.items()
            if len(places) > 1
        ]

    @property
    def _noted(self) -> dict[str, list[int]]:
        """Each note with the numbers of the questions that it is about."""
        found: dict[str, list[int]] = {}
        for number, answer in enumerate(self.answers, 1):
            for note in dict.fromkeys(answer.released.notes):
                found.setdefault(note, []).append(number)
        return found

    def summary(self) -> str:
        """What the errors mean, and the price of all questions together."""
        return self._errors_hold() + self.answers[0].price()

    def _errors_hold(self) -> str:
        measured = [each.released.confidence for each in self.answers if each.released.measured]
        return f"Each error holds at {confidence_text(measured[0])} confidence. " if measured else ""

    def paid(self) -> str:
        """What the errors mean and what all questions cost, for whoever reads the report later."""
        price = charge_text(self.charged, self.answers[0].budget, of=" of the budget")
        return f"{self._errors_hold()}Cost {price} for all questions. Receipt {self.receipt.number}."

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for number, heading in enumerate(self.headings):
            yield key_text(heading)
            yield from text_rows(self.answers[number].released)
            yield from map(key_text, self.notes_of(number))
            yield ""
        yield from map(key_text, [self.summary(), *self.shared_notes()])

    def _repr_html_(self) -> str:
        from discreet.answers.report.page import report_html

        return report_html(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """One page of HTML that needs nothing else; written to `path` too, if one is given.

        >>> report.to_html("report.html")  # doctest: +SKIP
        """
        from discreet.answers.report.page import report_page

        return _written(report_page(self), path)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """A file for each question, in a folder that is made if need be. Existing files are replaced.

        The names are the numbers and titles of the questions: 1-patients-by-ward.csv. Each file is as
        `Answer.to_csv` writes it.

        >>> report.to_csv("tables")  # doctest: +SKIP
        """
        place = Path(folder)
        place.mkdir(exist_ok=True)
        found = [place / name for name in self._file_names()]
        for path, answer in zip(found, self.answers, strict=True):
            answer.to_csv(path)
        return found

    def to_json(self, path: str | Path | None = None) -> str:
        """All of the report as JSON: the price, and each question with its answer; written to `path` too.

        >>> report.to_json("report.json")  # doctest: +SKIP
        """
        return _written("".join(self.json_pieces()) + "\n", path)

    def json_pieces(self) -> Iterator[str]:
        """The text of the JSON, in pieces."""
        facts = answer_facts(self.answers[0])
        whole = {name: facts[name] for name in ("charged", "left", "budget", "receipt") if name in facts}
        yield escaped_json(json.dumps(whole, ensure_ascii=False)[:-1]) + ', "questions": ['
        for number, answer in enumerate(self.answers):
            told = {"title": self.titles[number], "sql": self.questions[number].sql}
            yield ", " if number else ""
            yield escaped_json(json.dumps(told, ensure_ascii=False)[:-1]) + ', "answer": '
            yield from to_json(answer)
            yield "}"
        yield "]}"

    def _file_names(self) -> Iterator[str]:
        digits = len(str(len(self)))
        for number, question in enumerate(self.questions, 1):
            title = _NOT_IN_NAMES.sub("-", question.title.casefold()).strip("-_")[:_LONGEST_NAME].strip("-_")
            yield f"{number:0{digits}}{f'-{title}' if title else ''}.csv"


def _listed(numbers: Sequence[int]) -> str:
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}"


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="")
    return text
