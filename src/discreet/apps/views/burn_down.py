"""How a budget was spent over time, and how long the rest will last."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from discreet.ledger.interface import Entry, EntryKind
from discreet.model.privacy import AMOUNT_UNITS

RECENT = timedelta(days=7)
_SHORTEST = timedelta(days=1)
_FARTHEST = timedelta(days=365 * 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """At the rate of the last days; `until` is None if that gives no date."""

    a_day: float | None
    until: datetime | None
    text: str


def spent_by(entries: Sequence[Entry], ends: Sequence[datetime]) -> list[float]:
    """What was spent at each of these times, in ε or ρ. Times and entries must be sorted."""
    spent, amount, left = [], 0.0, list(reversed(entries))
    for end in ends:
        while left and left[-1].at <= end:
            amount = spent_after(left.pop())
        spent.append(amount)
    return spent


def spent_after(entry: Entry) -> float:
    """What was spent after an entry, in ε or ρ."""
    return float(entry.spent.amount / AMOUNT_UNITS)


def forecast(entries: Sequence[Entry], *, left: float, now: datetime) -> Forecast:
    """How long what is left lasts, if it goes on as in the last seven days."""
    if left <= 0:
        return Forecast(a_day=None, until=now, text="Nothing is left.")
    charges = [entry for entry in entries if entry.kind is EntryKind.CHARGED]
    if not charges:
        return Forecast(a_day=None, until=None, text="Nothing has been spent yet, so there is no forecast.")
    age = now - entries[0].at
    if age < _SHORTEST:
        text = "Too little to forecast: the first entry is not a day old."
        return Forecast(a_day=None, until=None, text=text)
    span = min(age, RECENT)
    taken = sum(entry.taken.amount for entry in charges if entry.at > now - span) / AMOUNT_UNITS
    if taken == 0:
        text = f"Nothing was spent in the last {_days(span)}: at that rate the rest lasts for ever."
        return Forecast(a_day=0.0, until=None, text=text)
    a_day = taken / (span / timedelta(days=1))
    rest = left / a_day
    if rest > _FARTHEST.days:
        text = f"At the rate of the last {_days(span)} it lasts for more than a hundred years."
        return Forecast(a_day=a_day, until=None, text=text)
    until = now + timedelta(days=rest)
    when = f"{until.day} {until:%B %Y}" if rest >= 2 else f"{until.day} {until:%B, %H:%M} UTC"
    return Forecast(
        a_day=a_day,
        until=until,
        text=f"At the rate of the last {_days(span)} it lasts until about {when}.",
    )


def _days(span: timedelta) -> str:
    whole = max(1, round(span / timedelta(days=1)))
    return "day" if whole == 1 else f"{whole} days"
