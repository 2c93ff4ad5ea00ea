"""The commands that ask: of data on this machine, or of a service."""

import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, Unpack

import click

from discreet.apps.commands.options import policy_option, purpose_option, table_or_json
from discreet.apps.commands.service_choice import ServiceOptions, chosen_service, of_service


class QuestionOptions(TypedDict):
    """The price or the accuracy of a question."""

    epsilon: float | None
    rho: float | None
    within: float | None
    confidence: float


def _text_of(_: click.Context, __: click.Parameter, given: str) -> str:
    """The question itself; that of standard input for “-”, and that of a file for “@FILE”."""
    if given == "-":
        return _without_end(sys.stdin.read())
    return _without_end(text_of_file(given[1:])) if given.startswith("@") else given


def text_of_file(name: str) -> str:
    """The text of a file, without a mark of its encoding."""
    try:
        return Path(name).read_text(encoding="utf-8").removeprefix("\ufeff")
    except FileNotFoundError:
        raise click.UsageError(f"There is no file {name}.{_nearest_file(Path(name))}") from None
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(f"{name} cannot be read as text in UTF-8.") from None


def _nearest_file(path: Path) -> str:
    """The file beside it that may be meant, as a question."""
    names = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f" Did you mean {path.parent / near[0]}?" if near else ""


def _without_end(text: str) -> str:
    """A file often ends with a semicolon."""
    return text.removeprefix("\ufeff").strip().removesuffix(";")


def _question_options(command: Callable[..., None]) -> Callable[..., None]:
    """What `ask` and `explain` share."""
    for option in reversed(
        (
            click.argument("sql", callback=_text_of),
            click.option("--epsilon", type=float, help="Pay this ε (pure, or at the dataset's δ)."),
            click.option("--rho", type=float, help="Pay this ρ (zCDP); needs a budget with a δ."),
            click.option("--within", type=float, help="Be within ± this, in each cell, at the least price."),
            click.option(
                "--confidence", type=float, default=0.95, show_default=True, help="Of stated errors."
            ),
            click.option("--as", "analyst", metavar="NAME", help="Who asks; the system's user if not given."),
            policy_option,
            of_service,
        )
    ):
        command = option(command)
    return command


@click.command()
@_question_options
@purpose_option
@click.option(
    "--format", "output", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True
)
def ask(
    sql: str,
    epsilon: float | None,
    rho: float | None,
    within: float | None,
    confidence: float,
    analyst: str | None,
    policy: Path,
    purpose: str | None,
    output: str,
    **service: Unpack[ServiceOptions],
) -> None:
    """Ask a question in SQL, and pay for the answer.

    The charge is durable before any data is read. The same question at the same price is charged once.
    With --server, or after `discreet login`, a service is asked instead of data on this machine.

    \b
    Examples:
      discreet ask "SELECT count(*) FROM visits" --epsilon 0.1
      discreet ask "SELECT ward, avg(cost) FROM visits GROUP BY ward" --epsilon 0.5
      discreet ask "SELECT count(*) FROM visits WHERE age > 65" --within 20 --format json
      discreet ask @wards.sql --epsilon 0.1        the question in a file
      cat wards.sql | discreet ask - --epsilon 0.1
      discreet ask "SELECT count(*) FROM visits" --epsilon 0.1 --server https://curator.example
    """
    from discreet.apps.views.answer import show_answer

    terms = QuestionOptions(epsilon=epsilon, rho=rho, within=within, confidence=confidence)
    remote = chosen_service(service, analyst=analyst)
    if remote is not None:
        answer = remote.ask(sql, **terms, purpose=purpose or "")
    else:
        from discreet.curator.open_policy import note, open_curator

        with open_curator(
            policy, analyst=analyst, purpose=purpose or "", progress=True, warn=note
        ) as curator:
            answer = curator.ask(sql, **terms)
    show_answer(answer, output)


@click.command()
@_question_options
@table_or_json
def explain(
    sql: str,
    epsilon: float | None,
    rho: float | None,
    within: float | None,
    confidence: float,
    analyst: str | None,
    policy: Path,
    output: str,
    **service: Unpack[ServiceOptions],
) -> None:
    """Show what a question would cost and how accurate it would be. Reads no data, spends nothing.

    \b
    Examples:
      discreet explain "SELECT ward, count(*) FROM visits GROUP BY ward" --epsilon 0.1
      discreet explain "SELECT sum(cost) FROM visits" --within 5000
    """
    from discreet.apps.views.explain import show_explanation

    terms = QuestionOptions(epsilon=epsilon, rho=rho, within=within, confidence=confidence)
    remote = chosen_service(service, analyst=analyst)
    if remote is not None:
        found = remote.explain(sql, **terms)
    else:
        from discreet.curator.open_policy import note, open_curator

        with open_curator(policy, analyst=analyst, warn=note) as curator:
            found = curator.explain(sql, **terms)
    show_explanation(found, output)
