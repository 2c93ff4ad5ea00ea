"""A synthetic table that somebody wants to have, and some of its rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.answers.answer import Answer
from discreet.curator import Curator
from discreet.errors import InvalidInput
from discreet.service.question_terms import AskedTerms

MOST_ROWS = 100_000
"""That a service draws at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisWish:
    """As it came in."""

    sql: str
    price: Mapping[str, Any]
    bins: int | Mapping[str, int] | None = None
    workload: tuple[str, ...] = ()
    rows: int | None = None
    """About as many as the real table has if None, and at most MOST_ROWS."""

    def priced(self, default_epsilon: Fraction | None) -> AskedTerms:
        return AskedTerms.read(self.price, default_epsilon)

    def given(self, asked: AskedTerms) -> dict[str, Any]:
        """As `curator.synthesize` takes them."""
        price = {"epsilon": asked.epsilon, "rho": asked.rho}
        return {"sql": self.sql, "bins": self.bins, "workload": list(self.workload), **price}

    def text(self) -> str:
        """For the history and for approvals: all that makes it another table."""
        others = {"bins": self.bins, "workload": list(self.workload)}
        told = {name: value for name, value in others.items() if value}
        return f"Synthetic rows: {self.sql}" + (f" with {json.dumps(told)}" if told else "")

    def rows_of(self, curator: Curator, asked: AskedTerms) -> Answer:
        """The table, charged once, and rows that are drawn from it now."""
        if self.rows is not None and not 1 <= self.rows <= MOST_ROWS:
            raise InvalidInput(
                f"A service draws 1 to {MOST_ROWS:,} rows at once.", remedy="Ask again for more: it is free."
            )
        made = curator.synthesize(**self.given(asked))
        return Answer(
            released=made.rows(self.rows or min(len(made), MOST_ROWS)).released,
            charged=made.charged,
            left=made.left,
            receipt=made.receipt,
            repeated=made.repeated,
        )
