"""What people see and may do, by role."""

import html
import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.apps.server.console.rendering import static_digest, static_url
from discreet.service.question_kinds import ModelQuestion, SynthesisQuestion
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Role
from tests.apps.server.console.served_console import BY_WARD, COUNT, Visitor

OWNERS_PAGES = (
    "/owner/datasets/clinic",
    "/owner/datasets/clinic/policy",
    "/owner/approvals",
    "/owner/accounts",
    "/owner/log",
    "/owner/log.jsonl",
)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
MARKS = ("<script>alert", "<img src=x")


def test_the_ask_page_has_the_policy_and_marks_what_is_made_up(visitor):
    page = visitor("ana").get("/ask/clinic").text
    for fact in (
        "north, south, attic",
        "0 … 100",
        "Up to 3 rows of a person",
        "Made-up rows",
        "Nobody is in them",
    ):
        assert fact in page


def test_the_policy_page_has_what_a_profile_found(service, visitor):
    """Also one that was taken elsewhere since the service began."""
    olga = visitor("olga", Role.OWNER)
    page = "/owner/datasets/clinic/policy"
    assert "No profile was taken" in olga.get(page).text
    service.datasets["clinic"].curator_of(service.accounts.find("olga")).profile("visits", epsilon=0.5)
    shown = olga.get(page).text
    assert "What a profile of <code>visits</code> found" in shown
    assert "left out" in shown
    assert visitor("ana").get(page).status == 403


def test_explain_gives_price_error_and_risk_from_each_other(visitor):
    ana = visitor("ana")
    by_price = ana.explain(value=1).json
    assert by_price["epsilon"] == 1
    assert by_price["suspicion"] == pytest.approx(73.2, abs=0.1)
    by_error = ana.explain(value=by_price["error"]["each"], by="within").json
    assert by_error["epsilon"] == pytest.approx(1, rel=0.1)
    by_risk = ana.explain(value=60, by="suspicion").json
    assert by_risk["epsilon"] == pytest.approx(0.405, abs=0.001)
    assert by_risk["suspicion"] <= 60


def test_explain_says_why_not(visitor):
    found = visitor("ana").explain("SELECT * FROM visits").json
    assert found["problem"]
    assert found["remedy"]


@pytest.mark.parametrize("value", [0, -1, "much", None, [], True, 1e300])
def test_prices_that_are_none_are_refused(visitor, value):
    assert "problem" in visitor("ana").explain(value=value).json


def test_an_answer_has_whiskers_errors_and_files(visitor):
    ana = visitor("ana")
    page = ana.ask(BY_WARD)
    assert page.status == 200
    assert page.text.count("<svg") >= 4
    assert "±" in page.text
    path = re.search(r'href="(/receipts/clinic/\d+)"', page.text)[1]
    assert "What happened to these numbers" in ana.get(path).text
    assert ana.get(f"{path}.json").json["columns"] == ["ward", "n"]
    assert ana.get(f"{path}.csv").text.startswith("ward,n,n_low,n_high")
    assert ana.get(f"{path}.arrow").text.startswith("ARROW1")


@pytest.mark.parametrize(
    ("question", "word"),
    [
        (ModelQuestion(model="LinearRegression", sql="SELECT age, ward, cost FROM visits"), "ward = south"),
        (ModelQuestion(model="LogisticRegression", sql="SELECT age, ward FROM visits"), "coefficient of"),
        (SynthesisQuestion(sql="SELECT ward FROM visits", rows=2), "SYNTHESIZE"),
    ],
    ids=lambda each: getattr(each, "text", ""),
)
def test_models_and_synthetic_rows_have_receipts_too(service, visitor, question, word):
    ana = visitor("ana")
    told = service.datasets["clinic"].ask(service.accounts.find("ana"), question, {"epsilon": 1})
    path = f"/receipts/clinic/{told.answer.receipt.number}"
    page = ana.get(path)
    assert (page.status, word in page.text) == (200, True)
    assert [ana.get(path + suffix).status for suffix in (".json", ".csv", ".arrow")] == [200] * 3
    assert ana.get("/history").status == 200


def test_a_repeat_is_free(visitor):
    ana = visitor("ana")
    assert "Cost ε = 1." in ana.ask().text
    assert "Free: the same answer as before." in ana.ask().text


def test_too_much_for_the_budget_is_refused_with_a_remedy(visitor):
    ana = visitor("ana", most_epsilon=Fraction(1, 2))
    page = ana.ask(value=2)
    assert page.status == 422
    assert "Not answered" in page.text


def test_answers_of_others_do_not_exist(visitor):
    page = visitor("ana").ask()
    path = re.search(r'href="(/receipts/clinic/\d+)"', page.text)[1]
    bo, olga = visitor("bo"), visitor("olga", Role.OWNER)
    for suffix in ("", ".json", ".csv", ".arrow"):
        assert bo.get(path + suffix).status == 404
        assert olga.get(path + suffix).status == 200
    receipt = int(path.rsplit("/", 1)[1])
    cells = {"dataset": "clinic", "receipt": receipt, "cells": [[0, "n"]]}
    assert bo.post_json("/console/combine", cells).status == 404


def test_another_dataset_does_not_exist(visitor):
    ana = visitor("ana")
    assert ana.get("/ask/school").status == 404
    assert ana.post_json("/console/explain", {"dataset": "school", "sql": COUNT}).status == 404


@pytest.mark.parametrize("path", OWNERS_PAGES)
def test_pages_of_owners_are_not_for_analysts(visitor, path):
    assert visitor("ana").get(path).status == 403
    assert visitor("olga", Role.OWNER).get(path).status == 200
    assert visitor("audrey", Role.AUDITOR).get(path).status == 200


def test_an_auditor_reads_and_changes_nothing(service, visitor):
    audrey = visitor("audrey", Role.AUDITOR)
    before = service.accounts.all()
    for path, fields in (
        ("/owner/accounts", {"name": "eve", "role": "owner", "dataset:clinic": "yes"}),
        ("/owner/accounts/audrey", {"change": "token"}),
        ("/owner/approvals/x", {"decision": "approve"}),
        ("/owner/projects", {"name": "p", "most_epsilon": "1"}),
        ("/console/ask", {"dataset": "clinic", "sql": COUNT, "by": "epsilon", "value": "1"}),
    ):
        assert audrey.post(path, fields).status == 403
    assert service.accounts.all() == before
    assert audrey.get("/ask/clinic").status == 403
    assert "holds: chain, sums and anchor" in audrey.post("/owner/datasets/clinic/verify", {}).text
    assert "Add an account" not in audrey.get("/owner/accounts").text


def test_a_question_waits_is_approved_and_is_answered(service, visitor):
    ana, olga = visitor("ana", approval_above=Fraction(1, 2)), visitor("olga", Role.OWNER)
    assert ana.explain(value=0.1).json["approval"] == "none"
    assert ana.explain(value=1).json["approval"] == "needed"
    assert ana.ask(value=1).status == 422
    page = ana.ask(value=1, purpose="the yearly report")
    assert page.status == 202
    assert "Waits for the owner" in page.text
    assert "waiting" in ana.get("/history").text
    assert ana.explain(value=1).json["approval"] == "waiting"
    assert "the yearly report" in olga.get("/owner/approvals").text
    (waiting,) = service.approvals.all()
    assert olga.post(f"/owner/approvals/{waiting.id}", {"decision": "approve"}).status == 303
    assert ana.explain(value=1).json["approval"] == "approved"
    assert "Ask it now" in ana.get("/history").text
    assert ana.ask(value=1).status == 200
    assert ana.explain(value=1).json["approval"] == "none"


def test_explaining_does_not_tell_what_others_asked(visitor):
    """It is free and not logged. To ask is logged: what is there already is answered, without the owner."""
    visitor("ana").ask(value=1)
    bo, cy = (visitor(name, approval_above=Fraction(1, 2)) for name in ("bo", "cy"))
    assert bo.explain(value=1).json["approval"] == bo.explain(value=1.01).json["approval"] == "needed"
    assert "Free: the same answer as before." in bo.ask(value=1, purpose="the yearly report").text
    assert bo.explain(value=1).json["approval"] == "none"
    assert cy.explain(value=1).json["approval"] == "needed"


def test_an_owner_adds_changes_and_revokes_accounts(service, port, visitor):
    olga = visitor("olga", Role.OWNER)
    fields = {"name": "bo", "role": "analyst", "dataset:clinic": "yes", "most_epsilon": "0.5", "project": ""}
    page = olga.post("/owner/accounts", fields)
    token = re.search(r"discreet_[\w-]{43}", page.text)[0]
    assert token not in olga.get("/owner/accounts").text
    assert Visitor(port).sign_in(token).status == 303
    assert service.accounts.find("bo").most_epsilon == Fraction(1, 2)
    caps = {"change": "caps", "most_epsilon": "2", "approval_above": "1", "project": ""}
    assert olga.post("/owner/accounts/bo", caps).status == 303
    assert service.accounts.find("bo").approval_above == 1
    page = olga.post("/owner/accounts/bo", {"change": "token"})
    assert re.search(r"discreet_[\w-]{43}", page.text)[0] != token
    assert olga.post("/owner/accounts/bo", {"change": "revoke"}).status == 303
    assert service.accounts.find("bo").revoked is not None
    assert olga.post("/owner/accounts/olga", {"change": "revoke"}).status == 400


@pytest.mark.parametrize("epsilon", ["-1", "0", "much", "1/0", "nan", "1e999999999"])
def test_caps_that_are_none_are_refused(visitor, epsilon):
    olga = visitor("olga", Role.OWNER)
    fields = {"name": "bo", "role": "analyst", "dataset:clinic": "yes", "most_epsilon": epsilon}
    assert olga.post("/owner/accounts", fields).status == 400


def test_the_overview_tells_who_spent_what(visitor):
    visitor("ana").ask()
    page = visitor("olga", Role.OWNER).get("/owner/datasets/clinic").text
    assert "ε 1</b><span>spent of 10" in page
    assert "Too little to forecast" in page
    assert 'class="burn"' in page


def test_the_log_is_newest_first_and_can_be_exported(visitor):
    visitor("ana").ask()
    olga = visitor("olga", Role.OWNER)
    page = olga.get("/owner/log").text
    assert page.index("signed in</b> olga") < page.index("answered</b> ana") < page.index("asked</b> ana")
    lines = [json.loads(line) for line in olga.get("/owner/log.jsonl").text.splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))


@pytest.mark.parametrize("purpose", ["{", "{}", "[1", "1/0", "[" * 1_500, "{{7*7}}", "\u202e"])
def test_no_purpose_breaks_the_pages_of_the_owner(visitor, purpose):
    ana, olga = visitor("ana", approval_above=Fraction(1, 2)), visitor("olga", Role.OWNER)
    assert ana.ask(value=1, purpose=purpose).status == 202
    for path in OWNERS_PAGES:
        assert olga.get(path).status == 200
    assert f'<p class="purpose">{purpose}</p>' in olga.get("/owner/approvals").text


def test_the_log_says_prices_and_caps(service, visitor):
    visitor("ana").ask(value=0.5)
    ana = service.accounts.find("ana")
    service.accounts.change(replace(ana, most_epsilon=Fraction(3, 2)), by="olga")
    page = visitor("olga", Role.OWNER).get("/owner/log").text
    assert "cost ε 0.5 · receipt" in page
    assert "at ε 0.5<" in page
    assert "most ε none, 1.5" in page
    visitor("ana").ask(value=0.5)
    assert "free, the same answer as before" in visitor("olga", Role.OWNER).get("/owner/log").text


def test_what_is_left_is_of_what_one_may_spend(visitor):
    ana = visitor("ana", most_epsilon=Fraction(3))
    assert "left for you, of 3<" in ana.get("/ask/clinic").text
    ana.ask()
    assert "ε 1 of 3 " in visitor("olga", Role.OWNER).get("/owner/datasets/clinic").text


def test_asking_again_has_the_price_of_before_and_is_free(visitor):
    ana = visitor("ana")
    page = ana.ask(BY_WARD, value=0.75)
    receipt = ana.get(re.search(r'href="(/receipts/clinic/\d+)"', page.text)[1]).text
    again = html.unescape(re.search(r'href="([^"]+)">Ask again', receipt)[1])
    assert "by=epsilon&value=0.75&" in again
    assert 'name="value" value="0.75"' in ana.get(again).text
    assert "ε 0.75 · clinic" in ana.get("/history").text
    assert "T" not in re.search(r"Written</dt><dd><time [^>]*>([^<]*)<", receipt)[1].replace("UTC", "")


def test_a_synthetic_table_cannot_be_asked_again_as_sql(service, visitor):
    ana = visitor("ana")
    question = SynthesisQuestion(sql="SELECT ward FROM visits", rows=2)
    told = service.datasets["clinic"].ask(service.accounts.find("ana"), question, {"epsilon": 1})
    assert "Ask again" not in ana.get(f"/receipts/clinic/{told.answer.receipt.number}").text


def test_saving_a_form_as_it_is_changes_no_cap(service, visitor):
    olga = visitor("olga", Role.OWNER)
    caps = {"most_epsilon": Fraction("0.123456789"), "default_epsilon": Fraction("0.1")}
    visitor("ana", **caps)
    page = olga.get("/owner/accounts").text
    part = page[page.index('id="ana"') :]
    shown = {name: re.search(rf'name="{name}"[^>]* value="([^"]*)"', part)[1] for name in caps}
    assert olga.post("/owner/accounts/ana", {"change": "caps", "project": "", **shown}).status == 303
    account = service.accounts.find("ana")
    assert {name: getattr(account, name) for name in caps} == caps


def test_no_budget_is_certainty(port):
    """At ε = 10 an even suspicion can rise to 99.9955 of 100."""
    page = Visitor(port).get("/public/clinic").text
    assert "99.996</b>" in page
    assert "100</b>" not in page


def test_the_public_page_needs_no_account_and_names_nobody(port, visitor):
    visitor("ana").ask()
    page = Visitor(port).get("/public/clinic").text
    assert "ε 1 of 10 is spent" in page
    assert "73.2</b>" in page
    assert "ana" not in re.sub(r"<[^>]*>", " ", page).replace("Analysts", "").split()
    assert COUNT not in page
    assert Visitor(port).get("/public/school").status == 404


def test_hostile_questions_names_and_purposes_are_only_text(service, visitor):
    ana = visitor("ana", approval_above=Fraction(1, 2))
    olga = visitor("olga", Role.OWNER)
    alias = EVIL.replace('"', '""')
    literal = EVIL.replace("'", "''")
    sql = f"SELECT ward AS \"{alias}\", count(*) AS n FROM visits WHERE lower(ward) <> '{literal}' GROUP BY 1"
    pages = [
        ana.ask(sql, value="0.1"),
        ana.ask(sql, value="1", purpose=EVIL),
        ana.ask(EVIL, value="0.1"),
        ana.get("/history"),
        ana.get(f"/ask/clinic?sql={EVIL}&by={EVIL}&value={EVIL}".replace(" ", "%20")),
        olga.get("/owner/approvals"),
        olga.get("/owner/log"),
        olga.post("/owner/accounts", {"name": EVIL, "role": "analyst", "dataset:clinic": "yes"}),
        ana.get(f"/sign-in?then={EVIL}".replace(" ", "%20")),
    ]
    receipt = service.history.of(ana_account(service))[-1].receipt
    pages += [ana.get(f"/receipts/clinic/{receipt}"), olga.get(f"/receipts/clinic/{receipt}")]
    for page in pages:
        assert not any(mark in page.text for mark in MARKS), page.text
        assert "onerror=alert(2)>" not in page.text.replace("&gt;", "")
    assert pages[0].status == 200
    assert "&lt;script&gt;" in pages[0].text


def ana_account(service):
    return service.accounts.find("ana")


def test_select_cells_give_their_sum_difference_and_ratio(visitor):
    ana = visitor("ana")
    page = ana.ask("SELECT ward, count(DISTINCT patient) AS n FROM visits GROUP BY ward", value=5)
    receipt = int(re.search(r'data-receipt="(\d+)"', page.text)[1])
    facts = {"dataset": "clinic", "receipt": receipt, "cells": [[0, "n"], [1, "n"]]}
    found = ana.post_json("/console/combine", facts).json
    assert [each["name"] for each in found["results"]] == ["sum", "difference", "ratio"]
    assert "95 % confidence" in found["how"]


@pytest.mark.parametrize(
    "cells", [None, [], [[0]], [[9, "n"]], [[0, "ward"]], [["0", "n"]], [[0, ["n"]]], [[-1, "n"]]]
)
def test_cells_that_are_none_are_refused(visitor, cells):
    ana = visitor("ana")
    page = ana.ask(BY_WARD)
    receipt = int(re.search(r'data-receipt="(\d+)"', page.text)[1])
    facts = {"dataset": "clinic", "receipt": receipt, "cells": cells}
    assert ana.post_json("/console/combine", facts).status == 400


def test_pages_are_small_and_name_all_their_files(visitor):
    """Scripts that a script imports too: else a browser learns of them one after another."""
    ana = visitor("ana")
    page = ana.get("/ask/clinic").text
    files = {path: ana.get(path) for path in re.findall(r'(?:src|href)="(/console/static/[^"]+)"', page)}
    assert len(page.encode()) + sum(len(found.text.encode()) for found in files.values()) < 300_000
    scripts = {path for path in files if path.endswith(".js")}
    imported = {
        f"{path.rsplit('/', 1)[0]}/{name}"
        for path in scripts
        for name in re.findall(r'from "\./([^"]+)"', files[path].text)
    }
    assert imported | {static_url("console.js")} == scripts


def test_files_are_kept_until_one_of_them_changes(visitor):
    ana, path = visitor("ana"), static_url("page.js")
    assert "immutable" in ana.get(path).headers["cache-control"]
    other = ana.get(path.replace(static_digest(), "0" * 12))
    assert (other.status, other.headers["cache-control"]) == (200, "no-store")
    assert ana.get(path.replace("page.js", "nothing.js")).status == 404


def test_all_that_happens_is_logged(service, visitor):
    ana = visitor("ana")
    ana.ask()
    ana.ask("SELECT * FROM visits")
    found = [event.action for event in service.log.events(who="ana")]
    assert found == [Action.SIGNED_IN, Action.ASKED, Action.ANSWERED, Action.ASKED, Action.REFUSED]
    service.accounts.change(replace(ana_account(service), default_epsilon=Fraction(1)), by="olga")
    assert 'value="1"' in ana.get("/ask/clinic").text
