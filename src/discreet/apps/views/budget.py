"""Where a budget stands: what was spent over time and by whom, what is left, and how long it will last."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.answers.json_text import charge_json
from discreet.answers.wording import charge_text, counted, epsilon_within, percent, standing_text
from discreet.apps.views.burn_down import forecast, spent_by
from discreet.apps.views.escape import write_json
from discreet.apps.views.plot import steps
from discreet.bounds.calibrate import analyst_cap_of, budget_of
from discreet.curator.ledgers import open_ledger, place_of
from discreet.errors import InvalidInput
from discreet.ledger.interface import Account, Balance, Entry, EntryKind
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend, amount_of
from discreet.policy.reader import read_policy

_LATEST = 10
_COLUMNS = 60
_LONGEST_NAME = 16
_SPENDING = (EntryKind.CHARGED, EntryKind.WRITTEN_OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountHistory:
    """An account, all that happened to it, and what its policy declares now."""

    balance: Balance
    entries: Sequence[Entry]
    """Oldest first; none if no question was asked yet."""
    declared: Account

    @property
    def charges(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind is EntryKind.CHARGED]


def standing_of(policy: Path) -> AccountHistory:
    """The account of a policy, from policy and ledger alone: no data is opened, and no ledger is made."""
    declared = read_policy(policy)
    dataset = declared.dataset
    with open_ledger(place_of(policy, declared.ledger)) as ledger:
        if not ledger.exists():
            return _unopened(dataset)
        try:
            balance = ledger.balance(dataset.name)
        except InvalidInput:
            return _unopened(dataset)
        entries = list(ledger.entries(dataset.name))
    return AccountHistory(
        balance=balance, entries=entries, declared=declared_account(dataset, balance.account)
    )


def declared_account(dataset: Dataset, account: Account) -> Account:
    """The account as the policy would have it, for the same people."""
    return replace(account, budget=budget_of(dataset), analyst_cap=analyst_cap_of(dataset))


def show_budget(policy: Path, output: str) -> None:
    """Print where the policy's account stands."""
    found = standing_of(policy)
    now = datetime.now(UTC)
    if output == "json":
        write_json(budget_json(found, now))
        return
    draw_budget(Console(highlight=False), found, now)


def budget_json(found: AccountHistory, now: datetime) -> dict[str, object]:
    """One object with everything."""
    balance = found.balance
    rest = forecast(found.entries, left=_amount(balance.left), now=now)
    asked = Counter(entry.analyst for entry in found.charges)
    return {
        "dataset": balance.account.dataset,
        "version": balance.version,
        "budget": charge_json(balance.account.budget),
        "spent": charge_json(balance.spent),
        "left": charge_json(balance.left),
        "analysts": {name: charge_json(spent) for name, spent in balance.analysts.items()},
        "analyst_cap": charge_json(balance.account.analyst_cap),
        "questions": len(found.charges),
        "questions_by_analyst": dict(asked),
        "policy_agrees": found.declared == balance.account,
        "forecast": {
            "a_day": rest.a_day,
            "until": None if rest.until is None else rest.until.isoformat(),
            "text": rest.text,
        },
        "history": [
            {
                "number": entry.number,
                "at": entry.at.isoformat(),
                "kind": entry.kind.value,
                "analyst": entry.analyst,
                "question": entry.question,
                "purpose": entry.note if entry.kind is EntryKind.CHARGED else "",
                "version": entry.version,
                "taken": charge_json(entry.taken.loss),
                "spent": charge_json(entry.spent.loss),
            }
            for entry in found.entries
            if entry.kind
            not in (EntryKind.ANSWERED, EntryKind.DATA_SEEN, EntryKind.UNUSED, EntryKind.RESUMED)
        ],
    }


def draw_budget(console: Console, found: AccountHistory, now: datetime) -> None:
    """The view for people: totals, the line over time, the forecast, analysts and the latest questions."""
    balance = found.balance
    standing = standing_text(balance.spent, balance.left, balance.account.budget)
    people = len({entry.analyst for entry in found.charges})
    console.print(
        f"[bold]{readable(balance.account.dataset)}[/]: {standing};"
        f" {counted(len(found.charges), 'question')}"
        + (f" by {counted(people, 'analyst')}." if people else ".")
    )
    if found.declared != balance.account:
        console.print(
            "[yellow]![/] The policy now declares another budget, so that questions are refused. Change the"
            " policy back, or the ledger with: discreet budget change --reason …"
        )
    if found.entries:
        console.print()
        _draw_line(console, found, now)
    console.print(f"\n{forecast(found.entries, left=_amount(balance.left), now=now).text}")
    if found.charges:
        console.print(_analysts(found))
        console.print(_latest(found, width=console.width))


def _draw_line(console: Console, found: AccountHistory, now: datetime) -> None:
    """What was spent, as steps that rise to the budget; every column is one stretch of time."""
    total, first = _amount(found.balance.account.budget), found.entries[0].at
    stretch = max(now - first, timedelta(seconds=1)) / _COLUMNS
    ends = [first + stretch * (i + 1) for i in range(_COLUMNS - 1)] + [max(now, found.entries[-1].at)]
    lines = steps([value / total for value in spent_by(found.entries, ends)])
    for i, line in enumerate(lines):
        label = f"{total:.4g}" if i == 0 else "0" if i == len(lines) - 1 else ""
        console.print(f"{label:>8} [dim]{'┤' if label else '│'}[/][cyan]{line}[/]")
    start, end = _moments(first, now)
    console.print(f"{'':9}{start}{end:>{_COLUMNS + 1 - len(start)}}")


def _moments(first: datetime, now: datetime) -> tuple[str, str]:
    shape = "%Y-%m-%d" if now - first >= timedelta(days=2) else "%Y-%m-%d %H:%M:%S"
    return f"{first:{shape}}", f"{now:{shape}} UTC"


def _analysts(found: AccountHistory) -> Table:
    balance = found.balance
    cap, total = _amount(balance.account.analyst_cap), _amount(balance.account.budget)
    asked = Counter(entry.analyst for entry in found.charges)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("analyst")
    table.add_column("questions", justify="right")
    table.add_column("spent", justify="right")
    table.add_column("of what they may" if cap < total else "of the budget")
    for name, loss in sorted(balance.analysts.items(), key=lambda item: -_amount(item[1])):
        share = _amount(loss) / cap
        bar = "█" * round(20 * share) or "▏"
        spent = _epsilon_text(loss, balance.account.budget)
        table.add_row(readable(name), f"{asked[name]:,}", spent, f"[cyan]{bar}[/] {share:.0%}")
    return table


def _latest(found: AccountHistory, *, width: int) -> Table:
    spending = [entry for entry in found.entries if entry.kind in _SPENDING]
    latest, budget = spending[-_LATEST:][::-1], found.balance.account.budget
    names = max(7, *(min(_LONGEST_NAME, len(entry.analyst)) for entry in latest))
    room = max(24, width - names - 42)
    title = "The latest" if len(spending) > _LATEST else "All so far"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("analyst", overflow="ellipsis", max_width=_LONGEST_NAME, no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("spent", justify="right", no_wrap=True)
    table.add_column("question")
    for entry in latest:
        question = textwrap.shorten(entry.question, room, placeholder=" …") or entry.question[:room]
        what = readable(question) if entry.question else f"[dim]{entry.kind.value}[/]"
        cost, after = _epsilon_text(entry.taken.loss, budget), percent(entry.spent.loss, budget)
        table.add_row(f"{entry.at:%m-%d %H:%M}", readable(entry.analyst), cost, after, what)
    return table


def _epsilon_text(loss: Spend, budget: Spend) -> str:
    epsilon = epsilon_within(loss, budget)
    return charge_text(loss) if epsilon is None else f"ε = {epsilon:.4g}"


def readable(text: str) -> str:
    """Text that somebody else wrote, fit for a terminal: nothing in it moves the cursor."""
    return escape("".join(sign if sign.isprintable() else "�" for sign in text))


def _amount(loss: Spend) -> float:
    return float(amount_of(loss))


def _unopened(dataset: Dataset) -> AccountHistory:
    """No question was asked yet: all of the declared budget is left."""
    account = Account(
        dataset=dataset.name,
        budget=budget_of(dataset),
        analyst_cap=analyst_cap_of(dataset),
        fingerprint="not opened yet",
    )
    balance = Balance(account=account, version=1, spent=account.budget_units.none.loss, analysts={})
    return AccountHistory(balance=balance, entries=(), declared=account)
