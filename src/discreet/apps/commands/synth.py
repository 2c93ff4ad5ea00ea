"""The command that makes synthetic tables."""

from pathlib import Path
from typing import Unpack

import click

from discreet.apps.commands.options import policy_option, purpose_option
from discreet.apps.commands.service_choice import ServiceOptions, chosen_service, of_service


@click.command()
@click.option("--columns", required=True, metavar="A,B,C", help="The columns of the synthetic table.")
@click.option("--table", metavar="NAME", help="Of which table; if the policy has several about people.")
@click.option("--where", metavar="CONDITION", help="Only rows on which this holds, as in SQL.")
@click.option("--epsilon", type=float, help="Pay this ε (pure, or at the dataset's δ).")
@click.option("--rho", type=float, help="Pay this ρ (zCDP); needs a budget with a δ.")
@click.option("--bins", metavar="N|COLUMN=N,…", help="How many bins columns of numbers have; 64 if not told.")
@click.option(
    "--workload",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Questions that matter, one a line, if not all tables of up to three columns.",
)
@click.option("--rows", type=int, metavar="N", help="How many rows to draw; about as many as there are.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE", help="A new .parquet or .csv file."
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How good it is: a new .html or .json file.",
)
@click.option("--check-epsilon", type=float, help="Pay this ε too, to compare with the data in the report.")
@click.option("--explain", is_flag=True, help="Only show price and error. Reads no data, spends nothing.")
@click.option("--as", "analyst", metavar="NAME", help="Who asks; the system's user if not given.")
@policy_option
@of_service
@purpose_option
@click.option(
    "--format", "output_format", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def synth(
    columns: str,
    table: str | None,
    where: str | None,
    epsilon: float | None,
    rho: float | None,
    bins: str | None,
    workload: Path | None,
    rows: int | None,
    output: Path | None,
    report: Path | None,
    check_epsilon: float | None,
    explain: bool,
    analyst: str | None,
    policy: Path,
    purpose: str | None,
    output_format: str,
    **service: Unpack[ServiceOptions],
) -> None:
    """Make a synthetic table: rows of nobody, in which counts are nearly as in the real one.

    Which values a column can have comes from the policy alone: its keys, or bins between its bounds. The
    table is charged once. The same command again draws other rows, for free. With --server, or after
    `discreet login`, a service is asked instead of data on this machine.

    \b
    Examples:
      discreet synth --columns ward,age,cost --epsilon 1 --explain
      discreet synth --columns ward,age,cost --epsilon 1 --output visits-synthetic.parquet
      discreet synth --columns ward,age,cost --bins cost=20 --epsilon 1 --rows 1000 --output few.csv
      discreet synth --columns ward,age --epsilon 1 --output new.parquet --report how-good.html
      discreet synth --columns ward,age --epsilon 1 --workload questions.sql --output new.parquet
      discreet synth --columns ward,age --epsilon 1 --output new.csv --server https://curator.example
    """
    from discreet.apps.views.synth import SynthRequest, make_synthetic

    request = SynthRequest(
        columns=columns,
        table=table,
        where=where,
        epsilon=epsilon,
        rho=rho,
        bins=bins,
        workload=workload,
        rows=rows,
        output=output,
        report=report,
        check_epsilon=check_epsilon,
    )
    as_json = output_format == "json"
    remote = chosen_service(service, analyst=analyst)
    if remote is None:
        make_synthetic(
            request, policy, analyst=analyst, purpose=purpose or "", only_explain=explain, as_json=as_json
        )
        return
    from discreet.apps.views.remote_synth import make_remotely

    make_remotely(request, remote, purpose=purpose or "", only_explain=explain, as_json=as_json)
