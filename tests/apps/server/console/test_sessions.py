"""Signing in and out, and what every POST must show."""

import pytest

from discreet.apps.server.console.rendering import static_url
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Role
from tests.apps.server.console.served_console import COUNT, Visitor

POSTS = (
    "/sign-out",
    "/console/explain",
    "/console/ask",
    "/console/combine",
    "/owner/datasets/clinic/verify",
    "/owner/approvals/some",
    "/owner/accounts",
    "/owner/accounts/ana",
    "/owner/projects",
)


def actions(service, who=None):
    return [event.action for event in service.log.events(who=who)]


def test_pages_lead_to_the_form_and_back(port, add, tokens):
    add("ana")
    visitor = Visitor(port)
    page = visitor.get("/history?a=b")
    assert page.status == 303
    assert page.headers["location"] == "/sign-in?then=%2Fhistory%3Fa%3Db"
    page = visitor.sign_in(tokens["ana"], then="/history?a=b")
    assert page.headers["location"] == "/history?a=b"


@pytest.mark.parametrize(
    "then", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:1"]
)
def test_signing_in_leads_to_no_other_host(port, add, tokens, then):
    add("ana")
    assert Visitor(port).sign_in(tokens["ana"], then=then).headers["location"] == "/console"


def test_the_cookie_is_for_this_host_and_no_script(port, add, tokens):
    add("ana")
    cookie = Visitor(port).sign_in(tokens["ana"]).headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/", "max-age="):
        assert part in cookie
    assert "secure" not in cookie
    assert "domain" not in cookie


def test_the_cookie_is_for_https_where_a_proxy_speaks_it(port, add, tokens):
    add("ana")
    page = Visitor(port).post("/sign-in", {"token": tokens["ana"]}, **{"X-Forwarded-Proto": "https"})
    assert page.headers["set-cookie"].startswith("__Host-discreet=")
    assert "secure" in page.headers["set-cookie"].lower()


def test_wrong_tokens_are_refused_in_the_same_words_and_logged(service, port, add, tokens):
    add("ana")
    add("bo")
    service.accounts.revoke("bo", by="the owner")
    pages = [Visitor(port).sign_in(token) for token in ("discreet_wrong", tokens["bo"], "x" * 5000, "")]
    assert {page.status for page in pages} == {401}
    assert len({page.text for page in pages}) <= 2
    assert all("set-cookie" not in page.headers for page in pages)
    assert actions(service).count(Action.SIGN_IN_REFUSED) == 4


def test_each_sign_in_is_a_new_session_and_ends_the_one_before(visitor, tokens):
    ana = visitor("ana")
    before = ana.cookie
    ana.sign_in(tokens["ana"])
    assert ana.cookie != before
    ana.cookie = before
    assert ana.get("/history").status == 303


def test_a_session_that_somebody_else_chose_is_not_used(port, add, tokens):
    add("ana")
    visitor = Visitor(port)
    visitor.cookie = "discreet-session=discreet_chosen-by-an-attacker"
    visitor.sign_in(tokens["ana"])
    assert "chosen-by-an-attacker" not in visitor.cookie


def test_an_api_token_is_no_session(port, add, tokens):
    add("ana")
    visitor = Visitor(port)
    visitor.cookie = f"discreet-session={tokens['ana']}"
    assert visitor.get("/history").status == 303


def test_signing_out_ends_the_session(service, visitor):
    ana = visitor("ana")
    kept = ana.cookie
    assert ana.post("/sign-out", {}).headers["location"] == "/sign-in"
    ana.cookie = kept
    assert ana.get("/history").status == 303
    assert Action.SIGNED_OUT in actions(service, "ana")


def test_a_revoked_account_is_out_at_once(service, visitor):
    ana = visitor("ana")
    service.accounts.revoke("ana", by="the owner")
    assert ana.get("/history").status == 303
    assert ana.explain().status == 401


@pytest.mark.parametrize("path", POSTS)
def test_posts_need_the_token_of_the_session_and_its_origin(service, visitor, path):
    olga = visitor("olga", Role.OWNER)
    other = visitor("ana")
    before = len(actions(service))
    for changed in ({"csrf": ""}, {"csrf": "0" * 64}, {"csrf": other.csrf}, {"csrf": "é"}):
        assert olga.post(path, {}, **changed).status == 403
    for origin in ("https://evil.example", "null", " ", f"http://127.0.0.1:{olga.port + 1}"):
        assert olga.post(path, {}, origin=origin).status == 403
    assert len(actions(service)) == before


def test_signing_in_needs_the_origin(port, add, tokens):
    add("ana")
    page = Visitor(port).post("/sign-in", {"token": tokens["ana"]}, origin="https://evil.example")
    assert page.status == 403
    assert "set-cookie" not in page.headers


@pytest.mark.parametrize(
    "path",
    ["/sign-in", "/ask/clinic", "/history", "/public/clinic", static_url("console.js"), "/nowhere"],
)
def test_every_answer_has_strict_headers(visitor, path):
    headers = visitor("ana").get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "body", ["", "[]", "nonsense", "[" * 100_000, '{"sql": 1}', '{"dataset": ["clinic"]}']
)
def test_malformed_json_is_refused(visitor, body):
    ana = visitor("ana")
    headers = {"Content-Type": "application/json", "X-CSRF-Token": ana.csrf}
    assert ana._send("POST", "/console/explain", body, headers).status == 400


def test_too_much_is_refused(visitor):
    assert visitor("ana").ask(COUNT + " " * 2_000_000).status == 400
