"""An answer as the analyst gets it: columns, intervals, and data frames."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex, overload

from discreet.answers.columns import Cell, plain_cells
from discreet.answers.released import Released
from discreet.answers.tabular import Tabular
from discreet.answers.wording import charge_text, confidence_text, price_text
from discreet.arrays import ColumnValues, Floats
from discreet.errors import InvalidInput
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt

if TYPE_CHECKING:
    from discreet.answers.plot import Plot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(Tabular):
    """What was released, what it cost, and what is left."""

    released: Released
    charged: Spend
    left: Spend
    receipt: Receipt
    repeated: bool
    """Whether the same question had been asked before: then this is that answer, and was free."""
    dearer: bool = False
    """Whether it was paid at a higher price than was offered now: then it is more accurate, and was free."""
    cached: bool = False
    """Whether it follows from noisy counts paid for before; then `receipt` is that of the last of them."""
    budget: Spend | None = None
    """The whole budget, if it is known: what was charged is told as a share of it."""
    questions: int = 1
    """How many questions were paid with this charge: more than one in a report."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the question."""
        return self.released.columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.released)

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        """Row by row, as a dict of plain Python values: for row in answer: print(row["ward"], row["n"])."""
        return iter(self.rows())

    @overload
    def __getitem__(self, which: str) -> ColumnValues: ...
    @overload
    def __getitem__(self, which: int) -> dict[str, Cell]: ...
    @overload
    def __getitem__(self, which: slice) -> list[dict[str, Cell]]: ...
    @overload
    def __getitem__(self, which: list[str]) -> "Answer": ...
    def __getitem__(self, which: object) -> object:
        """A column by its name, a row by its number, or an answer with some of the columns.

        answer["n"] is an array of values: masked where keys are NULL, NaN where a number is missing.
        answer[0] and answer[-1] are rows, as dicts of plain Python values, and answer[:5] is a list of them.
        answer[["ward", "n"]] is the same answer with these columns alone.
        """
        if isinstance(which, list):
            return replace(self, released=self.released.only([self._known(name) for name in which]))
        if isinstance(which, slice):
            return self.rows()[which]
        if isinstance(which, SupportsIndex):
            return self._row(index(which))
        return self.released.values[self._known(which)]

    def _row(self, number: int) -> dict[str, Cell]:
        if not -len(self) <= number < len(self):
            raise IndexError(
                f"This answer has {len(self):,} rows, numbered from 0. There is no row {number}."
            )
        place = slice(number, number + 1 or None)
        return {name: plain_cells(self.released.values[name][place])[0] for name in self.columns}

    def interval(self, name: str) -> tuple[Floats, Floats]:
        """Where the plain answer lies: the low ends and the high ends."""
        name = self._measured(name)
        return self.released.low[name], self.released.high[name]

    def noise_interval(self, name: str) -> tuple[Floats, Floats]:
        """Where the answer within the limits of the policy lies, as far as noise tells."""
        name, found = self._measured(name), self.released
        if name in found.noise_low:
            return found.noise_low[name], found.noise_high[name]
        return found.low[name], found.high[name]

    def raw(self, name: str) -> Floats:
        """The noisy estimates of a measure before rounding and clipping. Add these up for unbiased sums."""
        return self.released.raw[self._measured(name)]

    def rows(self) -> list[dict[str, Cell]]:
        """A dict of plain Python values for each row; None where a value is missing."""
        cells = [plain_cells(self.released.values[name]) for name in self.columns]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*cells, strict=True)]

    def scalar(self) -> Cell:
        """The one value of an answer with one row and one column."""
        if len(self.columns) != 1 or len(self) != 1:
            raise InvalidInput(
                f"This answer has {len(self):,} rows and {len(self.columns)} columns, not one value.",
                remedy="Take a column, as in answer[NAME], or answer.rows().",
            )
        return plain_cells(self[self.columns[0]])[0]

    def __repr__(self) -> str:
        from discreet.answers.text import text_table

        return text_table(self)

    def _repr_html_(self) -> str:
        from discreet.answers.html import html_table

        return html_table(self)

    def price(self) -> str:
        """What it cost and what is left, in a sentence."""
        free = ""
        if self.cached:
            free = "Follows from what was paid for before: free"
        elif self.repeated:
            when = f"on {self.receipt.at:%Y-%m-%d}, of version {self.receipt.version} of the data"
            free = f"Asked before, {when}: the same answer, free"
            if self.dearer:
                paid = charge_text(self.charged, self.budget, of=" of the budget")
                free = f"Answered at {paid} before, {when}: that answer, free"
        return price_text(
            self.charged,
            self.left,
            self.receipt,
            free=free,
            budget=self.budget,
            questions=self.questions,
        )

    def summary(self) -> str:
        """What the errors mean, and the price."""
        if not self.released.measured:
            return self.price()
        return f"Each error holds at {confidence_text(self.released.confidence)} confidence. {self.price()}"

    def to_csv(self, path: str | Path | None = None) -> str:
        """The text of a CSV file; written to `path` too, if one is given. An existing file is replaced.

        Each measure NAME is followed by NAME_low and NAME_high, and missing values are empty. No spreadsheet
        runs a cell of it: texts that begin like a formula get a ' before them.

        >>> answer.to_csv("wards.csv")  # doctest: +SKIP
        """
        from discreet.answers.csv_text import to_csv

        return _written(to_csv(self.released), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """All of the answer as JSON, as `discreet ask --format json` shows it; written to `path` too.

        >>> answer.to_json("wards.json")  # doctest: +SKIP
        """
        from discreet.answers.json_text import to_json

        return _written("".join(to_json(self)) + "\n", path)

    def plot(self, measure: str | None = None) -> "Plot":
        """A picture of a measure: a dot with its interval for each row. Notebooks show it.

        `measure` is the name of a column with errors; the first one if not given.

        >>> answer.plot("n").save("wards.svg")  # doctest: +SKIP
        """
        from discreet.answers.plot import plot_of

        return plot_of(self, measure)

    def measure_named(self, name: str | None) -> str:
        """A column with errors by its name; the first one if there is no name."""
        if name is not None:
            return self._measured(name)
        for measure in self.released.measured:
            return measure
        raise InvalidInput("This answer has no measured column.", remedy="Ask for count(*) beside the keys.")

    def _known(self, name: object) -> str:
        if isinstance(name, str) and name in self.released.values:
            return name
        if not isinstance(name, str):
            raise InvalidInput(
                "A column is taken by its name, and a row by its number.",
                remedy='Write answer["n"], answer[0] or answer[["ward", "n"]].',
            )
        near = difflib.get_close_matches(name, self.columns, n=1, cutoff=0.5)
        raise InvalidInput(
            f"There is no column “{name}” in this answer.",
            remedy=f"Did you mean “{near[0]}”?" if near else f"It has: {', '.join(self.columns)}.",
        )

    def _measured(self, name: str) -> str:
        if self._known(name) in self.released.raw:
            return name
        measured = ", ".join(self.released.measured) or "none"
        raise InvalidInput(
            f"“{name}” is not measured, so it has no error.", remedy=f"Measured columns: {measured}."
        )


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="")
    return text
