"""Explanations on the terminal and as JSON."""

import math

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.answers.explanation import ErrorStatement, Explanation, PrivateGroups
from discreet.answers.wording import (
    confidence_text,
    full_loss_text,
    key_text,
    number_text,
    one_case_in,
)
from discreet.apps.views.escape import write_json
from discreet.model.exact import exact_fraction
from discreet.model.privacy import PureLoss
from discreet.release.explanation_json import explanation_json

_SUFFIX = {"value": "", "total": " / rows", "rank": " rows in rank"}


def show_explanation(found: Explanation, output: str) -> None:
    if output == "json":
        write_json(explanation_json(found))
        return
    console = Console(highlight=False, emoji=False)
    console.print(
        f"Costs [bold]ε = {found.epsilon:.4g}[/], {found.share:.1%} of the budget"
        + ("" if isinstance(found.loss, PureLoss) else f" ({full_loss_text(found.loss)})")
        + ("" if found.questions_left is None else f"; {found.questions_left:,} such questions are left")
        + ". Nothing has been spent."
    )
    if found.way:
        console.print(escape(key_text(found.way)))
    if found.errors:
        console.print(error_table(found))
    if found.private_groups is not None:
        console.print(private_keys(found.private_groups))
    console.print(f"Noise: {found.noise}. Weights of people with many rows: {found.weights}.{_split(found)}")
    console.print(
        "An even suspicion about one person (50 %) can rise to"
        f" {math.ceil(1000 * found.posterior) / 10:.1f} % at most{rare_cases(found)}."
    )
    for text in found.alternatives:
        console.print(f"[green]→[/] {escape(key_text(text))}")
    for note in found.notes:
        console.print(f"[dim]{escape(key_text(note))}[/]")


def rare_cases(found: Explanation) -> str:
    """How often a suspicion may rise further, if ever."""
    if not found.posterior_chance or found.posterior == 1 / 2:
        return ""
    return f", but for {one_case_in(exact_fraction(found.posterior_chance, 'chance'))}"


def error_table(found: Explanation) -> Table:
    """Each measure with its error, and that of all groups at once if there are several."""
    several = found.groups is not None and found.groups > 1
    table = Table(box=SIMPLE_HEAD)
    table.add_column("error")
    table.add_column(f"each, at {confidence_text(found.confidence)}", justify="right")
    if several:
        table.add_column(f"all {found.groups:,} at once", justify="right")
    for error in found.errors:
        cells = [_reach(error, error.each), *([_reach(error, error.all)] if several else [])]
        table.add_row(escape(key_text(error.measure)), *cells)
    return table


def _reach(error: ErrorStatement, reach: float) -> str:
    return f"± {number_text(reach, reach)}{_SUFFIX[error.of]}"


def private_keys(groups: PrivateGroups) -> str:
    """How large a group has to be to be shown."""
    return (
        f"The keys are private: a group of [bold]{groups.people:,}[/] people with one row each is shown in"
        f" half of all cases.\n{_chances(groups.chances)}"
    )


def _chances(chances: dict[int, float]) -> str:
    hidden = [people for people, chance in chances.items() if chance < 0.001]
    shown = [f"{people}: {chance:.1%}" for people, chance in chances.items() if chance >= 0.001]
    few = f"One of {max(hidden)} or fewer is hardly ever shown." if hidden else ""
    return " ".join([few] * bool(hidden) + [f"Chances by size: {', '.join(shown)}."] * bool(shown))


def _split(found: Explanation) -> str:
    if len(found.shares) < 2:
        return ""
    return (
        " Price: "
        + ", ".join(f"{escape(key_text(name))} {share:.0%}" for name, share in found.shares.items())
        + "."
    )
