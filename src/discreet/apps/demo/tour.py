"""A guided tour on the terminal, on a clinic that is made up on the spot; all numbers are computed live."""

import math
import random
import shlex
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from discreet.accounting.meaning import attack_ceiling
from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.apps.demo.attack import (
    Target,
    attack_all,
    exact_counts,
    pick_targets,
    private_counts,
    questions,
)
from discreet.apps.demo.data import MOST_VISITS, OLDEST, PEOPLE, WARDS, YOUNGEST, Clinic, make_clinic
from discreet.apps.views.budget import draw_budget, standing_of
from discreet.apps.views.explain import rare_cases
from discreet.curator import Curator
from discreet.curator.open_policy import open_curator
from discreet.errors import BudgetExceeded

ATTACK_EPSILON = 0.5
SUSPECTED = ("depression", "diabetes", "infection", "fracture")
QUESTIONS = (
    (
        "ana",
        "How many visits had each ward?",
        0.2,
        "SELECT ward, count(*) AS visits FROM visits GROUP BY ward",
    ),
    (
        "ben",
        "What does a visit cost, by age?",
        0.5,
        "SELECT floor(age / 10) * 10 AS age_from, avg(cost) AS mean_cost FROM visits GROUP BY 1 ORDER BY 1",
    ),
    (
        "ana",
        "How many in a hundred patients came with diabetes?",
        0.2,
        "SELECT 100.0 * count(DISTINCT patient_id) FILTER (WHERE diagnosis = 'diabetes')"
        " / count(DISTINCT patient_id) AS percent FROM visits",
    ),
)
_HALF = 14
_WIDEST = 92

_SANDBOX = f"""\
[dataset]
name = "attack"
neighbours = "add_remove"
budget = {{ epsilon = 1000, delta = 0 }}
[tables.visits]
source = "visits.parquet"
person = "patient_id"
max_rows = {MOST_VISITS}
max_groups = 1
[tables.visits.columns.ward]
keys = {list(WARDS)}
[tables.visits.columns.age]
bounds = [{YOUNGEST}, {OLDEST}]
"""


def run_demo(folder: Path) -> None:
    """Make the clinic, attack it, ask three questions, overdraw the budget, and leave the folder."""
    console = Console(highlight=False)
    if not console.is_terminal or console.width > _WIDEST:
        console = Console(width=_WIDEST, highlight=False)
    clinic = make_clinic(folder)
    console.print(Panel("[bold]discreet[/]: learn from data about people, not about any one of them"))
    _introduce(console, clinic)
    _attack(console, clinic)
    _title(console, "2. Three questions, and what is promised before each")
    console.print("Every answer states its error: 95 of 100 error bars hold the exact number.")
    for question in QUESTIONS:
        _question(console, clinic, *question)
    _budget(console, clinic)
    _farewell(console, clinic)


def _introduce(console: Console, clinic: Clinic) -> None:
    console.print(
        f"A clinic, made up just now: {clinic.rows:,} visits of {PEOPLE:,} patients. Its owner sees rows like"
        " these. Analysts never do: they ask questions, within what the owner's policy allows."
    )
    table = Table(box=SIMPLE_HEAD)
    for name in ("patient_id", "ward", "age", "diagnosis", "cost", "day"):
        table.add_column(name)
    for row in clinic.exact("SELECT patient_id, ward, age, diagnosis, cost, day FROM visits LIMIT 3"):
        table.add_row(*(str(cell) for cell in row))
    console.print(table)


def _attack(console: Console, clinic: Clinic) -> None:
    _title(console, "1. Two harmless counts, one diagnosis")
    targets = pick_targets(clinic, SUSPECTED)
    victim = random.SystemRandom().choice([target for target in targets if target.has_it])
    console.print(
        f"Somebody knows that a colleague, {victim.age}, was in {victim.ward} once, on {victim.day}."
        f" Was it for {victim.suspected}? No name is needed to find out, only two counts of patients:"
    )
    with tempfile.TemporaryDirectory() as place, console.status("attacking"):
        curator = _sandbox(clinic, Path(place))
        console.print(_one_attack(clinic, curator, victim))
        caught = attack_all(targets, exact_counts(clinic))
        private = attack_all(targets, private_counts(curator, epsilon=ATTACK_EPSILON / 2))
    console.print(
        f"The same attack on {len(targets):,} patients, about half of whom have what is suspected, is right"
    )
    luck = 2 * (0.25 / len(targets)) ** 0.5
    for name, share, colour, rest in (
        ("on exact counts", caught, "red", ""),
        (f"through discreet, ε = {ATTACK_EPSILON}", private, "green", f" ± {luck:.1%}"),
        ("at most, by the mathematics", _rounded_up(float(attack_ceiling(ATTACK_EPSILON, 0))), "yellow", ""),
        ("with a coin, asking nothing", 0.5, "dim", ""),
    ):
        console.print(f"  {name:<28} [{colour}]{'█' * round(30 * share):<30}[/] {share:.1%}{rest}")


def _one_attack(clinic: Clinic, curator: Curator, victim: Target) -> Table:
    """The two counts about one person, exact and private, and what they tell."""
    asked, each = questions([victim]), ATTACK_EPSILON / 2
    error = curator.explain(asked[0], epsilon=each).errors[0].each
    exact = [exact_counts(clinic)(sql)[victim.group] for sql in asked]
    noisy = [private_counts(curator, epsilon=each)(sql)[victim.group] for sql in asked]
    table = Table(box=SIMPLE_HEAD)
    table.add_column("patients")
    table.add_column("exact", justify="right", style="red")
    table.add_column("through discreet", justify="right", style="green")
    first = f"aged {victim.age}, in {victim.ward}, with {victim.suspected}"
    for i, text in enumerate((first, f"the same, but not on {victim.day}")):
        table.add_row(text, f"{exact[i]:.0f}", f"{noisy[i]:.0f} ± {error:.0f}")
    difference = f"{noisy[0] - noisy[1]:.0f}: who knows"
    table.add_row("[bold]difference[/]", f"{exact[0] - exact[1]:.0f}: yes", difference)
    return table


def _sandbox(clinic: Clinic, place: Path) -> Curator:
    """The same data behind a budget that nobody should ever grant: the attack is repeated again and again."""
    (place / "visits.parquet").symlink_to(clinic.visits.resolve())
    (place / "attack.toml").write_text(_SANDBOX, encoding="utf-8")
    return open_curator(place / "attack.toml", analyst="attacker")


def _question(console: Console, clinic: Clinic, analyst: str, title: str, epsilon: float, sql: str) -> None:
    console.print(f"\n[bold]{title}[/]")
    console.print(f"[dim]{sql}[/]", soft_wrap=True)
    curator = open_curator(clinic.policy, analyst=analyst)
    console.print(_promise(curator.explain(sql, epsilon=epsilon)))
    console.print(_error_bars(curator.ask(sql, epsilon=epsilon), clinic.exact(sql)))


def _promise(found: Explanation) -> str:
    errors = dict.fromkeys(
        f"{error.measure} ± {error.each:,.0f}" + (" over the number of visits" if error.of == "total" else "")
        for error in found.errors
    )
    return (
        f"Promised before anything is read: costs ε = {found.epsilon:g}, {found.share:.0%} of the budget;"
        f" {', '.join(errors)} at {found.confidence:.0%}. Whether anybody is in the data: from even"
        f" odds to {_rounded_up(found.posterior):.1%} at most{rare_cases(found)}."
    )


def _rounded_up(share: float) -> float:
    """To a tenth of a percent, so that “at most” stays true."""
    return math.ceil(share * 1000) / 1000


def _error_bars(answer: Answer, exact: list[tuple[object, ...]]) -> Table:
    """Each number with its error bar, and where in it the exact number lies."""
    released = answer.released
    *keys, measure = released.columns
    truth = {row[:-1]: row[-1] for row in exact}
    table = Table(box=SIMPLE_HEAD)
    for key in keys:
        table.add_column(key)
    table.add_column(measure, justify="right")
    table.add_column("error bar, ▲ the exact number", justify="center")
    table.add_column("exact", justify="right", style="dim")
    for i, row in enumerate(answer.rows()):
        group, value = tuple(row[name] for name in keys), row[measure]
        reach, real = (float(released.low[measure][i]), float(released.high[measure][i])), truth.get(group)
        if not isinstance(value, int | float) or not isinstance(real, int | float):
            continue
        half = (reach[1] - reach[0]) / 2
        digits = 0 if half >= 10 else 1 if half >= 0.5 else 2
        table.add_row(
            *(str(part) for part in group),
            f"{value:,.{digits}f} ± {half:,.{digits}f}",
            _bar(value, reach, real),
            f"{real:,.{digits}f}",
        )
    return table


def _bar(value: float, reach: tuple[float, float], real: float) -> str:
    """The interval from end to end; the exact number may lie a little outside, one time in twenty."""
    width = 2 * _HALF + 1
    signs = ["├", *"─" * (width - 2), "┤"]

    def at(x: float) -> int:
        return round((x - reach[0]) / (reach[1] - reach[0]) * (width - 1))

    signs[max(1, min(width - 2, at(value)))] = "●"
    place = at(real)
    signs = [" ", *signs, " "]
    signs[max(0, min(width + 1, place + 1))] = "▲"
    return "".join(signs)


def _budget(console: Console, clinic: Clinic) -> None:
    _title(console, "3. A budget that cannot be overdrawn")
    draw_budget(console, standing_of(clinic.policy), datetime.now(UTC))
    ana, sql = open_curator(clinic.policy, analyst="ana"), QUESTIONS[0][-1]
    again = ana.ask(sql, epsilon=QUESTIONS[0][2])
    console.print(
        f"The first question once more: {'the same answer, free' if again.repeated else 'another answer'}."
        " Nobody can average the noise away."
    )
    try:
        ana.ask(sql, epsilon=1.5)
    except BudgetExceeded as refusal:
        console.print(f"And at ε = 1.5: [red]refused[/]. {refusal.problem}")
        console.print("No row was read for that, and nothing was spent.")


def _farewell(console: Console, clinic: Clinic) -> None:
    _title(console, "Yours to play with")
    question = '"SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis" --epsilon 0.2'
    commands = [
        f"cd {shlex.quote(str(clinic.folder))}",
        "discreet check",
        f"discreet explain {question}",
        f"discreet ask {question}",
        "discreet budget",
        "discreet ledger verify",
        "discreet choose --epsilon 2",
        "discreet audit",
    ]
    if shutil.which("discreet") is None and sys.prefix != sys.base_prefix:
        commands.insert(0, f". {shlex.quote(sys.prefix)}/bin/activate")
    for command in commands:
        console.print(f"  {command}", soft_wrap=True, markup=False)


def _title(console: Console, text: str) -> None:
    console.print()
    console.rule(f"[bold]{text}", align="left", style="dim")
    console.print()
