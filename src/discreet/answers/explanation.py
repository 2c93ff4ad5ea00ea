"""What is said of a question before anything is spent."""

from dataclasses import dataclass

from discreet.model.privacy import Spend


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStatement:
    """How far a measure may be off, and of what."""

    measure: str
    each: float
    """One cell, at the stated confidence."""
    all: float
    """All cells at once; the same as each where their number is private."""
    of: str
    """"value"; "total": to be divided by the number of rows; "rank": in rows, of a quantile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateGroups:
    """Which groups with private keys will be shown."""

    people: int
    """How many people a group needs to be shown in half of all cases."""
    chances: dict[int, float]
    """How likely a group of so many people is to be shown."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation:
    """Everything that can be said before anything is spent."""

    loss: Spend
    epsilon: float
    """The loss as ε: pure, or at the dataset's δ."""
    share: float
    """The price as a share of the whole budget."""
    questions_left: int | None
    """How many such questions still fit; None if they are free."""
    groups: int | None
    """How many groups there are; None where that is private."""
    noise: str
    weights: str
    """How a person with many rows is bounded, in a word or two."""
    shares: dict[str, float]
    """How the price is split over what is counted and summed."""
    errors: tuple[ErrorStatement, ...]
    private_groups: PrivateGroups | None
    confidence: float
    posterior: float
    """The most that an even suspicion about one person can rise to, but for rare cases if there is a δ."""
    posterior_chance: float
    """With at most this probability it rises further; 0 where the budget has no δ."""
    alternatives: tuple[str, ...]
    """What would cost less, or be more accurate at the same price."""
    notes: tuple[str, ...]
    way: str = ""
    """How it will be answered, where the policy caches answers; empty if it is paid by itself as usual."""

    def __repr__(self) -> str:
        from discreet.answers.shown_explanation import explanation_text

        return explanation_text(self)

    def _repr_html_(self) -> str:
        from discreet.answers.shown_explanation import explanation_html

        return explanation_html(self)
