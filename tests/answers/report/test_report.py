"""A report as it is shown and written: to a prompt, as a page, as CSV files and as JSON."""

import csv
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet import InvalidInput, PureLoss
from discreet.answers.answer import Answer
from discreet.answers.json_reading import read_answer
from discreet.answers.json_text import to_json
from discreet.answers.released import Released
from discreet.answers.report.reading import is_report, one_answer, read_report, read_report_explanation
from discreet.answers.report.report import Report
from discreet.model.receipt import Receipt
from discreet.model.report import ReportQuestion

EXAMPLE = "?question=1"
HOSTILE = "<script src=https://evil.example/x.js>\x1b[31m"
RECEIPT = Receipt(
    number=7,
    dataset="clinic",
    version="1",
    analyst="ann",
    question="",
    key="",
    charged=PureLoss(epsilon=Fraction(1)),
    at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    digest="",
)


def answer_with(keys, numbers, *notes, repeated=False):
    exact = np.array(numbers, dtype=np.float64)
    released = Released(
        columns=("ward", "n"),
        values={"ward": np.array(keys, dtype=object), "n": exact},
        raw={"n": exact},
        low={"n": exact - 2},
        high={"n": exact + 2},
        confidence=0.95,
        notes=notes,
    )
    return Answer(
        released=released,
        charged=RECEIPT.charged,
        left=PureLoss(epsilon=Fraction(4)),
        receipt=RECEIPT,
        repeated=repeated,
        budget=PureLoss(epsilon=Fraction(5)),
        questions=3,
    )


@pytest.fixture
def report():
    return Report(
        questions=(
            ReportQuestion(sql="SELECT ward,\n  count(*)", title="Patients by ward"),
            ReportQuestion(sql="SELECT 2 < 3"),
            ReportQuestion(sql=f"SELECT '{HOSTILE}'", title=HOSTILE),
        ),
        answers=(
            answer_with(["north", "south"], [31, 44], "of all", "of one and two"),
            answer_with(["east"], [5], "of all", "of one and two"),
            answer_with([HOSTILE, "=1+1"], [-3, 8], "of all", "of three"),
        ),
    )


class Page(HTMLParser):
    """The tags of a page, and whatever it would load."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data", "action") and not (value or "").startswith("#"):
                self.loads.append((tag, value))
        if tag not in ("meta", "rect", "path", "circle", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open[-1:] == [tag]:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_is_a_sequence_of_answers(report):
    assert len(report) == 3
    assert [len(answer) for answer in report] == [2, 1, 2]
    assert report[0] is report["Patients by ward"] is report.answers[0]
    assert report["Question 2"] is report[1] is report[-2]
    assert report[1:] == report.answers[1:]
    assert (report.charged, report.left, report.receipt, report.repeated) == (
        PureLoss(epsilon=Fraction(1)),
        PureLoss(epsilon=Fraction(4)),
        RECEIPT,
        False,
    )
    with pytest.raises(InvalidInput, match="no question “Wards”"):
        report["Wards"]
    with pytest.raises(InvalidInput, match="by its number"):
        report[1.5]
    with pytest.raises(IndexError):
        report[3]


def test_it_prints_each_answer_and_one_price(report):
    lines = repr(report).split("\n")
    assert lines[0] == "1. Patients by ward"
    assert "Question 2" in lines
    assert sum("Cost ε = 1 for 3 questions together; ε = 4 left. Receipt 7." in line for line in lines) == 1
    assert lines.count("of all") == lines.count("of three") == 1
    assert lines.count("Questions 1 and 2: of one and two") == 1
    assert "\x1b" not in repr(report)


def test_a_page_is_whole_and_loads_nothing(report):
    text = report.to_html()
    page = Page(text)
    assert page.open == []
    assert page.loads == []
    assert "script" not in page.tags
    assert not re.search(r"url\(|@import|<link|http-equiv=.refresh", text)
    assert "\x1b" not in text
    assert text.count("<section") == text.count("<details>") == 3
    assert text.count("<rect") == 4
    assert 'name="viewport"' in text
    assert "color-scheme" in text
    assert "Cost ε = 1 for all questions. Receipt 7." in text
    assert "ε = 4 left" not in text  # what an analyst has left is not for readers of a report
    assert "SELECT 2 &lt; 3" in text


def test_a_notebook_shows_the_same_without_a_page_around_it(report):
    piece = report._repr_html_()
    assert Page(piece).open == []
    assert "<body" not in piece
    assert "body{" not in piece
    assert piece.count("<section") == 3


def test_a_folder_has_a_file_for_each_question(report, tmp_path):
    written = report.to_csv(tmp_path / "tables")
    assert [path.name for path in written] == [
        "1-patients-by-ward.csv",
        "2.csv",
        "3-script-src-https-evil-example-x-js-31m.csv",
    ]
    assert all(path.parent == tmp_path / "tables" for path in written)
    rows = list(csv.DictReader(written[0].read_text(encoding="utf-8").splitlines()))
    assert rows[0] == {"ward": "north", "n": "31.0", "n_low": "29.0", "n_high": "33.0"}
    assert "'=1+1" in written[2].read_text()
    report.to_csv(tmp_path / "tables")  # again


@pytest.mark.parametrize("title", ["../../etc/passwd", "a/b\\c", "…", "x" * 300, "Über uns"])
def test_no_title_leads_out_of_the_folder(report, tmp_path, title):
    odd = Report(questions=(ReportQuestion(sql="", title=title),), answers=report.answers[:1])
    (written,) = odd.to_csv(tmp_path / "tables")
    assert written.resolve().parent == (tmp_path / "tables").resolve()
    assert len(written.name) < 80


def test_json_has_the_price_once_and_each_answer_whole(report, tmp_path):
    text = report.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == text
    assert text.rstrip("\n").isprintable()
    found = json.loads(text)
    assert found["charged"] == {"epsilon": 1.0}
    assert found["receipt"]["number"] == 7
    assert [each["title"] for each in found["questions"]] == list(report.titles)
    assert found["questions"][2]["title"] == HOSTILE
    read = [read_answer(each["answer"]) for each in found["questions"]]
    assert [answer.released.encode() for answer in read] == [each.released.encode() for each in report]


def test_a_repeated_report_says_so():
    again = Report(
        questions=(ReportQuestion(sql="SELECT 1"),), answers=(answer_with(["a"], [1], repeated=True),)
    )
    assert "Asked before, on 2026-03-01" in repr(again)
    assert "Cost ε = 1 for all questions" in again.to_html()


# From JSON


@pytest.fixture
def found(report):
    return json.loads(report.to_json())


def test_what_is_read_is_what_was_written(report, found):
    again = read_report(found, analyst="ann")
    assert (again.questions, again.titles, again.headings) == (
        report.questions,
        report.titles,
        report.headings,
    )
    for shown in (repr, Report.to_html, Report.to_json, Report.summary, Report.paid, Report.shared_notes):
        assert shown(again) == shown(report)
    assert [answer.questions for answer in again] == [3, 3, 3]


def test_a_report_of_one_question_is_read_as_that_question(report):
    one = replace(report, questions=report.questions[:1], answers=report.answers[:1])
    again = read_report(json.loads(one.to_json()))
    assert (len(again), again.receipt.question) == (1, report.questions[0].sql)


@pytest.mark.parametrize("other", [{}, [], 5, {"questions": []}, {"questions": [{"sql": "x"}]}, {"rows": []}])
def test_what_is_no_report_is_refused(other):
    for read in (read_report, read_report_explanation):
        with pytest.raises(InvalidInput, match="This is not the JSON of a"):
            read(other)


def test_one_answer_of_a_report(report, found):
    assert is_report(found)
    for number, answer in enumerate(report, 1):
        assert one_answer(found, number, example=EXAMPLE) == json.loads("".join(to_json(answer)))
    with pytest.raises(InvalidInput, match="a report with 3 questions") as refused:
        one_answer(found, None, example=EXAMPLE)
    assert f"from 1 to 3: end the address with {EXAMPLE}." in refused.value.remedy
    for wrong in (0, 4, -1):
        with pytest.raises(InvalidInput, match=f"no question {wrong} of this receipt"):
            one_answer(found, wrong, example=EXAMPLE)


def test_the_only_answer_needs_no_number(report, found):
    answer = json.loads("".join(to_json(report[0])))
    one = {**found, "questions": found["questions"][:1]}
    for whole in (answer, one):
        assert one_answer(whole, None, example=EXAMPLE) == one_answer(whole, 1, example=EXAMPLE) == answer
        with pytest.raises(InvalidInput) as refused:
            one_answer(whole, 2, example=EXAMPLE)
        assert "leave question= out" in refused.value.remedy
    assert not is_report(answer)
