"""What is said of a report before anything is spent."""

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.answers.explanation import Explanation
from discreet.answers.plain_html import html_block, html_line, html_rows
from discreet.answers.shown_explanation import all_groups, error_rows, price_line, private_hint
from discreet.answers.wording import confidence_text, key_text
from discreet.model.privacy import Spend
from discreet.model.report import ReportQuestion


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReportExplanation:
    """The price of a report, and what is known of the answer of each question."""

    questions: tuple[ReportQuestion, ...]
    explanations: tuple[Explanation, ...]
    """Of each question: its errors and notes. The price is that of the whole report."""

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    def __getitem__(self, number: int) -> Explanation:
        """What is said of a question, by its number from 0."""
        return self.explanations[number]

    @property
    def loss(self) -> Spend:
        """The price of all questions together."""
        return self.explanations[0].loss

    @property
    def epsilon(self) -> float:
        """The loss as ε: pure, or at the dataset's δ."""
        return self.explanations[0].epsilon

    @property
    def titles(self) -> tuple[str, ...]:
        """Of each question: its title, or its number if it has none."""
        return tuple(each.title or f"Question {i}" for i, each in enumerate(self.questions, 1))

    def price(self) -> str:
        """What all of it costs, in a sentence."""
        together = f"{len(self)} questions together. " if len(self) > 1 else ""
        first = self.explanations[0]
        price = price_line(first).replace("such questions", "such reports")
        return f"{together}{price}{f' {first.way}' if first.way else ''}"

    def __repr__(self) -> str:
        lines = [self.price(), f"Errors, at {self._confidence()} confidence:"]
        for title, found in zip(self.titles, self.explanations, strict=True):
            rows = error_rows(found)
            wide = max((len(row[0]) for row in rows), default=0)
            every = [f" each, {{}} for {told}" for told in all_groups(found)] or [""]
            lines.append(key_text(title))
            lines += [f"  {name.ljust(wide)}  {each}{every[0].format(*rest)}" for name, each, *rest in rows]
            lines += [f"  {told}" for told in private_hint(found)]
        return "\n".join([*lines, *self.notes()])

    def _repr_html_(self) -> str:
        rows = [
            (title, *row)
            for title, found in zip(self.titles, self.explanations, strict=True)
            for row in [
                *(row[:2] for row in error_rows(found)),
                *(("", told) for told in private_hint(found)),
            ]
        ]
        return html_block(
            html_line(self.price(), strong=True),
            html_rows(("question", "", f"error, each, at {self._confidence()}"), rows),
            *map(html_line, self.notes()),
        )

    def notes(self) -> list[str]:
        """Every note, once."""
        return [*dict.fromkeys(key_text(note) for found in self.explanations for note in found.notes)]

    def _confidence(self) -> str:
        return confidence_text(self.explanations[0].confidence)
