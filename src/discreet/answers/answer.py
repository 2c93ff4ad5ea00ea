"""An answer as the analyst gets it: columns, intervals, and data frames."""

import difflib
from dataclasses import dataclass

from discreet.answers.columns import Cell, plain_cells
from discreet.answers.released import Released
from discreet.answers.tabular import Tabular
from discreet.answers.wording import confidence_text, price_text
from discreet.arrays import ColumnValues, Floats
from discreet.errors import InvalidInput
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(Tabular):
    """What was released, what it cost, and what is left."""

    released: Released
    charged: Spend
    left: Spend
    receipt: Receipt
    repeated: bool
    """Whether the same question had been asked before: then this is the same answer, and was free."""
    cached: bool = False
    """Whether it follows from noisy counts paid for before; then `receipt` is that of the last of them."""
    budget: Spend | None = None
    """The whole budget, if it is known: what was charged is told as a share of it."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.released.columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.released)

    def __getitem__(self, name: str) -> ColumnValues:
        """The values of a column; a masked array where keys are NULL, NaN where a number is missing."""
        return self.released.values[self._known(name)]

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
        return price_text(self.charged, self.left, self.receipt, free=free, budget=self.budget)

    def summary(self) -> str:
        """What the errors mean, and the price."""
        if not self.released.measured:
            return self.price()
        return f"Each error holds at {confidence_text(self.released.confidence)} confidence. {self.price()}"

    def _known(self, name: str) -> str:
        if name in self.released.values:
            return name
        if not isinstance(name, str):
            raise InvalidInput(
                "A column is taken by its name.", remedy="For rows, go through answer.rows() instead."
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
