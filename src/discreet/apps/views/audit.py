"""Audits on the terminal: a progress bar while they run, then tables, or JSON."""

import importlib.util
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from discreet.answers.wording import MISSING
from discreet.apps.views.escape import write_json
from discreet.audit.own_mechanism import OwnAudit, audit_mechanism
from discreet.audit.report import Check, Finding, planned_checks
from discreet.errors import InvalidInput


def audit_ours(*, thorough: bool, only: str, output: str) -> bool:
    """Run every registered check; whether all claims hold."""
    checks = planned_checks(thorough=thorough, only=only)
    if not checks:
        raise InvalidInput(
            f"No check has “{only}” in its name.", remedy="`discreet audit` without --only lists them all."
        )
    findings = _run(checks)
    failed = [finding for finding in findings if not finding.holds]
    if output == "json":
        rows = [asdict(finding) for finding in findings]
        write_json({"holds": not failed, "findings": rows}, indent=2)
    else:
        _show_tables(findings)
    return not failed


def audit_yours(
    target: str, first: str, second: str, *, epsilon: float, delta: float, runs: int, output: str
) -> bool:
    """Audit a function from a file; whether its claim survives."""
    function = _load(target)
    inputs = [_parse(text, option) for text, option in ((first, "--first"), (second, "--second"))]
    with _progress() as progress:
        task = progress.add_task("running it", total=2 * runs)
        found = audit_mechanism(
            _guarded(function, target),
            *inputs,
            epsilon=epsilon,
            delta=delta,
            runs=runs,
            advance=lambda: progress.advance(task),
        )
    if output == "json":
        row = {"holds": found.holds, **asdict(found)}
        write_json(row, indent=2)
    else:
        _show_own(target, found)
    return found.holds


def _run(checks: list[Check]) -> list[Finding]:
    findings: list[Finding] = []
    with _progress() as progress:
        task = progress.add_task("checking", total=len(checks))
        for check in checks:
            progress.update(task, description=check.name)
            findings += check.run()
            progress.advance(task)
    return findings


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def _show_tables(findings: list[Finding]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has room for every column
    groups = defaultdict(list)
    for finding in findings:
        groups[finding.layer].append(finding)
    if groups["sensitivity"]:
        console.print(_sensitivity_table(groups["sensitivity"]))
    if groups["sampler"]:
        console.print(_sampler_table(groups["sampler"]))
    if groups["law"] or groups["black box"]:
        console.print(_mechanism_table([*groups["law"], *groups["fit"], *groups["black box"]]))
    failed = [finding for finding in findings if not finding.holds]
    for finding in failed:
        console.print(
            f"[bold red]FAILS[/] {finding.subject} ({finding.layer}):"
            f" claimed {finding.claimed}, found {finding.found}"
        )
    if not failed:
        console.print(f"[green]All {len(findings)} checks hold.[/]")


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _sensitivity_table(findings: list[Finding]) -> Table:
    table = _table("What one person can change, enumerated", "", "claimed", "found")
    for finding in _by_family(table, findings):
        table.add_row(_case(finding, finding.holds), finding.claimed, finding.found)
    return table


def _sampler_table(findings: list[Finding]) -> Table:
    """One row a sampler, with its worst check; the JSON lists them all."""
    table = _table("Where each sampler changes its mind", "", "checks", "claimed", "worst")
    samplers: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        samplers[_family(finding), finding.claimed].append(finding)
    for (family, allowed), rows in samplers.items():
        worst = max(rows, key=lambda finding: float(finding.found))
        mark = _mark(all(finding.holds for finding in rows))
        table.add_row(f"{mark} {family}", str(len(rows)), allowed, worst.found)
    return table


def _mechanism_table(findings: list[Finding]) -> Table:
    """One row a subject, with what each layer found of it; not every subject is checked in all of them."""
    table = _table("Every mechanism on its worst neighbours", "", "claimed", "exact", "measured", "fit p")
    layers: dict[str, dict[str, Finding]] = defaultdict(dict)
    for finding in findings:
        layers[finding.subject][finding.layer] = finding
    for first in _by_family(table, [next(iter(found.values())) for found in layers.values()]):
        found = layers[first.subject]
        shown = [found[layer].found if layer in found else MISSING for layer in ("law", "black box", "fit")]
        table.add_row(_case(first, all(each.holds for each in found.values())), first.claimed, *shown)
    return table


def _by_family(table: Table, findings: list[Finding]) -> Iterator[Finding]:
    """The findings, with a heading in the table wherever another mechanism begins."""
    family = ""
    for finding in findings:
        if _family(finding) != family:
            family = _family(finding)
            table.add_row(f"[bold]{family}[/]")
        yield finding


def _family(finding: Finding) -> str:
    return finding.subject.split(":")[0]


def _case(finding: Finding, holds: bool) -> str:
    return f"{_mark(holds)} {finding.subject.split(':', 1)[1].strip()}"


def _show_own(target: str, found: OwnAudit) -> None:
    console = Console()
    verdict = "is not disproved" if found.holds else "is [bold red]wrong[/]"
    claim = f"ε = {float(found.claimed_epsilon):g}" + (f", δ = {float(found.delta):g}" if found.delta else "")
    console.print(f"{_mark(found.holds)} {target}: the claim of {claim} {verdict}.")
    console.print(f"  {found.runs:,} runs on each input show that ε ≥ {found.epsilon_at_least:.3f},")
    console.print(f"  by the event: {found.event}.")


def _mark(holds: bool) -> str:
    return "[green]✓[/]" if holds else "[bold red]✗[/]"


def _load(target: str) -> Callable[[object], object]:
    """The function that FILE.py:NAME points to."""
    path, _, name = target.rpartition(":")
    if not path or not Path(path).is_file():
        raise InvalidInput(
            f"There is no file for “{target}”.",
            remedy="Write it as FILE.py:NAME, such as mine.py:noisy_count.",
        )
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"“{path}” is not a Python file.", remedy="Give a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).parent))  # what it imports may lie beside it
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidInput(
            f"“{path}” cannot be loaded: {type(error).__name__}: {error}.",
            remedy="Mend it, then audit again.",
        ) from None
    function = getattr(module, name, None)
    if not callable(function):
        raise InvalidInput(f"“{path}” has no function “{name}”.", remedy="Check the name after the colon.")
    loaded: Callable[[object], object] = function
    return loaded


def _guarded(function: Callable[[object], object], target: str) -> Callable[[object], object]:
    """A mechanism that raises is a mistake in it, not a claim that failed."""

    def run(data: object) -> object:
        try:
            return function(data)
        except Exception as error:
            raise InvalidInput(
                f"{target} raised {type(error).__name__}: {error}.",
                remedy="It must take one argument and return a result for both inputs.",
            ) from None

    return run


def _parse(text: str, option: str) -> object:
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError:
        raise InvalidInput(
            f"{option} is not JSON.", remedy="Write numbers plainly, lists as '[1, 2]', text as '\"a\"'."
        ) from None
    return value
