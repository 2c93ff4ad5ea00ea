"""Reports in the console: their receipts, and how history, approvals and the log show them."""

import html
import re
from fractions import Fraction

import pytest

from discreet import NeedsApproval
from discreet.service.question_kinds import WholeReport
from discreet.service.user_account import Role

WARDS = "-- Patients by ward\nSELECT ward, count(*) AS n FROM visits GROUP BY ward"
COSTS = "SELECT avg(cost) AS mean, count(*) AS n FROM visits"
REPORT = WholeReport.of([WARDS, COSTS])
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture
def ask(service):
    def ask(name, report=REPORT, epsilon=1, **more):
        account = service.accounts.find(name)
        return service.datasets["clinic"].ask(account, report, {"epsilon": epsilon}, **more)

    return ask


@pytest.fixture
def receipt(visitor, ask):
    """Where the receipt of ana's report is."""
    visitor("ana")
    return f"/receipts/clinic/{ask('ana').answer.receipt.number}"


def test_a_receipt_shows_all_answers_with_their_titles(visitor, receipt):
    page = visitor("ana").get(receipt)
    assert page.status == 200
    assert re.findall(r"<h2>([^<]*)</h2>", page.text) == [
        "Report of 2 questions",
        "1. Patients by ward",
        "Question 2",
        "In the ledger",
    ]
    assert "Cost ε = 1 for 2 questions together." in page.text
    assert page.text.count('class="error"') == 5
    assert "SELECT ward, count(*) AS n FROM visits GROUP BY ward" in page.text
    assert 'class="cell"' not in page.text  # numbers of a report are not selected
    assert "Ask again" not in page.text


def test_files_of_a_receipt_are_those_of_one_question(visitor, receipt):
    ana = visitor("ana")
    links = re.findall(rf'href="({receipt}[.?][^"]*)"', ana.get(receipt).text)
    assert links == [
        f"{receipt}.json",
        *(f"{receipt}.{kind}?question={i}" for i in (1, 2) for kind in ("csv", "arrow")),
    ]
    found = {link: ana.get(link) for link in links}
    assert {each.status for each in found.values()} == {200}
    assert [each["title"] for each in found[links[0]].json["questions"]] == ["Patients by ward", "Question 2"]
    assert found[links[1]].text.startswith("ward,n,n_low,n_high")
    assert found[links[3]].text.startswith("mean,mean_low,mean_high")
    assert found[links[3]].headers["content-disposition"].endswith('-2.csv"')
    assert found[links[4]].text.startswith("ARROW1")
    for kind in ("csv", "arrow"):
        refused = ana.get(f"{receipt}.{kind}")
        assert refused.status == 400
        assert "end the address with ?question=1." in refused.text
    for wrong in ("0", "3", "-1", "x", "", "9" * 30):
        assert ana.get(f"{receipt}.csv?question={wrong}").status == 400


def test_receipts_of_reports_of_others_do_not_exist(visitor, receipt):
    bo, olga, audrey = visitor("bo"), visitor("olga", Role.OWNER), visitor("audrey", Role.AUDITOR)
    for end in ("", ".json", ".csv", ".csv?question=1", ".arrow?question=2"):
        assert bo.get(receipt + end).status == 404
    for overseer in (olga, audrey):
        for end in ("", ".json", ".csv?question=1", ".arrow?question=2"):
            assert overseer.get(receipt + end).status == 200


def test_numbers_of_a_report_are_not_combined(visitor, receipt):
    facts = {"dataset": "clinic", "receipt": int(receipt.rpartition("/")[2]), "cells": [[0, "n"], [1, "n"]]}
    refused = visitor("ana").post_json("/console/combine", facts)
    assert (refused.status, "as a question of the report" in refused.json["remedy"]) == (400, True)
    assert visitor("bo").post_json("/console/combine", facts).status == 404


def test_history_approvals_and_log_show_the_questions_with_their_titles(service, visitor, ask):
    ana, olga = visitor("ana", approval_above=Fraction(1, 2)), visitor("olga", Role.OWNER)
    with pytest.raises(NeedsApproval) as waits:
        ask("ana", purpose="the yearly report")
    text = f'<pre class="sql">{html.escape(REPORT.text)}</pre>'
    for page in (ana.get("/history"), olga.get("/owner/approvals"), olga.get("/owner/log")):
        assert text in page.text
    service.approvals.decide(waits.value.approval, approve=True, by=service.accounts.find("olga"))
    page = ana.get("/history").text
    assert "Ask it now" not in page  # the page to ask takes one question
    assert "Ask the same once more, where you asked it" in page
    ask("ana")
    assert "Receipt" in ana.get("/history").text
    assert ask("ana").answer.repeated
    assert "free, the same answer as before" in olga.get("/owner/log").text


def test_hostile_titles_and_keys_are_only_text(visitor, ask):
    ana, olga = visitor("ana"), visitor("olga", Role.OWNER)
    literal, alias = EVIL.replace("'", "''"), EVIL.replace('"', '""')
    report = WholeReport.of(
        [
            f"-- title: {EVIL} \x1b[31m\n"
            f"SELECT ward AS \"{alias}\", count(*) AS n FROM visits WHERE lower(ward) <> '{literal}'"
            " GROUP BY 1",
            COSTS,
        ]
    )
    receipt = f"/receipts/clinic/{ask('ana', report).answer.receipt.number}"
    for page in (ana.get(receipt), olga.get(receipt), ana.get("/history"), olga.get("/owner/log")):
        assert page.status == 200
        assert not any(mark in page.text for mark in ("<script>alert", "<img src=x"))
        assert "&lt;script&gt;" in page.text
    assert "\x1b" not in ana.get(receipt).text


def test_long_answers_of_many_questions_are_cut(visitor, ask):
    """A page of a hundred answers stays one that a browser shows; files have all."""
    visitor("ana")
    ages = [f"SELECT age, count(*) AS n FROM visits WHERE cost < {i} GROUP BY age" for i in range(1, 61)]
    receipt = f"/receipts/clinic/{ask('ana', WholeReport.of(ages)).answer.receipt.number}"
    page = visitor("ana").get(receipt).text
    assert page.count('role="row"') == 60 * (1 + 16)
    assert "more, in the CSV" in page
    assert len(visitor("ana").get(f"{receipt}.csv?question=60").text.splitlines()) == 121


def test_a_report_of_one_question_shares_the_receipt_of_that_question(visitor, ask):
    """Each sees what they asked themselves."""
    ana, bo = visitor("ana"), visitor("bo")
    number = ask("ana", WholeReport.of([WARDS])).answer.receipt.number
    ask("bo", REPORT.questions[0].sql)
    assert "Report of 1 question<" in ana.get(f"/receipts/clinic/{number}").text
    page = bo.get(f"/receipts/clinic/{number}").text
    assert "Report of" not in page
    assert "Ask again" in page
    assert "ward" in visitor("olga", Role.OWNER).get(f"/receipts/clinic/{number}").text
