"""The `discreet` command. Each subcommand imports what it needs when it runs, so that help is quick."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import click

from discreet import __version__
from discreet.errors import BudgetExceeded, DiscreetError, EngineFailed, LedgerClosed, SelfTestFailed

EXIT_FAILED, EXIT_REFUSED, EXIT_OVER_BUDGET = 1, 2, 3


class _RefusingGroup(click.Group):
    """Turns our own errors into one clear line and an exit code, never a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows ? instead of failing
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            click.secho(error.problem, err=True, fg="red")
            click.echo(error.remedy, err=True)
            ctx.exit(_exit_code(error))


def _exit_code(error: DiscreetError) -> int:
    if isinstance(error, BudgetExceeded):
        return EXIT_OVER_BUDGET
    return EXIT_FAILED if isinstance(error, EngineFailed | LedgerClosed | SelfTestFailed) else EXIT_REFUSED


@click.group(cls=_RefusingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="discreet")
def main() -> None:
    """Learn from data about people without learning about any one of them.

    \b
    Examples:
      discreet demo                 a guided tour
      discreet init visits.parquet --person patient_id
      discreet check                is the policy right, and what can be asked?
      discreet explain "SELECT count(*) FROM visits" --epsilon 0.1
      discreet ask "SELECT count(*) FROM visits" --epsilon 0.1
      discreet budget
      discreet audit                check every privacy claim on this machine
      discreet audit --help         also for mechanisms of your own
    """


policy_option = click.option(
    "--policy",
    type=click.Path(path_type=Path),
    default="discreet.toml",
    show_default=True,
    help="The policy of the data.",
)


@main.command()
@click.argument("data")
@click.option(
    "--person", required=True, metavar="COLUMN", help="The column that identifies a person, or “row”."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="discreet.toml",
    show_default=True,
    help="Where to write the policy; an existing file is never overwritten.",
)
def init(data: str, person: str, out: Path) -> None:
    """Write the first draft of a policy from the schema of DATA.

    DATA is a Parquet or CSV file, a pattern of such files in quotes, or a table of a DuckDB file. No row is
    read, but for guessing the types of a CSV file. What only you can know is left for you to declare.

    \b
    Examples:
      discreet init visits.parquet --person patient_id
      discreet init "visits/*.csv" --person patient_id --out clinic.toml
      discreet init clinic.duckdb#visits --person patient_id
      discreet init survey.csv --person row
    """
    from discreet.apps.init_policy import write_policy

    write_policy(data, person=person, out=out)


@main.command()
@policy_option
def check(policy: Path) -> None:
    """Check a policy against its sources, and show what can be asked.

    No row is read and nothing is spent. Exits with 2 at the first mistake, and says what to write instead.

    \b
    Examples:
      discreet check
      discreet check --policy clinic.toml
    """
    from discreet.apps.check_view import check_policy

    check_policy(policy)


def _question_options(command: Callable[..., None]) -> Callable[..., None]:
    """What `ask` and `explain` share."""
    for option in reversed(
        (
            click.argument("sql"),
            click.option("--epsilon", type=float, help="Pay this ε (pure, or at the dataset's δ)."),
            click.option("--rho", type=float, help="Pay this ρ (zCDP); needs a budget with a δ."),
            click.option("--within", type=float, help="Be within ± this, in each cell, at the least price."),
            click.option(
                "--confidence", type=float, default=0.95, show_default=True, help="Of stated errors."
            ),
            click.option("--as", "analyst", metavar="NAME", help="Who asks; the system's user if not given."),
            policy_option,
        )
    ):
        command = option(command)
    return command


@main.command()
@_question_options
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
    output: str,
) -> None:
    """Ask a question in SQL, and pay for the answer.

    The charge is durable before any data is read. The same question at the same price is charged once.

    \b
    Examples:
      discreet ask "SELECT count(*) FROM visits" --epsilon 0.1
      discreet ask "SELECT ward, avg(cost) FROM visits GROUP BY ward" --epsilon 0.5
      discreet ask "SELECT count(*) FROM visits WHERE age > 65" --within 20 --format json
    """
    from discreet.apps.question_view import show_answer
    from discreet.apps.session import open_curator

    curator = open_curator(policy, analyst=analyst)
    show_answer(curator.ask(sql, epsilon=epsilon, rho=rho, within=within, confidence=confidence), output)


@main.command()
@_question_options
@click.option("--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def explain(
    sql: str,
    epsilon: float | None,
    rho: float | None,
    within: float | None,
    confidence: float,
    analyst: str | None,
    policy: Path,
    output: str,
) -> None:
    """Show what a question would cost and how accurate it would be. Reads no data, spends nothing.

    \b
    Examples:
      discreet explain "SELECT ward, count(*) FROM visits GROUP BY ward" --epsilon 0.1
      discreet explain "SELECT sum(cost) FROM visits" --within 5000
    """
    from discreet.apps.question_view import show_explanation
    from discreet.apps.session import open_curator

    curator = open_curator(policy, analyst=analyst)
    show_explanation(
        curator.explain(sql, epsilon=epsilon, rho=rho, within=within, confidence=confidence), output
    )


@main.command()
@policy_option
@click.option("--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def budget(policy: Path, output: str) -> None:
    """Show what is spent, by whom, and what is left.

    \b
    Examples:
      discreet budget
      discreet budget --policy clinic.toml --format json
    """
    from discreet.apps.question_view import show_budget
    from discreet.apps.session import open_curator

    show_budget(open_curator(policy).budget(), output)


@main.command()
@click.option("--thorough", is_flag=True, help="Ten times as many samples (some minutes).")
@click.option("--only", default="", metavar="TEXT", help="Only checks whose name contains this.")
@click.option("--mechanism", metavar="FILE.py:NAME", help="Audit your own function of one argument instead.")
@click.option("--first", metavar="JSON", help="With --mechanism: its input on one data set …")
@click.option("--second", metavar="JSON", help="… and on a neighbouring one.")
@click.option("--epsilon", type=float, help="With --mechanism: the ε that it claims.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="… and the δ.")
@click.option("--runs", type=int, default=20_000, show_default=True, help="… and how often to run it.")
@click.option("--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def audit(
    ctx: click.Context,
    thorough: bool,
    only: str,
    mechanism: str | None,
    first: str | None,
    second: str | None,
    epsilon: float | None,
    delta: float,
    runs: int,
    output: str,
) -> None:
    """Check privacy claims: ours, or those of a mechanism of your own.

    Every mechanism is checked on neighbours that are worst for it: what one person can change, the
    samplers word by word, the law, the draws against the law, and the draws alone. Exits with 1 if any
    claim fails; by chance that happens less than once in twenty thousand audits. Takes about a minute.

    \b
    Examples:
      discreet audit
      discreet audit --only gaussian --thorough
      discreet audit --format json > audit.json
      discreet audit --mechanism mine.py:noisy_count --first 10 --second 11 --epsilon 1
    """
    from discreet.apps.audit_view import audit_ours, audit_yours

    own = (first, second, epsilon)
    if mechanism is None:
        if any(option is not None for option in own):
            raise click.UsageError("--first, --second and --epsilon are for --mechanism, which is missing.")
        holds = audit_ours(thorough=thorough, only=only, output=output)
    else:
        if first is None or second is None or epsilon is None:
            raise click.UsageError("--mechanism needs --first, --second and --epsilon too.")
        if only or thorough:
            raise click.UsageError("--only and --thorough are for discreet's own checks; use --runs.")
        holds = audit_yours(mechanism, first, second, epsilon=epsilon, delta=delta, runs=runs, output=output)
    ctx.exit(0 if holds else EXIT_FAILED)


@main.command()
def demo() -> None:
    """A guided tour: an attack on exact counts, and what is left of it on private ones.

    \b
    Example:
      discreet demo
    """
    from discreet.apps.demo import run_demo

    run_demo()
