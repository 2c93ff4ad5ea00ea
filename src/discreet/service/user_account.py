"""Who may do what. An account belongs to one service, and has tokens."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction

from discreet.errors import NotAllowed, NotThere


class Role(StrEnum):
    OWNER = "owner"
    """Manages accounts and approvals, and sees everything that happened. May ask, within caps."""
    ANALYST = "analyst"
    """Asks, within caps."""
    AUDITOR = "auditor"
    """Reads the ledger, the log and reports. Asks nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAccount:
    """A person who may use a service. The ledger charges questions under the name."""

    name: str
    role: Role
    datasets: tuple[str, ...]
    """What they may see and ask about."""
    project: str = ""
    """The project whose budget they share; "" for none."""
    most_epsilon: Fraction | None = None
    """The most that they may ever spend, of each dataset. None: what the policy lets one analyst spend."""
    default_epsilon: Fraction | None = None
    """The price of a question that names none."""
    approval_above: Fraction | None = None
    """Questions that cost more ε wait for the owner."""
    identity: str = ""
    """Who they are to an identity provider, as `Identity` writes it; "" for nobody."""
    created: datetime
    revoked: datetime | None = None

    @property
    def may_ask(self) -> bool:
        return self.role is not Role.AUDITOR

    def check_role(self, *roles: Role) -> None:
        """NotAllowed unless the account has one of these roles."""
        if self.role not in roles:
            raise NotAllowed(
                f"{self.name} is an {self.role}, who may not do this.",
                remedy=f"Ask an {roles[0]} to do it.",
            )

    def check_dataset(self, name: str) -> None:
        """The same for a dataset that is not theirs as for one that does not exist."""
        if name not in self.datasets:
            raise NotThere(
                f"There is no dataset “{name}” for this account.",
                remedy=f"It may use: {', '.join(self.datasets) or 'none'}.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Several analysts who share a budget."""

    name: str
    most_epsilon: Fraction
    """The most that all of them together may ever spend, of each dataset."""
