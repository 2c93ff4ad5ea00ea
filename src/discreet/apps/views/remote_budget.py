"""What a service says of a budget: in all, and for whoever asks."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.answers.json_text import charge_json
from discreet.answers.wording import charge_text, standing_text
from discreet.apps.views.escape import shown, write_json
from discreet.client.facts import BudgetFacts
from discreet.model.privacy import amount_of


def show_remote_budget(found: BudgetFacts, output: str) -> None:
    if output == "json":
        write_json(_facts(found))
        return
    console = Console(highlight=False, emoji=False)
    console.print(
        f"[bold]{shown(found.dataset)}[/]: {standing_text(found.spent, found.left, found.budget)};"
        f" {charge_text(found.left_for_you, found.budget)} of it for you."
    )
    if found.analysts:
        table = Table(box=SIMPLE_HEAD)
        table.add_column("analyst")
        table.add_column("spent", justify="right")
        for name, spent in sorted(found.analysts.items(), key=lambda pair: -amount_of(pair[1])):
            table.add_row(shown(name), charge_text(spent, found.budget))
        console.print(table)


def _facts(found: BudgetFacts) -> dict[str, object]:
    return {
        "dataset": found.dataset,
        "version": found.version,
        "budget": charge_json(found.budget),
        "spent": charge_json(found.spent),
        "left": charge_json(found.left),
        "left_for_you": charge_json(found.left_for_you),
        "analysts": {name: charge_json(spent) for name, spent in found.analysts.items()},
    }
