"""What can be asked of a service: its tables, as the owner's policy declares them."""

from collections.abc import Sequence

from rich.console import Console

from discreet.apps.views.escape import shown
from discreet.client.facts import TableFacts


def show_remote_tables(tables: Sequence[TableFacts]) -> None:
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    for table in tables:
        console.print("\n".join(shown(line) for line in str(table).split("\n")))
