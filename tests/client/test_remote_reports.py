"""Reports of a service are those of a local curator: the same answers, explanations and refusals."""

import http.client
import json
import urllib.request
from fractions import Fraction

import pytest

import discreet
from discreet import (
    BudgetExceeded,
    InvalidInput,
    NeedsApproval,
    NotAllowed,
    QueryRefused,
    Report,
    ServiceUnreachable,
)
from discreet.client import requests
from discreet.service.user_account import Role

from .odd_servers import hangs_up, odd_server
from .running import COUNT, make_policy, running_service
from .test_remote_curator import same

WARDS = "-- Patients by ward\nSELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward"
DAYS = (
    "/* Of\n * each day */ SELECT day, sum(cost) AS total, median(cost) AS middle FROM visits GROUP BY day;"
)
NONE = "SELECT avg(cost) AS nobody FROM visits WHERE ward = 'attic'"
REPORT = [WARDS, DAYS, NONE, f"-- title: 50 %, <b>; “x”\n{COUNT}"]
TITLES = ("Patients by ward", "Of each day", "Question 3", "50 %, <b>; “x”")


@pytest.fixture(scope="module")
def ana(running):
    return discreet.connect(running.url, running.add("ana"))


def test_a_report_is_that_of_a_local_curator(running, ana, tmp_path):
    found = ana.ask(REPORT, epsilon=0.5)
    assert isinstance(found, Report)
    local = running.local("ana").ask(REPORT, epsilon=0.5)
    assert (found.repeated, local.repeated) == (False, True)
    assert (found.titles, found.questions) == (TITLES, local.questions)
    for ours, theirs in zip(found, local, strict=True):
        same(ours, theirs)
    assert (found.charged, found.left) == (local.charged, local.left)
    again = ana.ask(tuple(REPORT), epsilon=Fraction(1, 2))
    assert again.repeated
    for shown in (repr, Report.summary, Report.paid, Report.to_html, Report.to_json, Report.shared_notes):
        assert shown(again) == shown(local)
    assert [path.name for path in found.to_csv(tmp_path / "ours")] == [
        path.name for path in local.to_csv(tmp_path / "theirs")
    ]
    fetched = ana.fetch(found.receipt.number)
    assert fetched.to_json() == found.to_json()
    assert fetched["Of each day"].to_pandas().equals(local["Of each day"].to_pandas())
    assert running.local("ana").budget().analysts["ana"].epsilon == Fraction(1, 2)
    assert ana.history()[0].question.startswith("REPORT\n\n-- title: Patients by ward\nSELECT ward, ")


@pytest.mark.parametrize("questions", [REPORT, [COUNT], [NONE, WARDS]])
@pytest.mark.parametrize("terms", [{"epsilon": 0.25}, {"epsilon": 0.75, "confidence": 0.9}])
def test_explanations_are_those_of_a_local_curator(running, ana, questions, terms):
    remote = ana.explain(questions, **terms)
    local = running.local("ana").explain(questions, **terms)
    assert remote == local
    assert (repr(remote), remote._repr_html_()) == (repr(local), local._repr_html_())


def test_a_report_of_one_question(running, ana):
    sql = "SELECT count(*) AS n FROM visits WHERE cost < 17"
    report = ana.ask([f"-- Cheap\n{sql}"], epsilon=0.25)
    alone = ana.ask(sql, epsilon=0.25)
    assert (report.titles, alone.repeated) == (("Cheap",), True)
    same(report[0], running.local("ana").ask(sql, epsilon=0.25))
    assert isinstance(ana.fetch(alone.receipt.number), Report)  # it was asked first


@pytest.mark.parametrize(
    ("questions", "terms", "kind"),
    [
        ([WARDS, "-- Doctors\nSELECT doctor FROM visits"], {"epsilon": 0.1}, QueryRefused),
        ([WARDS, "SELECT '"], {"epsilon": 0.1}, QueryRefused),
        ([WARDS, f"{COUNT}; {COUNT}"], {"epsilon": 0.1}, QueryRefused),
        (["x" * 60_000] * 2, {"epsilon": 0.1}, QueryRefused),
        ([], {"epsilon": 0.1}, QueryRefused),
        ([COUNT, 1], {"epsilon": 0.1}, QueryRefused),
        (REPORT, {"within": 5}, QueryRefused),
        (REPORT, {"epsilon": 19.9}, BudgetExceeded),
        (REPORT, {"epsilon": 0.1, "rho": 0.1}, InvalidInput),
        (REPORT, {}, InvalidInput),
        (REPORT, {"epsilon": 0}, InvalidInput),
        (REPORT, {"epsilon": 0.1, "confidence": 1}, InvalidInput),
    ],
)
def test_refusals_are_those_of_a_local_curator(running, ana, questions, terms, kind):
    running.local("ana").ask(COUNT, epsilon=0.5)
    with pytest.raises(kind) as remote:
        ana.ask(questions, **terms)
    with pytest.raises(type(remote.value)) as local:
        running.local("ana").ask(questions, **terms)
    assert (remote.value.problem, remote.value.remedy) == (local.value.problem, local.value.remedy)


@pytest.mark.parametrize(
    "terms", [{"epsilon": "1"}, {"epsilon": True}, {"epsilon": float("nan")}, {"rho": -1}]
)
def test_numbers_are_checked_before_anything_is_sent(ana, terms):
    for asking in (ana.ask, ana.explain):
        with pytest.raises(InvalidInput, match=next(iter(terms))):
            asking(REPORT, **terms)


def test_a_report_that_needs_approval(running):
    waits = discreet.connect(running.url, running.add("waits", approval_above=Fraction(1, 10)))
    with pytest.raises(InvalidInput, match="what it is for"):
        waits.ask(REPORT, epsilon=0.6)
    with pytest.raises(NeedsApproval, match="owner of the data decides") as asked:
        waits.ask(REPORT, epsilon=0.6, purpose="a paper")
    running.add("decides", Role.OWNER)
    running.service.approvals.decide(asked.value.approval, approve=True, by=running.account("decides"))
    assert waits.ask(REPORT, epsilon=0.6).charged.epsilon == Fraction(3, 5)


def test_receipts_of_others_and_other_roles(running, ana):
    paid = ana.ask([WARDS, COUNT], epsilon=0.125)
    other = discreet.connect(running.url, running.add("other"))
    with pytest.raises(NotAllowed, match="no answer with receipt"):
        other.fetch(paid.receipt.number)
    auditor = discreet.connect(running.url, running.add("audit", Role.AUDITOR))
    with pytest.raises(NotAllowed, match="auditor"):
        auditor.ask(REPORT, epsilon=0.1)
    assert auditor.explain(REPORT, epsilon=0.1).epsilon == 0.1
    assert auditor.fetch(paid.receipt.number).titles == ("Patients by ward", "Question 2")


def test_an_account_with_a_price_of_its_own(running):
    usual = discreet.connect(running.url, running.add("usual", default_epsilon=Fraction(1, 8)))
    assert usual.ask([DAYS, NONE]).charged.epsilon == Fraction(1, 8)


def test_a_lost_connection_charges_once(running, monkeypatch):
    token, asked = running.add("lost"), []

    def passes_on(handler, count):
        _, path, headers, body = proxy.requests[-1]
        sent = urllib.request.Request(  # noqa: S310
            running.url + path, body or None, {k: v for k, v in headers.items() if k != "Host"}
        )
        with urllib.request.urlopen(sent) as reply:  # noqa: S310
            text = reply.read()
        if path.endswith("/report"):
            asked.append(json.loads(text)["receipt"])
        if len(asked) == 1 and path.endswith("/report"):
            hangs_up(handler, count)
            return
        handler.send_response(http.client.OK)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        handler.wfile.write(text)

    monkeypatch.setattr(requests, "_PAUSES", (0.01, 0.01))
    with odd_server(passes_on) as proxy:
        report = discreet.connect(proxy.url, token).ask([COUNT, NONE], epsilon=0.3)
    assert [(each["number"], each["repeated"]) for each in asked] == [
        (report.receipt.number, False),
        (report.receipt.number, True),
    ]
    assert running.local("lost").budget().analysts["lost"].epsilon == Fraction(3, 10)


def test_a_budget_with_delta(tmp_path):
    questions = ["SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis", WARDS]
    with running_service(make_policy(tmp_path, epsilon=2, delta=1e-6)) as running:
        ana = discreet.connect(running.url, running.add("ana"))
        assert ana.explain(questions, rho=0.01) == running.local("ana").explain(questions, rho=0.01)
        remote, local = (each.ask(questions, epsilon=0.5) for each in (ana, running.local("ana")))
        for ours, theirs in zip(remote, local, strict=True):
            same(ours, theirs)


@pytest.mark.parametrize("reply", [{}, {"questions": []}, {"questions": [{"title": "a"}]}, [], 5, "x"])
def test_a_reply_that_is_no_report(monkeypatch, ana, reply):
    monkeypatch.setattr(type(ana), "_post", lambda *_, **__: reply)
    for asking in (ana.ask, ana.explain):
        with pytest.raises(ServiceUnreachable, match="cannot be understood"):
            asking(REPORT, epsilon=0.1)
