"""Options that several commands share."""

from pathlib import Path

import click

policy_option = click.option(
    "--policy",
    type=click.Path(path_type=Path),
    default="discreet.toml",
    show_default=True,
    help="The policy of the data.",
)
purpose_option = click.option(
    "--purpose", metavar="TEXT", help="What it is for: for the owner, and kept in the ledger."
)
table_or_json = click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
