"""The commands of local privacy: surveys whose answers are randomised before they leave a device."""

from collections.abc import Callable
from pathlib import Path

import click

from discreet.apps.commands.options import table_or_json

_FILE = click.Path(path_type=Path)
survey_argument = click.argument("survey", type=_FILE)
key_option = click.option(
    "--key", required=True, metavar="HEX", help="The public key of whoever made the survey, in hex."
)


@click.group()
def local() -> None:
    """Surveys without trust: answers are randomised on people's devices, and only then collected.

    Anybody may see all that is collected, and still learns little about any one person. The price is error:
    “discreet local compare” shows how much, before you choose this way.

    \b
    Examples:
      discreet local compare --people 100000 --options 2 --epsilon 1
      discreet local new survey.toml --template
      discreet local new survey.toml
      discreet local collect survey.json --key HEX --folder reports
      discreet local answer survey.json --key HEX --memory device --limit 5 smokes=no --to http://localhost:8000
      discreet local estimate survey.json --key HEX reports
    """


@local.command()
@click.argument("source", type=_FILE)
@click.option("--template", is_flag=True, help="Write SOURCE as a commented example to begin with.")
@click.option(
    "--output",
    type=_FILE,
    help="The signed survey; SOURCE with .json if not given. Another survey there is never overwritten.",
)
@click.option(
    "--signing-key",
    type=_FILE,
    help="The owner's secret key (PEM); SOURCE with .key if not given. Made if there is none.",
)
def new(source: Path, template: bool, output: Path | None, signing_key: Path | None) -> None:
    """Make the signed file of a survey from SOURCE, a small TOML file of questions.

    Shows for each question which mechanism is best, how long a report is, and the error to expect.

    \b
    Examples:
      discreet local new survey.toml --template
      discreet local new survey.toml
      discreet local new survey.toml --output epoch-2.json --signing-key survey.key
    """
    from discreet.apps.views.survey import make_survey, write_template

    if template:
        write_template(source)
        return
    make_survey(
        source,
        output=output or source.with_suffix(".json"),
        key_file=signing_key or source.with_suffix(".key"),
    )


@local.command()
@survey_argument
@click.option("--key", metavar="HEX", help="Check the signature with this public key, in hex.")
def show(survey: Path, key: str | None) -> None:
    """Show what a SURVEY asks, at which ε, and how well it will know the answers.

    \b
    Examples:
      discreet local show survey.json --key 4f1c…
      discreet local show survey.json
    """
    from discreet.apps.views.survey import show_survey

    show_survey(survey, key)


@local.command()
@survey_argument
@click.argument("answers", nargs=-1, required=True, metavar="QUESTION=ANSWER...")
@key_option
@click.option(
    "--memory",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="What this device has reported and given away so far. Without it, it does not answer.",
)
@click.option("--limit", type=float, help="On first use: the ε that this device may ever give away.")
@click.option("--to", metavar="URL", help="Send the reports to the collector there.")
@click.option("--output", type=_FILE, metavar="FILE", help="Write the reports to this file.")
def answer(
    survey: Path,
    answers: tuple[str, ...],
    key: str,
    memory: Path,
    limit: float | None,
    to: str | None,
    output: Path | None,
) -> None:
    """Answer questions of a SURVEY for one device: randomised once, remembered, and repeated.

    \b
    Examples:
      discreet local answer survey.json --key 4f1c… --memory device --limit 5 smokes=no --to http://localhost:8000
      discreet local answer survey.json --key 4f1c… --memory device smokes=no sleep=7.5 --output batch
    """
    from discreet.apps.views.local_answer import answer_survey

    if to is None and output is None:
        raise click.UsageError("Give --to URL to send the reports, or --output FILE to keep them.")
    answer_survey(survey, key, answers, memory=memory, limit=limit, output=output, to=to)


def _collect_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option("--folder", type=_FILE, required=True, help="Where reports are kept."),
            click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at."),
            click.option("--port", type=int, default=8000, show_default=True, help="0 takes a free one."),
            click.option(
                "--cap",
                type=int,
                default=10_000_000,
                show_default=True,
                help="Reports to take for each question: what a flood sends beyond is rejected.",
            ),
            click.option(
                "--minimum", type=int, default=100, show_default=True, help="Estimate no fewer reports."
            ),
            click.option("--show-estimates", is_flag=True, help="Show everybody the estimates so far."),
            click.option(
                "--demo", is_flag=True, help="Tell visitors of the page that this is a demonstration."
            ),
        )
    ):
        command = option(command)
    return command


@local.command()
@survey_argument
@key_option
@_collect_options
def collect(
    survey: Path,
    key: str,
    folder: Path,
    host: str,
    port: int,
    cap: int,
    minimum: int,
    show_estimates: bool,
    demo: bool,
) -> None:
    """Collect reports about a SURVEY over HTTP, and serve its page, until Ctrl-C.

    What is acknowledged is on the disk, and what is sent twice counts once. No sender and no time is kept or
    logged. For the internet, put a proxy that speaks HTTPS and keeps no log in front of it.

    \b
    Examples:
      discreet local collect survey.json --key 4f1c… --folder reports
      discreet local collect survey.json --key 4f1c… --folder reports --port 8080 --show-estimates
    """
    from discreet.apps.views.local_collect import collect as run_collector
    from discreet.local.collector.service import Settings

    settings = Settings(minimum=minimum, show_estimates=show_estimates, demo=demo)
    run_collector(survey, key, folder=folder, host=host, port=port, cap=cap, settings=settings)


@local.command()
@click.argument("folder", type=_FILE)
@click.option("--output", type=_FILE, required=True, metavar="FILE", help="Where to write the counts.")
def counts(folder: Path, output: Path) -> None:
    """Write what the collector in FOLDER has counted so far, to be added to others' counts elsewhere.

    \b
    Examples:
      discreet local counts reports --output north.counts
    """
    from discreet.apps.views.local_collect import export_counts

    export_counts(folder, output)


@local.command()
@survey_argument
@click.argument("sources", nargs=-1, type=_FILE, metavar="[FOLDER_OR_COUNTS]...")
@key_option
@click.option(
    "--reports",
    metavar="FILE",
    help="Reports at rest: Parquet, CSV or FILE.duckdb#TABLE, with the columns question and report.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of stated errors.")
@click.option("--minimum", type=int, default=100, show_default=True, help="Estimate no fewer reports.")
@click.option("--plot", type=_FILE, metavar="FILE.svg", help="Write the estimates as SVG too.")
@table_or_json
def estimate(
    survey: Path,
    sources: tuple[Path, ...],
    key: str,
    reports: str | None,
    confidence: float,
    minimum: int,
    plot: Path | None,
    output: str,
) -> None:
    """Estimate the answers to a SURVEY from folders of collectors, files of counts, or reports at rest.

    Several are added up. A folder may be read while its collector goes on.

    \b
    Examples:
      discreet local estimate survey.json --key 4f1c… reports
      discreet local estimate survey.json --key 4f1c… north.counts south.counts --plot shares.svg
      discreet local estimate survey.json --key 4f1c… --reports reports.parquet --format json
    """
    from discreet.apps.views.local_estimate import show_estimates

    show_estimates(
        survey,
        key,
        sources,
        reports=reports,
        confidence=confidence,
        minimum=minimum,
        plot=plot,
        output=output,
    )


@local.command()
@click.option("--people", "--n", "people", type=int, required=True, help="How many people answer.")
@click.option(
    "--options",
    "--k",
    "options",
    type=int,
    required=True,
    help="How many options the question has; 2 for yes or no.",
)
@click.option("--epsilon", type=float, required=True, help="What answering once may give away.")
@click.option(
    "--delta", type=float, help="The δ of a trusted shuffler; a tenth of one over the people if not given."
)
def compare(people: int, options: int, epsilon: float, delta: float | None) -> None:
    """Compare the error of local privacy with that of a trusted shuffler, and of a trusted curator.

    No data is needed. Look at it before you choose to collect this way.

    \b
    Examples:
      discreet local compare --people 100000 --options 2 --epsilon 1
      discreet local compare --people 1000000 --options 10000 --epsilon 2 --delta 1e-8
    """
    from discreet.apps.views.local_compare import show_comparison
    from discreet.apps.views.survey import console

    show_comparison(console(), people=people, options=options, epsilon=epsilon, delta=delta)
