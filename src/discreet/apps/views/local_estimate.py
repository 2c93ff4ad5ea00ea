"""What collected reports say: tables with bars, JSON, or a drawing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.apps.views.bars import axis_of, bar
from discreet.apps.views.escape import shown, write_json
from discreet.apps.views.local_plot import estimates_as_svg
from discreet.apps.views.survey import console, open_survey
from discreet.errors import InvalidInput
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.counts import SurveyCounts, check_survey, merge, read_counts
from discreet.local.collector.estimates_json import estimates_as_json, largest_options, option_name
from discreet.local.collector.report_files import tally_file
from discreet.local.collector.store import counts_of_folder
from discreet.local.estimate import Mean, Shares, SurveyEstimate, estimate
from discreet.local.survey import Survey
from discreet.model.exact import positive_count

_BAR = 32


def show_estimates(
    path: Path,
    key: str,
    sources: Sequence[Path],
    *,
    reports: str | None,
    confidence: float,
    minimum: int,
    plot: Path | None,
    output: str,
) -> None:
    survey, _ = open_survey(path, key)
    positive_count(minimum, "minimum")
    counts, rejected = _gathered(survey, sources, reports)
    enough = {
        question.name: estimate(question, tally, confidence=confidence)
        for question, tally in zip(survey.questions, counts.tallies, strict=True)
        if question.mechanism.reports_in(tally) >= minimum
    }
    if plot is not None:
        _write(plot, estimates_as_svg(f"{survey.name}, epoch {survey.epoch}", list(enough.values())))
    if output == "json":
        found = estimates_as_json(
            survey, counts.tallies, minimum=minimum, confidence=confidence, every_option=True
        )
        content = {"survey": survey.name, "epoch": survey.epoch, "questions": found, "rejected": rejected}
        write_json(content)
        return
    _show(survey, counts, enough, minimum)
    if rejected:
        listed = ", ".join(f"{reason.value} {count:,}" for reason, count in rejected.items())
        console().print(f"Rejected: {listed}.")
    if plot is not None:
        console().print(f"Wrote {plot}.", markup=False)


def _gathered(
    survey: Survey, sources: Sequence[Path], reports: str | None
) -> tuple[SurveyCounts, Counter[Reason]]:
    """All counts added up, and how many reports were rejected. Files of counts do not say how many."""
    found: list[SurveyCounts] = []
    rejected: Counter[Reason] = Counter()
    for source in sources:
        if source.is_dir():
            _, counts, reasons = counts_of_folder(source)
            rejected.update(reasons)
        else:
            counts = read_counts(source)
        found.append(counts)
    if reports is not None:
        at_rest = tally_file(survey, reports)
        found.append(at_rest.counts)
        rejected.update(at_rest.dropped)
    if not found:
        raise InvalidInput(
            "There is nothing to estimate from.",
            remedy="Name the folders of collectors, files of counts, or --reports FILE.",
        )
    for counts in found:
        check_survey(counts, survey)
    return reduce(merge, found), +rejected


def _show(survey: Survey, counts: SurveyCounts, found: Mapping[str, SurveyEstimate], minimum: int) -> None:
    view = console()
    view.print(f"Survey [bold]{shown(survey.name)}[/], epoch {survey.epoch}")
    for question, tally in zip(survey.questions, counts.tallies, strict=True):
        reports = question.mechanism.reports_in(tally)
        view.print(f"\n[bold]{shown(question.name)}[/]  {shown(question.text)}  ({reports:,} reports)")
        estimated = found.get(question.name)
        if estimated is None:
            view.print(f"  Too few for an estimate: {minimum:,} are needed.")
        elif isinstance(estimated, Mean):
            view.print(f"  mean {estimated.mean:.4g} ± {estimated.error:.2g}")
        else:
            _show_shares(view, estimated)
    if found:
        level = next(iter(found.values())).confidence
        view.print(
            f"\n± holds for {100 * float(level):.4g} % of estimates, each on its own.", highlight=False
        )
    if any(isinstance(estimated, Shares) for estimated in found.values()):
        view.print("Shares are unbiased, so that some may be below 0: read one option by its share and ±.")
        view.print(
            "The distribution is the nearest one with no share below 0: closer for all options together,"
        )
        view.print("but frequent options are pulled towards the others.")


def _show_shares(view: Console, found: Shares) -> None:
    largest = largest_options(found)
    cells = [_cell(found, option) for option in largest]
    axis = axis_of(cells, _BAR)
    table = Table(box=SIMPLE_HEAD)
    for column in ("option", "share", "±", "distribution", ""):
        table.add_column(column, justify="right" if column in ("share", "±", "distribution") else "left")
    for option, cell in zip(largest, cells, strict=True):
        table.add_row(
            shown(option_name(found.question, option)),
            f"{100 * found.shares[option]:.2f} %",
            f"{100 * found.errors[option]:.2f}",
            f"{100 * found.distribution[option]:.2f} %",
            "" if axis is None else bar(axis, *cell),
        )
    view.print(table)
    if len(largest) < len(found.shares):
        others = len(found.shares) - len(largest)
        view.print(f"  Those that came out largest; {others:,} others are not shown. As they were picked for")
        view.print("  being large, most are smaller than they look.")


def _cell(found: Shares, option: int) -> tuple[float, float, float]:
    share, error = float(found.shares[option]), float(found.errors[option])
    return share, share - error, share + error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.", remedy="Give --plot.") from None
