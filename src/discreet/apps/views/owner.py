"""What only the owner does: check, export and rebase the ledger, announce new data, change the budget.

None of it opens the data: whoever audits a ledger may have nothing else.
"""

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.answers.wording import charge_text
from discreet.apps.views.budget import declared_account, readable
from discreet.bounds.calibrate import charge_for
from discreet.curator.ledgers import LedgerPlace, open_existing, place_of
from discreet.errors import InvalidInput
from discreet.ledger.interface import Account, Balance, EntryKind, Ledger
from discreet.model.exact import positive_epsilon
from discreet.model.policy import Dataset
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.policy.reader import read_policy

Confirm = Callable[[str], None]
"""Shows what will be done, asks whether to go on, and raises if not."""


def verify_ledger(place: LedgerPlace) -> None:
    """Replay the whole ledger and say what was checked; LedgerClosed if anything is not as it was."""
    with open_existing(place) as ledger:
        ledger.verify()
        lines = [json.loads(line) for line in ledger.export()]
        opened = dict.fromkeys(line["dataset"] for line in lines if line["kind"] == EntryKind.OPENED)
        balances = [ledger.balance(dataset) for dataset in opened]
    console = Console(highlight=False)
    console.print(
        f"[green]✓[/] {len(lines):,} entries: every hash, number, sum and stored answer, and the anchor."
    )
    table = Table(box=SIMPLE_HEAD)
    for heading in ("dataset", "entries", "questions", "version", "spent", "budget"):
        table.add_column(heading, justify="left" if heading == "dataset" else "right")
    for balance in balances:
        own = [line for line in lines if line["dataset"] == balance.account.dataset]
        table.add_row(
            readable(balance.account.dataset),
            f"{len(own):,}",
            f"{sum(line['kind'] == EntryKind.CHARGED for line in own):,}",
            str(balance.version),
            charge_text(balance.spent),
            charge_text(balance.account.budget),
        )
    console.print(table)
    if lines:
        console.print(f"The last entry is {len(lines)}, with the digest {lines[-1]['digest']}")


def export_ledger(place: LedgerPlace, out: Path | None) -> None:
    """All entries as lines of JSON, also of a ledger that is closed. An existing file is kept."""
    with open_existing(place) as ledger:
        if out is None:
            for line in ledger.export():
                sys.stdout.write(line + "\n")
            return
        try:
            with out.open("x", encoding="ascii", newline="\n") as file:
                file.writelines(line + "\n" for line in ledger.export())
        except FileExistsError:
            raise InvalidInput(
                f"“{out}” exists already.", remedy="Move it away, or give another name with --out."
            ) from None
        except OSError:
            raise InvalidInput(f"“{out}” cannot be written.", remedy="Check the folder of --out.") from None
    Console(highlight=False).print(f"Wrote {out}.", markup=False)


def refresh_data(policy: Path, confirm: Confirm) -> None:
    """Start a new version of the data: stored answers no longer apply, and the budget goes on."""
    declared = read_policy(policy)
    dataset = declared.dataset
    with open_existing(place_of(policy, declared.ledger)) as ledger:
        balance = _balance(ledger, dataset.name)
        text = (
            f"“{dataset.name}” is at version {balance.version}. With new data it becomes version"
            f" {balance.version + 1}:\n"
            "  - Answers that were given before stay as they are, and are not given again:\n"
            "    the same question is asked of the new data, and is paid for anew.\n"
            "  - The budget goes on, because most people are in the new data too:"
            f" {charge_text(balance.spent)} of {charge_text(balance.account.budget)} stays spent.\n"
            "Start the new version?"
        )
        confirm(text)
        version = ledger.refresh(dataset.name)
    Console(highlight=False).print(f"“{dataset.name}” is now at version {version}.", markup=False)


def change_budget(policy: Path, reason: str, confirm: Confirm) -> None:
    """Set the ledger's budget and cap to what the policy says now, and record the reason in the ledger."""
    declared = read_policy(policy)
    dataset = declared.dataset
    with open_existing(place_of(policy, declared.ledger)) as ledger:
        balance = _balance(ledger, dataset.name)
        account = declared_account(dataset, balance.account)
        if account == balance.account:
            Console(highlight=False).print("The ledger already has the budget that the policy declares.")
            return
        text = (
            f"The budget of “{dataset.name}”, of which {charge_text(balance.spent)} is spent:\n"
            f"  from {_budget_text(balance.account)}\n"
            f"  to   {_budget_text(account)}\n"
            "More budget is more that can be learnt about each person, for ever. Change it?"
        )
        confirm(text)
        after = ledger.change_budget(
            dataset.name, budget=account.budget, analyst_cap=account.analyst_cap, reason=reason
        )
    Console(highlight=False).print(f"Changed: {charge_text(after.left)} is left.", markup=False)


def rebase_ledger(policy: Path, epsilon: float | None, reason: str, confirm: Confirm) -> None:
    """Write off what may have been spent since a backup; all that is left if ε is None."""
    declared = read_policy(policy)
    dataset = declared.dataset
    lost = None if epsilon is None else _written_off(dataset, epsilon)
    with open_existing(place_of(policy, declared.ledger)) as ledger:
        known = dict.fromkeys(str(json.loads(line)["dataset"]) for line in ledger.export())
        others = ", ".join(f"“{name}”" for name in known if name not in ("", dataset.name))
        also = f"  - The same ledger has {others}: all that is left there is written off.\n" if others else ""
        amount = "all that is left" if lost is None else charge_text(lost)
        text = (
            f"Write off {amount} of “{dataset.name}”, for good:\n"
            "  - What was charged since the backup is not in this ledger, and was seen by somebody.\n"
            "  - Answers that were given before are not given again.\n"
            f"{also}Go on with this ledger?"
        )
        confirm(text)
        ledger.rebase(write_off={} if lost is None else {dataset.name: lost}, reason=reason)
        left = ledger.balance(dataset.name).left
    Console(highlight=False).print(f"Written off: {charge_text(left)} is left.", markup=False)


def _written_off(dataset: Dataset, epsilon: float) -> Spend:
    if epsilon == 0:
        none = Fraction(0)
        return PureLoss(epsilon=none) if dataset.delta == 0 else ConcentratedLoss(rho=none, delta=none)
    if dataset.delta == 0:
        return charge_for(dataset, positive_epsilon(epsilon))
    raise InvalidInput(
        "A budget with a δ is spent in ρ and δ, and ε alone does not say how much of these.",
        remedy="Give --everything, or write off a ConcentratedLoss in Python with Ledger.rebase.",
    )


def _balance(ledger: Ledger, dataset: str) -> Balance:
    try:
        return ledger.balance(dataset)
    except InvalidInput:
        raise InvalidInput(
            f"The ledger has no account of “{dataset}”.",
            remedy="It is opened by the first question; until then there is nothing to change.",
        ) from None


def _budget_text(account: Account) -> str:
    budget, cap = charge_text(account.budget), charge_text(account.analyst_cap)
    return budget if account.analyst_cap == account.budget else f"{budget}, at most {cap} an analyst"
