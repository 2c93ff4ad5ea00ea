"""The commands of the data's owner: the budget, the ledger, new data."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
from click.core import ParameterSource

from discreet.apps.commands.options import policy_option, table_or_json
from discreet.apps.commands.service_choice import ServiceOptions, chosen_service, of_service

if TYPE_CHECKING:
    from discreet.curator.ledgers import LedgerPlace

yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.group(invoke_without_command=True)
@policy_option
@table_or_json
@of_service
@click.pass_context
def budget(ctx: click.Context, policy: Path, output: str, **service: Unpack[ServiceOptions]) -> None:
    """Show what is spent, over time and by whom, what is left, and how long it will last.

    Reads the ledger only: the data may be elsewhere. Of a service, shows what is left for you.

    \b
    Examples:
      discreet budget
      discreet budget --policy clinic.toml --format json
      discreet budget --server https://curator.example
      discreet budget change --reason "approved by the board"
    """
    if ctx.invoked_subcommand is not None:
        if any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in ctx.params):
            raise click.UsageError(f"Write the options after “{ctx.invoked_subcommand}”.")
        return
    remote = chosen_service(service)
    if remote is not None:
        from discreet.apps.views.remote_budget import show_remote_budget

        show_remote_budget(remote.budget(), output)
        return
    from discreet.apps.views.budget import show_budget

    show_budget(policy, output)


@budget.command()
@policy_option
@click.option("--reason", required=True, help="Why; it stays in the ledger for ever.")
@yes_option
def change(policy: Path, reason: str, yes: bool) -> None:
    """Make the ledger's budget what the policy declares now.

    Edit the policy first. Until the ledger says the same, questions are refused.

    \b
    Examples:
      discreet budget change --reason "approved by the board"
      discreet budget change --policy clinic.toml --reason "fewer analysts" --yes
    """
    from discreet.apps.views.owner import change_budget

    change_budget(policy, reason, _confirmation(yes))


@click.group()
def ledger() -> None:
    """Check the ledger, write it out for somebody else to check, or go on with a restored one.

    \b
    Examples:
      discreet ledger verify
      discreet ledger export --out ledger.jsonl
      discreet ledger rebase --epsilon 0.5 --reason "restored the backup of Monday"
    """


ledger_option = click.option(
    "--ledger", "location", help="The ledger's own file, or postgresql://…, instead of --policy."
)
anchor_option = click.option(
    "--anchor", type=click.Path(path_type=Path), help="Its anchor, if that is not where it belongs."
)


@ledger.command()
@policy_option
@ledger_option
@anchor_option
def verify(policy: Path, location: str | None, anchor: Path | None) -> None:
    """Replay all entries: the chain of hashes, the sums, the stored answers, the anchor.

    Needs neither the data nor, with --ledger, the policy. Exits with 1 if anything is not as it was.

    \b
    Examples:
      discreet ledger verify
      discreet ledger verify --ledger clinic.ledger
      discreet ledger verify --ledger postgresql://db.example/clinic#discreet --anchor clinic.ledger.anchor
    """
    from discreet.apps.views.owner import verify_ledger

    verify_ledger(_place(policy, location, anchor))


@ledger.command()
@policy_option
@ledger_option
@anchor_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write it; an existing file is never overwritten. The terminal if not given.",
)
def export(policy: Path, location: str | None, anchor: Path | None, out: Path | None) -> None:
    """Write all entries as lines of JSON, each with the hash that chains it to the one before.

    Also works on a ledger that is closed because something is wrong.

    \b
    Examples:
      discreet ledger export --out ledger.jsonl
      discreet ledger export --ledger clinic.ledger
    """
    from discreet.apps.views.owner import export_ledger

    export_ledger(_place(policy, location, anchor), out)


@ledger.command()
@policy_option
@click.option("--epsilon", type=float, help="The most that may have been spent since; 0 for nothing.")
@click.option("--everything", is_flag=True, help="Nobody knows: write off all that is left.")
@click.option("--reason", required=True, help="Why; it stays in the ledger for ever.")
@yes_option
def rebase(policy: Path, epsilon: float | None, everything: bool, reason: str, yes: bool) -> None:
    """Go on with a ledger that is not the one it was, such as a restored backup.

    What was charged after the backup is lost from the ledger, but somebody saw what it paid for. So that much
    is written off. Other datasets in the same ledger lose all that they have left.

    \b
    Examples:
      discreet ledger rebase --epsilon 0.5 --reason "restored the backup of Monday"
      discreet ledger rebase --everything --reason "the disk failed" --policy clinic.toml
      discreet ledger rebase --epsilon 0 --reason "the anchor was deleted, nothing is lost"
    """
    from discreet.apps.views.owner import rebase_ledger

    if everything == (epsilon is not None):
        raise click.UsageError("Give one of --epsilon and --everything.")
    rebase_ledger(policy, epsilon, reason, _confirmation(yes))


@click.group()
def data() -> None:
    """Tell discreet about the data.

    \b
    Examples:
      discreet data refresh
    """


@data.command()
@policy_option
@yes_option
def refresh(policy: Path, yes: bool) -> None:
    """Announce that the data is new: answers of before are not given again, and the budget goes on.

    \b
    Examples:
      discreet data refresh
      discreet data refresh --policy clinic.toml --yes
    """
    from discreet.apps.views.owner import refresh_data

    refresh_data(policy, _confirmation(yes))


def _place(policy: Path, location: str | None, anchor: Path | None) -> "LedgerPlace":
    """The ledger that was named, or that of the policy."""
    from discreet.curator.ledgers import place_named, place_named_by

    place = place_named_by(policy) if location is None else place_named(location, policy)
    return place if anchor is None else replace(place, anchor=anchor)


def _confirmation(yes: bool) -> Callable[[str], None]:
    """Shows what will be done; without --yes, anything but a yes at the terminal ends the command."""

    def confirm(text: str) -> None:
        if yes:
            click.echo(text.rpartition("\n")[0])
        else:
            click.confirm(text, abort=True)

    return confirm
