"""A curator that is elsewhere answers, explains and refuses as one that is here."""

import json
import subprocess
import sys
import urllib.request
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet import (
    BudgetExceeded,
    InvalidInput,
    NeedsApproval,
    NotAllowed,
    NotSignedIn,
    QueryRefused,
)
from discreet.answers.columns import kind_of, plain_cells
from discreet.client import requests
from discreet.service.user_account import Role

from .odd_servers import hangs_up, odd_server
from .running import COUNT, make_policy, running_service

QUESTIONS = [
    COUNT,
    "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward",
    "SELECT day, sum(cost) AS total, median(cost) AS middle FROM visits GROUP BY day",
    "SELECT cost > 50 AS dear, count(DISTINCT patient) AS people FROM visits GROUP BY cost > 50",
    "SELECT floor(cost / 50) * 50 AS step, count(*) AS n FROM visits GROUP BY floor(cost / 50) * 50",
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVING count(*) > 1000000",
    "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 1",
    "SELECT avg(cost) AS nobody FROM visits WHERE ward = 'attic'",
    'SELECT count(*) AS "50 %, \x1b" FROM visits WHERE cost > 1',
    "SELECT CASE WHEN ward = 'north' THEN 'n' END AS w, count(*) AS n FROM visits"
    " GROUP BY CASE WHEN ward = 'north' THEN 'n' END",
]


@pytest.fixture(scope="module")
def ana(running):
    return discreet.connect(running.url, running.add("ana"))


def same(remote, local):
    assert remote.columns == local.columns
    for name in local.columns:
        assert kind_of(remote[name]) == kind_of(local[name])
        assert plain_cells(remote[name]) == plain_cells(local[name])
    for name in local.released.measured:
        np.testing.assert_array_equal(remote.raw(name), local.raw(name))
        np.testing.assert_array_equal(remote.interval(name), local.interval(name))
        np.testing.assert_array_equal(remote.noise_interval(name), local.noise_interval(name))
    for part in ("columns", "measured", "confidence", "notes"):
        assert getattr(remote.released, part) == getattr(local.released, part)
    assert dict(remote.released.ends) == dict(local.released.ends)
    facts = ("number", "dataset", "version", "charged", "at", "digest")
    assert [getattr(remote.receipt, f) for f in facts] == [getattr(local.receipt, f) for f in facts]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_answers_are_those_of_a_local_curator(running, ana, sql):
    found = ana.ask(sql, epsilon=0.25)
    assert isinstance(found, discreet.Answer)
    local = running.local("ana").ask(sql, epsilon=0.25)
    same(found, local)
    assert (found.repeated, local.repeated) == (False, True)
    assert (found.left, found.charged) == (local.left, local.charged)
    assert (found.receipt.question, found.receipt.analyst) == (sql, "ana")
    again = ana.ask(sql, epsilon=Fraction(1, 4))
    assert again.repeated
    assert repr(again) == repr(local)
    assert again.to_pandas().equals(local.to_pandas())
    same(ana.fetch(found.receipt.number), local)


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("terms", [{"epsilon": 0.25}, {"epsilon": 0.5, "confidence": 0.9}])
def test_explanations_are_those_of_a_local_curator(running, ana, sql, terms):
    assert ana.explain(sql, **terms) == running.local("ana").explain(sql, **terms)


@pytest.mark.parametrize(
    ("sql", "terms", "kind"),
    [
        ("SELECT patient FROM visits", {"epsilon": 0.1}, QueryRefused),
        ("SELEC", {"epsilon": 0.1}, QueryRefused),
        ("SELECT nothing FROM visits", {"epsilon": 0.1}, QueryRefused),
        (COUNT, {"epsilon": 19.9}, BudgetExceeded),
        (COUNT, {"epsilon": 0.1, "rho": 0.1}, InvalidInput),
        (COUNT, {}, InvalidInput),
        (COUNT, {"epsilon": 0}, InvalidInput),
        (COUNT, {"epsilon": 0.1, "confidence": 1}, InvalidInput),
    ],
)
def test_refusals_are_those_of_a_local_curator(running, ana, sql, terms, kind):
    running.local("ana").ask(COUNT, epsilon=0.5)
    with pytest.raises(kind) as remote:
        ana.ask(sql, **terms)
    with pytest.raises(type(remote.value)) as local:
        running.local("ana").ask(sql, **terms)
    assert (remote.value.problem, remote.value.remedy) == (local.value.problem, local.value.remedy)


@pytest.mark.parametrize(
    "terms", [{"epsilon": "1"}, {"epsilon": True}, {"epsilon": float("nan")}, {"epsilon": -1}]
)
def test_numbers_are_checked_before_anything_is_sent(ana, terms):
    with pytest.raises(InvalidInput, match="epsilon"):
        ana.ask(COUNT, **terms)
    with pytest.raises(InvalidInput, match="text"):
        ana.ask(None, epsilon=1)
    with pytest.raises(TypeError):
        ana.ask(COUNT, eps=1)


def test_a_losing_connection_charges_once(running, monkeypatch):
    """The service answers, the answer is lost on its way, and the same question is asked again."""
    token = running.add("lost")
    asked = []

    def passes_on(handler, count):
        _, path, headers, body = proxy.requests[-1]
        sent = urllib.request.Request(  # noqa: S310
            running.url + path, body or None, {k: v for k, v in headers.items() if k != "Host"}
        )
        with urllib.request.urlopen(sent) as reply:  # noqa: S310
            text = reply.read()
        if path.endswith("/ask"):
            asked.append(json.loads(text)["receipt"])
        if path.endswith("/ask") and len(asked) == 1:
            hangs_up(handler, count)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        handler.wfile.write(text)

    monkeypatch.setattr(requests, "_PAUSES", (0.01, 0.01))
    with odd_server(passes_on) as proxy:
        answer = discreet.connect(proxy.url, token).ask(
            "SELECT count(*) AS n FROM visits WHERE cost < 41", epsilon=0.3
        )
    assert [(each["number"], each["repeated"]) for each in asked] == [
        (answer.receipt.number, False),
        (answer.receipt.number, True),
    ]
    assert running.local("lost").budget().analysts["lost"].epsilon == Fraction(3, 10)


def test_tables_budget_and_history(running):
    token = running.add("bo", most_epsilon=Fraction(1, 2))
    bo = discreet.connect(running.url, token, dataset="clinic")
    (visits,) = bo.tables
    assert (visits.name, visits.public, visits.person, visits.max_rows) == ("visits", False, "patient", 2)
    ward = next(column for column in visits.columns if column.name == "ward")
    assert ward.keys == ("north", "south", "attic")
    cost = next(column for column in visits.columns if column.name == "cost")
    assert cost.bounds == (0, 100)
    new = "SELECT count(*) AS n FROM visits WHERE cost < 43"
    answer = bo.ask(new, epsilon=0.125)
    assert bo.left() == answer.left == running.local("bo").left()
    found = bo.budget()
    assert found.analysts == {"bo": answer.charged}
    assert found.spent == running.local("bo").budget().spent
    assert found.left_for_you == answer.left
    assert found.left_for_you.epsilon == Fraction(3, 8)
    assert found.left == running.local("bo").budget().left
    assert "left; you may spend" in repr(found)
    with pytest.raises(QueryRefused):
        bo.ask("SELECT patient FROM visits", epsilon=0.125)
    (only,) = [each for each in bo.history() if each.receipt is not None]
    assert (only.question, only.receipt, only.dataset) == (new, answer.receipt.number, "clinic")
    assert only.terms == {"epsilon": 0.125, "confidence": 0.95}
    assert repr(bo) == f"clinic at {running.url}, for bo"


def test_questions_step_by_step(ana):
    frame = ana.table("visits").where("cost > 10").group_by("ward").count("n")
    assert frame.explain(epsilon=0.1).groups == 3
    assert frame.ask(epsilon=0.1).columns == ("ward", "n")
    with pytest.raises(InvalidInput, match="visits"):
        ana.table("visit")


def test_synthetic_rows(running):
    maker = discreet.connect(running.url, running.add("maker"))
    sql = "SELECT ward, cost FROM visits WHERE ward IS NOT NULL"
    drawn = maker.synthesize(sql, epsilon=0.5, rows=50)
    assert (drawn.columns, len(drawn), drawn.repeated) == (("ward", "cost"), 50, False)
    assert set(drawn.to_pandas()["ward"]) <= {"north", "south", "attic"}
    assert drawn.released.measured == ()
    again = maker.synthesize(sql, epsilon=0.5, rows=20)
    assert (again.repeated, len(again), again.left) == (True, 20, drawn.left)
    assert maker.fetch(drawn.receipt.number).rows() == drawn.rows()
    assert running.local("maker").budget().analysts["maker"].epsilon == Fraction(1, 2)
    assert sql in maker.history()[0].question
    for terms, kind in [
        ({"epsilon": 0.1, "rows": 0}, InvalidInput),
        ({"epsilon": 0.1, "rows": 100_001}, InvalidInput),
        ({}, InvalidInput),
        ({"epsilon": 19.9}, BudgetExceeded),
    ]:
        with pytest.raises(kind):
            maker.synthesize(sql, **terms)
    with pytest.raises(QueryRefused):
        maker.synthesize("SELECT count(*) FROM visits", epsilon=0.1)
    with pytest.raises(NotAllowed):
        discreet.connect(running.url, running.add("reads", Role.AUDITOR)).synthesize(sql, epsilon=0.1)


def test_synthetic_rows_that_need_approval(running):
    maker = discreet.connect(running.url, running.add("slow", approval_above=Fraction(1, 10)))
    sql = "SELECT ward FROM visits WHERE cost > 90"
    with pytest.raises(NeedsApproval) as waits:
        maker.synthesize(sql, epsilon=0.2, purpose="teaching")
    running.add("owner", Role.OWNER)
    running.service.approvals.decide(waits.value.approval, approve=True, by=running.account("owner"))
    assert len(maker.synthesize(sql, epsilon=0.2, rows=5)) == 5
    with pytest.raises(InvalidInput, match="what it is for"):  # another table
        maker.synthesize("SELECT cost FROM visits WHERE cost > 90", epsilon=0.2)


def test_a_wrong_token_says_what_to_do(running):
    for token in ("discreet_wrong", running.add("gone")):
        if token != "discreet_wrong":  # noqa: S105
            running.service.accounts.revoke("gone", by="the owner")
        with pytest.raises(NotSignedIn, match="wrong, expired or revoked") as refused:
            discreet.connect(running.url, token)
        assert "new one" in refused.value.remedy


def test_a_token_that_is_revoked_while_it_is_used(running):
    curator = discreet.connect(running.url, running.add("brief"))
    running.service.accounts.revoke("brief", by="the owner")
    with pytest.raises(NotSignedIn):
        curator.ask(COUNT, epsilon=0.1)


def test_datasets_and_receipts_of_others(running, ana):
    with pytest.raises(InvalidInput, match="It may use: clinic"):
        discreet.connect(running.url, running.add("other"), dataset="school")
    paid = ana.ask("SELECT count(*) AS mine FROM visits", epsilon=0.0625)
    other = discreet.connect(running.url, running.add("another"))
    with pytest.raises(NotAllowed, match="no answer with receipt"):
        other.fetch(paid.receipt.number)
    with pytest.raises(NotAllowed):
        other.fetch(10**9)


def test_an_auditor_asks_nothing(running):
    auditor = discreet.connect(running.url, running.add("audit", Role.AUDITOR))
    with pytest.raises(NotAllowed, match="auditor"):
        auditor.ask(COUNT, epsilon=0.1)


def test_an_account_with_a_price_of_its_own(running):
    usual = discreet.connect(running.url, running.add("usual", default_epsilon=Fraction(1, 8)))
    assert usual.ask("SELECT sum(cost) AS s FROM visits").charged.epsilon == Fraction(1, 8)


def test_a_question_that_needs_approval(running):
    curator = discreet.connect(running.url, running.add("careful", approval_above=Fraction(1, 10)))
    sql = "SELECT sum(cost) AS s FROM visits WHERE cost > 50"
    with pytest.raises(InvalidInput, match="what it is for"):
        curator.ask(sql, epsilon=0.2)
    with pytest.raises(NeedsApproval, match="owner of the data decides") as waits:
        curator.ask(sql, epsilon=0.2, purpose="a paper")
    running.add("olga", Role.OWNER)
    running.service.approvals.decide(waits.value.approval, approve=True, by=running.account("olga"))
    assert curator.ask(sql, epsilon=0.2).charged.epsilon == Fraction(1, 5)


def test_one_of_several_datasets_has_to_be_named(tmp_path_factory):
    policies = [make_policy(tmp_path_factory.mktemp(name), name) for name in ("north", "south")]
    with running_service(*policies) as running:
        token = running.add("ana", datasets=("north", "south"))
        with pytest.raises(InvalidInput, match="north, south"):
            discreet.connect(running.url, token)
        assert (
            discreet.connect(running.url, token, dataset="south").ask(COUNT, epsilon=1).receipt.dataset
            == "south"
        )


def test_a_budget_with_delta(tmp_path):
    with running_service(make_policy(tmp_path, epsilon=2, delta=1e-6)) as running:
        ana = discreet.connect(running.url, running.add("ana"))
        sql = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis"
        same(ana.ask(sql, epsilon=0.5), running.local("ana").ask(sql, epsilon=0.5))
        assert ana.explain(sql, rho=0.01) == running.local("ana").explain(sql, rho=0.01)
        assert ana.budget().spent == pytest.approx(running.local("ana").budget().spent)


def test_the_client_imports_no_database_and_no_parser(running):
    code = (
        "import sys, discreet\n"
        "curator = discreet.connect(sys.argv[1], sys.argv[2])\n"
        f"curator.explain({COUNT!r}, epsilon=0.01)\n"
        f"print(curator.ask({COUNT!r}, epsilon=0.01).receipt.number)\n"
        "from discreet.client import dbapi\n"
        "heavy = {'duckdb', 'sqlglot', 'pandas', 'pyarrow', 'starlette', 'uvicorn', 'rich', 'click'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    given = [sys.executable, "-c", code, running.url, running.add("light")]
    found = subprocess.run(given, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[1] == "[]"
