"""The `discreet` command. Each subcommand imports what it needs when it runs, so that help is quick."""

import io
import sys

import click

from discreet import __version__
from discreet.errors import DiscreetError

EXIT_FAILED, EXIT_REFUSED = 1, 2


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
            ctx.exit(EXIT_REFUSED)


@click.group(cls=_RefusingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="discreet")
def main() -> None:
    """Learn from data about people without learning about any one of them.

    \b
    Examples:
      discreet demo                 a guided tour
      discreet audit                check every privacy claim on this machine
      discreet audit --help         also for mechanisms of your own
    """


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
