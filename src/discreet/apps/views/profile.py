"""A profile of a table on the screen: what limits would leave out, and what noise would cost."""

from rich.console import Console
from rich.table import Table

from discreet.answers.wording import charge_text, number_text, visible_text
from discreet.apps.views.escape import write_json
from discreet.bounds.calibrate import charge_for
from discreet.curator import Curator
from discreet.model.exact import Number
from discreet.model.policy import PrivateTable
from discreet.profile.findings import (
    PART_OF_BUDGET,
    LimitLine,
    lines_of,
    odd_values,
    people_found,
    profile_json,
)
from discreet.profile.table_profile import TableProfile


def take_profile(curator: Curator, table: str | None, *, epsilon: Number) -> list[TableProfile]:
    """Of one table, or of all tables about people in which a person can have several rows."""
    names = [
        name
        for name, each in curator.dataset.tables.items()
        if isinstance(each, PrivateTable) and not each.one_row_a_person
    ]
    return [curator.profile(name, epsilon=epsilon) for name in ([table] if table else names)]


def show_profile(curator: Curator, found: TableProfile, output: str) -> None:
    """All that follows from a profile; the rest of the policy is public."""
    if output == "json":
        write_json(profile_json(found, curator.dataset))
        return
    console = Console(highlight=False, markup=False)
    people, off = people_found(found)
    console.print(
        f"{visible_text(found.table)}: {number_text(people, off)} ± {number_text(off, off)} people."
    )
    price = charge_text(charge_for(curator.dataset, curator.dataset.epsilon * PART_OF_BUDGET))
    _print_limits(console, "max_rows", lines_of(found.rows, curator.dataset), f"noise of a count at {price}")
    for name, bins in found.keys.items():
        title = f"max_groups, people by {visible_text(name)}"
        _print_limits(console, title, lines_of(bins, curator.dataset), f"noise at {price}")
    for name, odd, share, reach in odd_values(found):
        console.print(f"{share:.0%} ± {reach:.0%} of people have a {visible_text(name)} that is {odd}.")
    console.print(f"Cost {charge_text(found.loss)}, once. Questions use the limits that are best for them,")
    console.print("up to those of the policy. Raise these if much is left out.")


def _print_limits(console: Console, title: str, lines: list[LimitLine], noise: str) -> None:
    table = Table(box=None, pad_edge=False)
    for name in (title, "left out", noise):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(
            f"{line.forecast.limit:,}",
            f"{line.forecast.share:.1%}",
            f"± {number_text(line.noise, line.noise)}",
        )
    console.print(table)
    console.print()
