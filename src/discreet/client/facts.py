"""What a service says of its tables, budgets and past questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from discreet.answers.json_reading import read_charge
from discreet.answers.plain_html import budget_html
from discreet.answers.table_facts import ColumnFacts, TableFacts
from discreet.answers.wording import charge_text, standing_text
from discreet.model.privacy import Spend


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BudgetFacts:
    """Where the budget of a dataset stands."""

    dataset: str
    version: int
    budget: Spend
    spent: Spend
    """By everybody."""
    left: Spend
    """For all together."""
    left_for_you: Spend
    """The most that you may still spend."""
    analysts: Mapping[str, Spend]
    """What each has spent. You see yourself only, unless you are an owner or auditor."""

    def __repr__(self) -> str:
        return (
            f"{self.dataset}: {standing_text(self.spent, self.left, self.budget)};"
            f" you may spend {charge_text(self.left_for_you, self.budget)} more."
        )

    def _repr_html_(self) -> str:
        return budget_html(repr(self), self.analysts, self.budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuestion:
    """A question that you asked."""

    dataset: str
    question: str
    asked: datetime
    receipt: int | None
    """None if it was refused, failed, or is being answered."""
    terms: Mapping[str, float]
    """Its price or accuracy, and its confidence."""


def read_table(found: Mapping[str, Any]) -> TableFacts:
    return TableFacts(
        name=found["name"],
        public=found["public"],
        person=found.get("person", ""),
        unique=found.get("unique", False),
        max_rows=found.get("max_rows"),
        max_groups=found.get("max_groups"),
        columns=tuple(_column(column) for column in found["columns"]),
    )


def _column(found: Mapping[str, Any]) -> ColumnFacts:
    bounds, keys = found["bounds"], found["keys"]
    return ColumnFacts(
        name=found["name"],
        type=found["type"],
        bounds=None if bounds is None else (bounds[0], bounds[1]),
        keys=None if keys is None else tuple(keys),
        unit=found.get("unit"),
    )


def read_budget(found: Mapping[str, Any]) -> BudgetFacts:
    return BudgetFacts(
        dataset=found["dataset"],
        version=found["version"],
        budget=read_charge(found["budget"]),
        spent=read_charge(found["spent"]),
        left=read_charge(found["left"]),
        left_for_you=read_charge(found["left_for_you"]),
        analysts={name: read_charge(spent) for name, spent in found["analysts"].items()},
    )


def read_question(found: Mapping[str, Any]) -> PastQuestion:
    return PastQuestion(
        dataset=found["dataset"],
        question=found["sql"],
        asked=datetime.fromisoformat(found["asked"]),
        receipt=found["receipt"],
        terms=dict(found["terms"]),
    )
