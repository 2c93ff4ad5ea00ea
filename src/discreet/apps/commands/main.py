"""The `discreet` command. Each subcommand imports what it needs when it runs, so that help is quick."""

import io
import sys
from pathlib import Path
from typing import Any

import click

from discreet import __version__
from discreet.apps.commands.agent import mcp
from discreet.apps.commands.dummy import dummy
from discreet.apps.commands.local import local
from discreet.apps.commands.login import login, logout
from discreet.apps.commands.options import policy_option, purpose_option, table_or_json
from discreet.apps.commands.output import written_or_told
from discreet.apps.commands.owner import budget, data, ledger
from discreet.apps.commands.questions import ask, explain
from discreet.apps.commands.report import report
from discreet.apps.commands.service import account, log, serve
from discreet.apps.commands.synth import synth
from discreet.apps.commands.tables import completion, tables
from discreet.errors import (
    BudgetExceeded,
    CollectorClosed,
    DiscreetError,
    EngineFailed,
    LedgerClosed,
    SelfTestFailed,
    ServiceUnreachable,
    for_command_line,
)

EXIT_FAILED, EXIT_REFUSED, EXIT_OVER_BUDGET = 1, 2, 3


class _RefusingGroup(click.Group):
    """Turns our own errors into one clear line and an exit code, never a traceback."""

    def main(self, *args: Any, **settings: Any) -> Any:
        with written_or_told():
            return super().main(*args, **settings)

    def invoke(self, ctx: click.Context) -> object:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows ? instead of failing
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            click.secho(error.problem, err=True, fg="red")
            click.echo(for_command_line(error.remedy), err=True)
            ctx.exit(_exit_code(error))
        except KeyboardInterrupt:
            click.echo("\nStopped. What was charged stays, and asking again is charged anew.", err=True)
            raise


def _exit_code(error: DiscreetError) -> int:
    if isinstance(error, BudgetExceeded):
        return EXIT_OVER_BUDGET
    failed = EngineFailed | LedgerClosed | CollectorClosed | SelfTestFailed | ServiceUnreachable
    return EXIT_FAILED if isinstance(error, failed) else EXIT_REFUSED


@click.group(cls=_RefusingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="discreet")
def main() -> None:
    """Learn from data about people without learning about any one of them.

    \b
    Examples:
      discreet demo                 a guided tour, and a folder to play in
      discreet choose --epsilon 0.5
      discreet init visits.parquet --person patient_id
      discreet check                is the policy right, and what can be asked?
      discreet tables               what can be asked about
      discreet dummy try            made-up tables to try questions on
      discreet explain "SELECT count(*) FROM visits" --epsilon 0.1
      discreet ask "SELECT count(*) FROM visits" --epsilon 0.1
      discreet report questions.sql --epsilon 1 --out report.html
      discreet synth --columns ward,age --epsilon 1 --output synthetic.parquet
      discreet budget               what is spent, and how long the rest will last
      discreet ledger verify
      discreet login https://curator.example      ask a service instead
      discreet audit                check every privacy claim on this machine
      discreet audit --help         also for mechanisms of your own
      discreet local --help         surveys that need no trust
      discreet serve                let others ask over HTTP, with accounts and tokens
    """


@main.command()
@click.argument("data")
@click.option(
    "--person", required=True, metavar="COLUMN", help="The column that identifies a person, or “row”."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write the policy, instead of discreet.toml; an existing file is never overwritten.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    help="Add the table to this policy, instead of writing a new one. What is there stays as it is.",
)
@click.option("--table", metavar="NAME", help="What the table is called; as the file, if not given.")
def init(data: str, person: str, out: Path | None, policy: Path | None, table: str | None) -> None:
    """Write the first draft of a policy from the schema of DATA, or of one more table of a policy.

    DATA is a Parquet or CSV file, a pattern of such files in quotes, or a table of a DuckDB file. No row is
    read, but for guessing the types of a CSV file. What only you can know is left for you to declare.

    \b
    Examples:
      discreet init visits.parquet --person patient_id
      discreet init "visits/*.csv" --person patient_id --out clinic.toml
      discreet init clinic.duckdb#visits --person patient_id
      discreet init survey.csv --person row
      discreet init labs.csv --person patient_id --policy discreet.toml
    """
    from discreet.policy.draft import add_table, write_policy

    if policy is None:
        write_policy(data, person=person, out=out or Path("discreet.toml"), table=table)
    elif out is None:
        add_table(data, person=person, policy=policy, table=table)
    else:
        raise click.UsageError("Give --out to write a new policy, or --policy to add a table to one.")


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
    from discreet.apps.views.check import check_policy

    check_policy(policy)


@main.command()
@click.argument("column")
@click.option("--epsilon", type=float, required=True, help="Pay this ε (pure, or at the dataset's δ).")
@click.option("--as", "analyst", metavar="NAME", help="Who asks; the system's user if not given.")
@purpose_option
@policy_option
@table_or_json
def bounds(
    column: str, epsilon: float, analyst: str | None, purpose: str | None, policy: Path, output: str
) -> None:
    """Learn the bounds of a COLUMN privately, and pay for it.

    COLUMN is a column of numbers without bounds, as cost or as visits.cost. What is found are the powers of
    two between which nearly all of its values lie, to be declared in the policy. Values that few people have
    are left out: to look at the data for its largest value instead would give away whose it is.

    \b
    Examples:
      discreet bounds cost --epsilon 0.1
      discreet bounds visits.cost --epsilon 0.1 --policy clinic.toml
    """
    from discreet.apps.views.bounds import learn_bounds, show_bounds
    from discreet.curator.open_policy import note, open_curator

    with open_curator(policy, analyst=analyst, purpose=purpose or "", progress=True, warn=note) as curator:
        found = learn_bounds(curator, column, epsilon=epsilon)
    show_bounds(found, output)


@main.command()
@click.argument("table", required=False)
@click.option("--epsilon", type=float, required=True, help="Pay this ε (pure, or at the dataset's δ).")
@click.option("--as", "analyst", metavar="NAME", help="Who asks; the system's user if not given.")
@purpose_option
@policy_option
@table_or_json
def profile(
    table: str | None, epsilon: float, analyst: str | None, purpose: str | None, policy: Path, output: str
) -> None:
    """Find out how many rows and groups people have, privately, and pay for it once.

    It shows what limits such as max_rows leave out and what they cost in noise, and how many people have
    values beyond bounds. From then on, every question is asked with the limits that are best for it. All
    tables about people are profiled if no TABLE is named.

    \b
    Examples:
      discreet profile --epsilon 0.1
      discreet profile visits --epsilon 0.1 --policy clinic.toml
    """
    from discreet.apps.views.profile import show_profile, take_profile
    from discreet.curator.open_policy import note, open_curator

    with open_curator(policy, analyst=analyst, purpose=purpose or "", progress=True, warn=note) as curator:
        for found in take_profile(curator, table, epsilon=epsilon):
            show_profile(curator, found, output)


@main.command()
@click.option("--thorough", is_flag=True, help="Ten times as many samples (some minutes).")
@click.option("--only", default="", metavar="TEXT", help="Only checks whose name contains this.")
@click.option("--mechanism", metavar="FILE.py:NAME", help="Audit your own function of one argument instead.")
@click.option("--first", metavar="JSON", help="With --mechanism: its input on one data set …")
@click.option("--second", metavar="JSON", help="… and on a neighbouring one.")
@click.option("--epsilon", type=float, help="With --mechanism: the ε that it claims.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="… and the δ.")
@click.option("--runs", type=int, default=20_000, show_default=True, help="… and how often to run it.")
@table_or_json
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
    claim fails; by chance that happens less than once in ten thousand audits. Takes a minute or two.

    \b
    Examples:
      discreet audit
      discreet audit --only gaussian --thorough
      discreet audit --format json > audit.json
      discreet audit --mechanism mine.py:noisy_count --first 10 --second 11 --epsilon 1
    """
    from discreet.apps.views.audit import audit_ours, audit_yours

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
@click.option("--epsilon", type=float, help="Show what this ε means.")
@click.option("--posterior", type=float, help="Find the ε at which a suspicion rises to this at most.")
@click.option("--reward", type=float, help="Find the ε for which this reward makes up for --harm.")
@click.option("--harm", type=float, help="The harm that a person expects without taking part, as money.")
@click.option("--prior", type=float, default=0.5, show_default=True, help="The suspicion beforehand.")
@click.option(
    "--household", type=int, default=1, show_default=True, help="How many people to protect at once."
)
@click.option("--delta", type=float, help="The δ that goes with ε.")
@click.option("--people", type=int, help="How many people are in the data, to judge δ by.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Write the plot as SVG too."
)
@table_or_json
def choose(
    epsilon: float | None,
    posterior: float | None,
    reward: float | None,
    harm: float | None,
    prior: float,
    household: int,
    delta: float | None,
    people: int | None,
    plot: Path | None,
    output: str,
) -> None:
    """Choose ε by what it means for a person: in odds, in money, for a household.

    Give --epsilon to see what it means, or --posterior, or --reward with --harm, to find the ε to use. No
    data is needed.

    \b
    Examples:
      discreet choose --epsilon 0.5
      discreet choose --epsilon 0.5 --prior 0.1 --household 4 --delta 1e-6 --people 20000
      discreet choose --posterior 0.6 --prior 0.5
      discreet choose --reward 10 --harm 1000 --plot odds.svg
    """
    from discreet.apps.views.choose import Wish
    from discreet.apps.views.choose import choose as show_choice

    if sum(given is not None for given in (epsilon, posterior, reward)) != 1:
        raise click.UsageError("Give exactly one of --epsilon, --posterior and --reward.")
    if reward is not None and harm is None:
        raise click.UsageError("--reward needs --harm: how much harm the person expects without taking part.")
    wish = Wish(
        epsilon=epsilon,
        posterior=posterior,
        reward=reward,
        harm=harm,
        prior=prior,
        household=household,
        delta=delta,
        people=people,
    )
    show_choice(wish, plot=plot, output=output)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), default="discreet-demo")
def demo(folder: Path) -> None:
    """A guided tour, on a clinic that is made up on the spot: an attack, three questions, a budget.

    Writes data, a policy and a ledger into FOLDER (./discreet-demo if not given) and leaves them there to
    play with. A folder that exists is never touched.

    \b
    Examples:
      discreet demo
      discreet demo my-clinic
    """
    from discreet.apps.demo.tour import run_demo

    run_demo(folder)


for command in (
    ask,
    explain,
    report,
    tables,
    budget,
    ledger,
    data,
    synth,
    dummy,
    login,
    logout,
    mcp,
    local,
    serve,
    account,
    log,
    completion,
):
    main.add_command(command)
