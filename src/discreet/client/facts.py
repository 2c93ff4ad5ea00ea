"""What a service says of its tables, budgets and past questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from discreet.answers.json_reading import read_charge
from discreet.answers.wording import charge_text, counted, cut_text
from discreet.model.privacy import Spend

_LONGEST_KEYS = 70
"""In characters, where the keys of a column are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """A column, as the policy declares it."""

    name: str
    type: str
    bounds: tuple[float, float] | tuple[str, str] | None
    """Of a date, as 2024-01-31."""
    keys: tuple[object, ...] | None
    """The values that are listed; the first thousand if there are more."""

    @property
    def values_text(self) -> str:
        """What is known of its values: keys, or bounds."""
        if self.keys is not None:
            return cut_text(", ".join(map(str, self.keys)), _LONGEST_KEYS)
        return "" if self.bounds is None else f"{self.bounds[0]:,.10g} to {self.bounds[1]:,.10g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """A table, as the policy declares it. All of this is public."""

    name: str
    public: bool
    """Whether it holds nothing about people."""
    person: str
    """The column that tells people apart, or “row”; empty for a public table."""
    max_rows: int | None
    max_groups: int | None
    columns: tuple[ColumnFacts, ...]

    def __str__(self) -> str:
        """A line for the table, and one for each column."""
        wide = max((len(column.name) for column in self.columns), default=0)
        lines = (f"  {each.name:{wide}}  {each.type:9} {each.values_text}" for each in self.columns)
        return "\n".join([f"{self.name}: {self._limits_text}", *map(str.rstrip, lines)])

    @property
    def _limits_text(self) -> str:
        if self.public:
            return "a public table"
        if self.person == "row":
            return "each row is one person"
        rows = f"up to {counted(self.max_rows or 1, 'row')}"
        groups = f"up to {counted(self.max_groups or 1, 'group')}"
        return f"a person is one {self.person}; {rows} of a person count fully, in {groups}"


@dataclass(frozen=True, slots=True, kw_only=True)
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
            f"{self.dataset}: {charge_text(self.spent)} of {charge_text(self.budget)} spent;"
            f" you may spend {charge_text(self.left_for_you)} more."
        )


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
