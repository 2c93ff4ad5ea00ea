"""A report as one page of HTML: it needs no other file, runs no script, and is readable on light and on dark.

All text is escaped: titles and keys are whatever somebody wrote.
"""

from html import escape
from typing import TYPE_CHECKING

from discreet.answers.html import html_answer
from discreet.answers.wording import key_text

if TYPE_CHECKING:
    from discreet.answers.report.report import Report

_MOST_ROWS = 200

_HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
    '<meta name="color-scheme" content="light dark">'
)
_STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;
overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .5rem}
.discreet-report h2{font-size:1.15rem;line-height:1.3;margin:0 0 .6rem}
.discreet-report section{margin:0 0 2.2rem}
.discreet-report details{margin:.5rem 0 0;font-size:.92em}
.discreet-report summary{cursor:pointer;opacity:.8}
.discreet-report pre{margin:.4rem 0 0;padding:.6rem .8rem;overflow-x:auto;border-radius:4px;
background:rgba(127,127,127,.14);font-size:.92em}
.discreet-report footer{border-top:1px solid rgba(127,127,127,.5);padding-top:.8rem;font-size:.92em}
.discreet-report footer p{margin:0 0 .3rem}
nav ol{margin:0 0 2rem;padding-left:1.4rem}
"""


def report_page(report: "Report") -> str:
    """A whole page, with a list of the questions above them."""
    title = f"Report on {key_text(report.receipt.dataset)}"
    made = f"{report.receipt.at:%Y-%m-%d %H:%M} UTC, version {report.receipt.version} of the data"
    listed = "".join(
        f'<li><a href="#question-{i}">{escape(key_text(each))}</a></li>'
        for i, each in enumerate(report.titles, 1)
    )
    nav = f"<nav><ol>{listed}</ol></nav>" if len(report) > 1 else ""
    return (
        f"{_HEAD}<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1><p>{escape(made)}</p>{nav}<main>{_sections(report)}</main></body></html>\n"
    )


def report_html(report: "Report") -> str:
    """For notebooks: a piece of a page."""
    return f"<style>{_STYLE.partition('h1')[2].partition('}')[2]}</style>{_sections(report)}"


def _sections(report: "Report") -> str:
    lines = [report.paid(), *report.shared_notes()]
    below = "".join(f"<p>{escape(key_text(line))}</p>" for line in lines)
    sections = "".join(_section(report, number) for number in range(len(report)))
    return f'<div class="discreet-report">{sections}<footer>{below}</footer></div>'


def _section(report: "Report", number: int) -> str:
    table = html_answer(report.answers[number].released, report.notes_of(number), rows=_MOST_ROWS, bars=True)
    sql = "\n".join(key_text(line) for line in report.questions[number].sql.splitlines())
    return (
        f'<section id="question-{number + 1}"><h2>{escape(key_text(report.headings[number]))}</h2>{table}'
        f"<details><summary>SQL</summary><pre>{escape(sql)}</pre></details></section>"
    )
