"""What was spent over time and by whom, and how long the rest lasts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from discreet.answers.svg import Scale
from discreet.apps.views.burn_down import forecast, spent_after
from discreet.bounds.calibrate import charge_for
from discreet.ledger.interface import Balance, Entry, EntryKind
from discreet.model.policy import Dataset
from discreet.model.privacy import PureLoss, amount_of
from discreet.service.service import CuratorService
from discreet.service.user_account import UserAccount

_WIDTH, _HEIGHT = 1000, 220


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingShare:
    """What one analyst or one project has spent, of what they may."""

    name: str
    spent: float
    most: float
    questions: int

    @property
    def share(self) -> float:
        return self.spent / self.most if self.most else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Where a dataset's budget stands."""

    symbol: str
    """ε, or ρ where the budget has a δ."""
    spent: float
    left: float
    total: float
    questions: int
    forecast: str
    picture: Markup | None
    first: datetime | None
    now: datetime
    analysts: list[SpendingShare]
    projects: list[SpendingShare]


def spending_of(
    service: CuratorService, account: UserAccount, name: str, *, now: datetime | None = None
) -> Spending:
    """For owners and auditors."""
    dataset = service.dataset(name, account)
    entries, balance = dataset.entries(account), dataset.balance(account)
    now = now or datetime.now(UTC)
    charges = [entry for entry in entries if entry.kind is EntryKind.CHARGED]
    left = float(amount_of(balance.left))
    asked = Counter(entry.analyst for entry in charges)
    return Spending(
        symbol="ε" if isinstance(balance.account.budget, PureLoss) else "ρ",
        spent=float(amount_of(balance.spent)),
        left=left,
        total=float(amount_of(balance.account.budget)),
        questions=len(charges),
        forecast=forecast(entries, left=left, now=now).text,
        picture=_picture(entries, balance, now) if charges else None,
        first=entries[0].at if entries else None,
        now=now,
        analysts=_analysts(service, dataset.policy, balance, asked),
        projects=_projects(service, dataset.policy, balance, asked),
    )


def _analysts(
    service: CuratorService, policy: Dataset, balance: Balance, asked: Counter[str]
) -> list[SpendingShare]:
    own = {each.name: each.most_epsilon for each in service.accounts.all()}
    found = []
    for name, loss in balance.analysts.items():
        if amount_of(loss):
            most = charge_for(policy, min(own.get(name) or policy.epsilon, policy.analyst_epsilon))
            spent = float(amount_of(loss))
            found.append(
                SpendingShare(name=name, spent=spent, most=float(amount_of(most)), questions=asked[name])
            )
    return sorted(found, key=lambda each: -each.spent)


def _projects(
    service: CuratorService, policy: Dataset, balance: Balance, asked: Counter[str]
) -> list[SpendingShare]:
    found = []
    for project in service.accounts.projects():
        members = service.accounts.members(project.name)
        spent = float(amount_of(balance.spent_by(members).loss))
        questions = sum(asked[name] for name in members)
        most = float(amount_of(charge_for(policy, min(project.most_epsilon, policy.epsilon))))
        found.append(SpendingShare(name=project.name, spent=spent, most=most, questions=questions))
    return found


def _picture(entries: Sequence[Entry], balance: Balance, now: datetime) -> Markup:
    """Steps that rise to the budget. It is stretched to the width of the page, so it holds no text."""
    first, total = entries[0].at, float(amount_of(balance.account.budget))
    length = max((now - first) / timedelta(seconds=1), 1.0)
    x = Scale(low=0, high=length, end=_WIDTH)
    y = Scale(low=0, high=total, start=_HEIGHT, end=0)
    line = f"M0 {_HEIGHT}"
    for entry in entries:
        at = x.inside((entry.at - first) / timedelta(seconds=1))
        line += f"H{at}V{y.inside(spent_after(entry))}"
    line += f"H{_WIDTH}"
    label = f"Spent {float(amount_of(balance.spent)):.4g} of {total:.4g}, in steps over time"
    return Markup(  # noqa: S704  numbers only
        f'<svg class="burn" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="{label}"><path class="area" d="{line}V{_HEIGHT}Z"/>'
        f'<path class="line" d="{line}"/></svg>'
    )
