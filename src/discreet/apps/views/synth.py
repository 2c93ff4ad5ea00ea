"""`discreet synth`: from the options of the command to files, and to what is said on the terminal."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.answers.answer import Answer
from discreet.answers.json_text import charge_json
from discreet.answers.wording import charge_text, epsilon_beside, number_text
from discreet.apps.views.escape import write_json
from discreet.curator import Curator
from discreet.curator.open_policy import note, open_curator
from discreet.engines.base.execution import Watch
from discreet.errors import InvalidInput
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.privacy import Spend
from discreet.question.plain_rows import select_of
from discreet.synth.plan.attributes import Bins
from discreet.synth.plan.explain import SynthesisExplanation
from discreet.synth.plan.synthesis_plan import Advance
from discreet.synth.plan.synthetic_table import SyntheticTable, checked_output

_REPORTS = (".html", ".json")


class _Prompt(TypedDict):
    sql: str
    epsilon: float | None
    rho: float | None
    bins: Bins
    workload: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthRequest:
    """The options of the command, as they were typed."""

    columns: str
    table: str | None
    where: str | None
    epsilon: float | None
    rho: float | None
    bins: str | None
    workload: Path | None
    rows: int | None
    output: Path | None
    report: Path | None
    check_epsilon: float | None

    def question(self, private: Sequence[str]) -> "_Prompt":
        """What the curator is asked, of the only private table or the one that was named."""
        names = [name.strip() for name in self.columns.split(",") if name.strip()]
        return _Prompt(
            sql=select_of(names, self.table or _only(private), self.where),
            epsilon=self.epsilon,
            rho=self.rho,
            bins=self._bins(),
            workload=self._questions(),
        )

    def _questions(self) -> list[str]:
        """The lines of the workload's file, without empty ones and comments."""
        if self.workload is None:
            return []
        try:
            lines = self.workload.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(
                f"“{self.workload}” cannot be read.", remedy="Give a text file, one question a line."
            ) from None
        questions = [line.strip() for line in lines if line.strip() and not line.strip().startswith("--")]
        if not questions:
            raise InvalidInput(
                f"There is no question in “{self.workload}”.", remedy="Write one a line, or leave it out."
            )
        return questions

    def _bins(self) -> Bins:
        if self.bins is None:
            return None
        if self.bins.strip().isdecimal():
            return int(self.bins)
        pairs = [part.partition("=") for part in self.bins.split(",")]
        if not all(count.strip().isdecimal() for _, _, count in pairs):
            raise InvalidInput(
                "--bins is a number, or a number for each of some columns.",
                remedy="Write --bins 32, or --bins cost=20,age=16.",
            )
        return {name.strip(): int(count) for name, _, count in pairs}


def make_synthetic(
    request: SynthRequest,
    policy: Path,
    *,
    analyst: str | None,
    only_explain: bool,
    as_json: bool,
    purpose: str = "",
) -> None:
    """Explain, or pay and write. Everything that can be refused is refused before anything is paid."""
    if not only_explain:
        check_files(request)
    with open_curator(policy, analyst=analyst, purpose=purpose, warn=note) as curator:
        question = request.question(_private_tables(curator.dataset))
        found = curator.explain_synthesis(**question)
        if request.check_epsilon is not None:  # refused now, if it is refused at all
            curator.plan_synthesis(**question | {"epsilon": request.check_epsilon, "rho": None})
        if only_explain:
            show_explanation(found, as_json=as_json)
            return
        if not as_json:
            show_warning(found)
        with _watching() as (curator.watch, advance):
            made = curator.synthesize(**question, advance=advance)
            len(made)  # fits the model, while progress is shown
        _write(made, request, curator)
        left = curator.budget().left_for(curator.analyst)
    show_made(made, request, left, rows=request.rows or len(made), as_json=as_json)


def check_files(request: SynthRequest) -> None:
    if request.output is None:
        raise InvalidInput(
            "Where shall the rows go?",
            remedy="Give --output FILE.parquet, or --explain to see price and error only.",
        )
    checked_output(request.output)
    if request.rows is not None and request.rows < 1:
        raise InvalidInput("--rows must be at least 1.", remedy="Leave it out for as many as there are.")
    report = request.report
    if report is None and request.check_epsilon is not None:
        raise InvalidInput("--check-epsilon is for a report.", remedy="Give --report FILE.html too.")
    if report is None:
        return
    if report.suffix not in _REPORTS or report.exists() or not report.parent.is_dir():
        raise InvalidInput(
            f"The report cannot be written to “{report}”.",
            remedy="Give the name of a new file that ends in .html or .json.",
        )


def _private_tables(dataset: Dataset) -> list[str]:
    return [name for name, table in dataset.tables.items() if isinstance(table, PrivateTable)]


def _only(private: Sequence[str]) -> str:
    if len(private) > 1:
        raise InvalidInput(
            "The policy has several tables about people.", remedy=f"Say which: --table {private[0]}."
        )
    return private[0]


def _write(made: SyntheticTable, request: SynthRequest, curator: Curator) -> None:
    if request.output is not None:
        made.rows(request.rows).write(request.output)
    if request.report is not None:
        paid = request.check_epsilon
        quality = made.quality() if paid is None else curator.check_synthetic(made, epsilon=paid)
        text = quality.to_html() if request.report.suffix == ".html" else json.dumps(quality.to_dict())
        request.report.write_text(text, encoding="utf-8")


def show_made(
    made: SyntheticTable | Answer, request: SynthRequest, left: Spend, *, rows: int, as_json: bool
) -> None:
    if as_json:
        facts = {
            "output": str(request.output),
            "report": None if request.report is None else str(request.report),
            "columns": list(made.columns),
            "rows": rows,
            "charged": charge_json(made.charged, free=made.repeated),
            "left": charge_json(left),
            "receipt": {"number": made.receipt.number, "repeated": made.repeated},
        }
        write_json(facts)
        return
    console = Console(highlight=False, emoji=False)
    console.print(f"{rows:,} rows of nobody are in {request.output}.", markup=False)
    if request.report is not None:
        console.print(f"How good they are is in {request.report}.", markup=False)
    console.print(made.price(), markup=False)
    if request.check_epsilon is not None:
        console.print(f"After the check with the data, {charge_text(left)} is left.", markup=False)


def show_explanation(found: SynthesisExplanation, *, as_json: bool) -> None:
    if as_json:
        write_json(found.to_dict())
        return
    console = Console(highlight=False, emoji=False)
    console.print(
        f"Costs [bold]{charge_text(found.loss)}[/]"
        + epsilon_beside(found.loss, found.epsilon)
        + f", {found.share:.1%} of the budget. Nothing has been spent."
    )
    console.print(f"{found.cells:,} different records are possible; {found.form}.")
    if found.questions:
        console.print(
            f"{found.questions:,} questions; those that come out badly are measured, each to"
            f" ± {number_text(found.question_error, found.question_error)} rows at 95 %, or closer."
        )
        return
    table = Table(box=SIMPLE_HEAD)
    for heading in ("columns", "tables", "noise of a count", *(f"n = {size:,}" for size in found.sizes)):
        table.add_column(heading, justify="right")
    for stage in found.stages:
        table.add_row(
            f"{stage.order}",
            f"{stage.tables:,}",
            f"± {number_text(stage.error, stage.error)}",
            *(f"{share:.1%}" if share < 1 else "drowned" for share in stage.shares),
        )
    console.print(table)
    console.print(
        "Noise at 95 % confidence; and how much of each table it moves, if there are n rows, before tables"
        " of fewer columns correct those of more."
    )
    show_warning(found)


def show_warning(found: SynthesisExplanation) -> None:
    if found.warning:
        Console(stderr=True, highlight=False).print(f"[yellow]{found.warning}[/]")


@contextmanager
def _watching() -> Iterator[tuple[Watch | None, Advance]]:
    """Shows what is being done and how long it will take, if the output is a terminal."""
    if not sys.stderr.isatty():
        yield None, lambda *_: None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Counting", total=None)

        def counting(share: float | None) -> None:
            bar.update(task, total=None if share is None else 1, completed=share or 0)

        def fitting(what: str, share: float) -> None:
            bar.update(task, description=what, total=1, completed=share)

        yield counting, fitting
