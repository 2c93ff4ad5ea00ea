"""Reports on the terminal and as JSON."""

import sys

from rich.console import Console
from rich.markup import escape

from discreet.answers.report.report import Report
from discreet.answers.report.report_explanation import ReportExplanation
from discreet.answers.wording import key_text
from discreet.apps.views.answer import show_notes, show_rows
from discreet.apps.views.escape import shown, write_json
from discreet.apps.views.explain import error_table, private_keys
from discreet.release.explanation_json import report_explanation_json


def show_report(report: Report, output: str) -> None:
    if output == "json":
        sys.stdout.writelines(report.json_pieces())
        sys.stdout.write("\n")
        return
    console = Console(highlight=False, emoji=False)
    for number, heading in enumerate(report.headings):
        console.print(f"[bold]{shown(heading)}[/]")
        show_rows(report.answers[number].released, console, all_rows="--out FOLDER/")
        show_notes(report.notes_of(number), console)
        console.print()
    console.print(key_text(report.summary()), markup=False)
    show_notes(report.shared_notes(), console)


def show_report_explanation(found: ReportExplanation, output: str) -> None:
    if output == "json":
        write_json(report_explanation_json(found))
        return
    console = Console(highlight=False, emoji=False)
    console.print(found.price(), markup=False)
    for number, (title, each) in enumerate(zip(found.titles, found, strict=True), 1):
        numbered = title if title == f"Question {number}" else f"{number}. {title}"
        console.print(f"\n[bold]{shown(numbered)}[/]")
        if each.errors:
            console.print(error_table(each))
        if each.private_groups is not None:
            console.print(private_keys(each.private_groups))
    console.print()
    for note in found.notes():
        console.print(f"[dim]{escape(note)}[/]")
