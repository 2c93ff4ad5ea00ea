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
table_or_json = click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
