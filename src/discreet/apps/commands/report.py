"""The command that asks many questions for one price."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from discreet.apps.commands.options import policy_option, purpose_option, table_or_json
from discreet.apps.commands.questions import QuestionOptions, text_of_file
from discreet.apps.commands.service_choice import ServiceOptions, chosen_service, of_service

if TYPE_CHECKING:
    from discreet.answers.report.report import Report
    from discreet.client.remote_curator import RemoteCurator
    from discreet.curator import Curator


@click.command()
@click.argument("questions", metavar="FILE")
@click.option("--epsilon", type=float, help="Pay this ε for all questions (pure, or at the dataset's δ).")
@click.option("--rho", type=float, help="Pay this ρ (zCDP); needs a budget with a δ.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of stated errors.")
@click.option("--explain", "only_explain", is_flag=True, help="Show price and errors; spend nothing.")
@click.option(
    "--out",
    type=click.Path(path_type=str),
    metavar="PATH",
    help="Write a page (report.html), JSON (report.json), or a folder of CSV files (tables/).",
)
@click.option("--as", "analyst", metavar="NAME", help="Who asks; the system's user if not given.")
@purpose_option
@policy_option
@of_service
@table_or_json
def report(
    questions: str,
    epsilon: float | None,
    rho: float | None,
    confidence: float,
    only_explain: bool,
    out: str | None,
    analyst: str | None,
    purpose: str | None,
    policy: Path,
    output: str,
    **service: Unpack[ServiceOptions],
) -> None:
    """Ask all questions of a FILE at once, for one price.

    The file has one SELECT or more, with a semicolon after each. The comment before a SELECT is its title.
    What several questions need is paid once. There is one charge, and the same report is charged once.
    With --server, or after `discreet login`, a service is asked instead of data on this machine.

    \b
    Examples:
      discreet report questions.sql --epsilon 1 --explain
      discreet report questions.sql --epsilon 1
      discreet report questions.sql --epsilon 1 --out report.html
      discreet report questions.sql --epsilon 1 --out tables/
      cat questions.sql | discreet report - --epsilon 1
      discreet report questions.sql --epsilon 1 --server https://curator.example
    """
    from discreet.apps.views.report import show_report, show_report_explanation
    from discreet.question.report.statements import statements_in

    if only_explain and out is not None:
        raise click.UsageError("--explain shows what would be paid for, and --out writes what was: give one.")
    if out is not None:
        _check_out(out)
    if questions == "-":
        texts = statements_in(sys.stdin.read(), "the standard input")
    else:
        texts = statements_in(text_of_file(questions), questions)
    terms = QuestionOptions(epsilon=epsilon, rho=rho, within=None, confidence=confidence)
    with _opened(policy, service, analyst, progress=not only_explain) as curator:
        if only_explain:
            show_report_explanation(curator.explain(texts, **terms), output)
            return
        found = curator.ask(texts, purpose=purpose or "", **terms)
    if out is None:
        show_report(found, output)
    else:
        _write(found, out)


def _opened(
    policy: Path, service: ServiceOptions, analyst: str | None, *, progress: bool
) -> "Curator | RemoteCurator":
    remote = chosen_service(service, analyst=analyst)
    if remote is not None:
        return remote
    from discreet.curator.open_policy import note, open_curator

    return open_curator(policy, analyst=analyst, progress=progress, warn=note)


def _is_folder(out: str) -> bool:
    return out.endswith("/") or Path(out).is_dir() or not Path(out).suffix


def _check_out(out: str) -> None:
    """Refuse what cannot be written to, before anything is charged."""
    path = Path(out)
    if not _is_folder(out) and path.suffix not in (".html", ".json"):
        raise click.UsageError(
            f"A report cannot be written as {path.suffix}."
            " Give a page (report.html), JSON (report.json), or a folder for CSV files (tables/)."
        )
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"There is no folder {path.absolute().parent}. Make it first.")
    if _is_folder(out) and path.exists() and not path.is_dir():
        raise click.UsageError(f"{out} is a file. Give another folder for CSV files.")


def _write(found: "Report", out: str) -> None:
    try:
        if _is_folder(out):
            written = f"{len(found.to_csv(out))} files in {out}"
        else:
            (found.to_html if out.endswith(".html") else found.to_json)(out)
            written = out
    except OSError as error:
        raise click.ClickException(
            f"{out} could not be written: {error.strerror or 'it failed'}."
            " Make room for it, and run the same again: it was paid for, and is free."
        ) from None
    click.echo(f"Wrote {written}. {found.answers[0].price()}")
