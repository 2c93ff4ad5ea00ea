"""Every error that discreet raises on purpose.

    DiscreetError                 catch this one to catch them all
    ├── InvalidInput              a value that is not allowed (also a ValueError)
    ├── BudgetExceeded            the loss does not fit into what is left; nothing was spent
    ├── PolicyError               the policy, or a file that it points at, is wrong
    ├── QueryRefused              a question that has no private answer as it stands; no data was read
    ├── EngineFailed              the database failed after the charge; the charge stays
    │   └── TookTooLong           it was stopped after the time limit of the policy
    ├── LedgerClosed              the ledger does not add up, is not the one it was, or cannot be reached
    │   └── LedgerBusy            another process uses it, or its server does not answer: try later
    ├── NotSignedIn               a service does not know the token, or it has ended
    ├── NotAllowed                a service knows who asks, and they may not do this
    │   └── NotThere              it does not exist, or is somebody else's (also an InvalidInput)
    ├── NeedsApproval             the question waits for the owner of the data; nothing was spent
    ├── ServiceUnreachable        there is no answer from a service, or none that can be read
    ├── CollectorClosed           a folder of reports is in use, damaged, or cannot be written
    ├── NotComposable             two losses, or a loss and a group, that no theorem here covers
    ├── MissingExtra              an optional dependency is not installed
    └── SelfTestFailed            the noise did not pass its known-answer test; nothing is released

Each carries what happened and, as ``remedy``, what to do about it. None carries a value from the data.

Remedies name options as Python does: “epsilon=0.1”. `for_command_line`, `for_json` and `for_page` say the
same as each of them writes it, and `for_python` undoes `for_json`.
"""

import re


class DiscreetError(Exception):
    """What happened, and what to do about it."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        self.problem = _visible(problem)
        self.remedy = _visible(remedy)
        apart = "\n" if "\n" in self.problem else " "
        super().__init__(f"{self.problem}{apart}{self.remedy}")

    def __reduce__(self) -> tuple[object, ...]:
        """So that it comes back from another process as it is."""
        return _made, (type(self), self.problem, self.remedy), vars(self)


def _made(kind: "type[DiscreetError]", problem: str, remedy: str) -> "DiscreetError":
    return kind(problem, remedy=remedy)


def _visible(text: str) -> str:
    """Without characters that a terminal would obey: errors quote questions, and may be shown anywhere."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode()
        for sign in text
    )


_OPTIONS = r"(?P<name>epsilon|rho|within|confidence|purpose|dataset)"
_VALUE = r"(?P<value>\d[\d.]*(?:e-?\d+)?(?<!\.))"
_IN_PYTHON = re.compile(rf"\b{_OPTIONS}={_VALUE}?")
_IN_JSON = re.compile(rf'"{_OPTIONS}"(?:: {_VALUE})?')
_SYMBOLS = {"epsilon": "ε", "rho": "ρ", "within": "the error"}


def for_command_line(remedy: str) -> str:
    """With “--epsilon 0.1” for “epsilon=0.1”."""
    return _IN_PYTHON.sub(lambda found: f"--{found['name']} {found['value'] or ''}".rstrip(), remedy)


def for_json(remedy: str) -> str:
    """With “"epsilon": 0.1” for “epsilon=0.1”."""
    return _IN_PYTHON.sub(
        lambda found: f'"{found["name"]}"' + (f": {found['value']}" if found["value"] else ""), remedy
    )


def for_page(remedy: str) -> str:
    """With “ε = 0.1” for “epsilon=0.1”."""
    return _IN_PYTHON.sub(
        lambda found: (
            _SYMBOLS.get(found["name"], found["name"]) + (f" = {found['value']}" if found["value"] else "")
        ),
        remedy,
    )


def for_python(remedy: str) -> str:
    """What `for_json` made of a remedy, as it was."""
    return _IN_JSON.sub(lambda found: f"{found['name']}={found['value'] or ''}", remedy)


class InvalidInput(DiscreetError, ValueError):
    """A value that is not allowed: a negative ε, or a float where the grid needs integers."""


class BudgetExceeded(DiscreetError):
    """The loss does not fit into what is left of the budget. Nothing was spent."""


class PolicyError(DiscreetError):
    """The policy, or a file that it points at, is wrong."""


class QueryRefused(DiscreetError):
    """A question that has no private answer as it stands. No data was read and nothing was spent."""


class EngineFailed(DiscreetError):
    """The database failed after the charge. What it said is not shown, and the charge stays.

    If it failed before, while it read a public table, the error says that nothing was spent.
    """


class TookTooLong(EngineFailed):
    """The database was stopped after the time limit of the policy. The charge stays."""


class LedgerClosed(DiscreetError):
    """The ledger does not add up, or is not the one it was. No charge succeeds until its owner has looked."""


class LedgerBusy(LedgerClosed):
    """Another process uses the ledger, or its server does not answer. The same call may succeed later."""


class NotSignedIn(DiscreetError):
    """A token or a session that is missing, wrong, expired or revoked."""


class NotAllowed(DiscreetError):
    """Somebody who is known to a service, and may not do this."""


class NotThere(NotAllowed, InvalidInput):
    """What does not exist, or is somebody else's: nobody can tell which of the two."""


class NeedsApproval(DiscreetError):
    """The question waits for the owner of the data. Nothing was spent."""

    def __init__(self, problem: str, *, remedy: str, approval: str = "", price: float = 0.0) -> None:
        super().__init__(problem, remedy=remedy)
        self.approval = approval
        """The id of the request."""
        self.price = price
        """What the question would cost, as ε."""


class ServiceUnreachable(DiscreetError):
    """There is no answer from a service, or none that can be read. The remedy says whether to try again."""


class CollectorClosed(DiscreetError):
    """A folder of reports is in use by another collector, damaged, or cannot be written."""


class NotComposable(DiscreetError):
    """No theorem that discreet relies on covers this composition."""


class MissingExtra(DiscreetError, ImportError):
    """An optional dependency is not installed."""


class SelfTestFailed(DiscreetError):
    """The noise did not pass its known-answer test on this machine. Nothing is released."""
