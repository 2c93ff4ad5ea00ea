"""The command that makes up tables from a policy."""

from pathlib import Path

import click

from discreet.apps.commands.options import policy_option


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--people", type=int, default=1_000, show_default=True, help="How many people to make up.")
@policy_option
def dummy(folder: Path, people: int, policy: Path) -> None:
    """Write made-up tables into FOLDER, to try questions on without the data.

    Every value is drawn evenly from what the policy allows. No row is read and nothing is spent. The folder
    has a policy with a budget of its own: whatever can be asked there can be asked of the data.

    \b
    Examples:
      discreet dummy try
      discreet ask "SELECT count(*) FROM visits" --epsilon 1 --policy try/discreet.toml
    """
    from discreet.apps.views.dummy import make_dummy

    make_dummy(folder, policy=policy, people=people)
