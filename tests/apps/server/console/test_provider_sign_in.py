"""Signing in at a real OpenID provider: the way there and back, who may come in, and what is refused."""

import re
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from discreet.apps.server.oidc.settings import OidcSettings
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Role
from tests.apps.server.console.served_console import served
from tests.apps.server.console.wanderer import Wanderer

pytestmark = pytest.mark.xdist_group("provider")  # it is started once

SESSION, PENDING = "discreet-session", "discreet-sign-in"


def events(service, action):
    return [event for event in service.log.events() if event.action is action]


def consent(who, page, login):
    """Everything that somebody does at the provider. Gives the address at which they come back."""
    page = who.submit(page, login=login, password="any")  # noqa: S106
    assert "Authorize" in page.text
    return who.submit_until(page, "/sign-in/callback")


def sign_in(who, url, login, then=""):
    page = who.open(f"{url}/sign-in/provider?then={quote(then)}")
    return who.open(consent(who, page, login))


def test_the_whole_way(service, console, bind, provider):
    bind("ana", "24400320")
    ana = Wanderer()
    page = ana.open(f"{console}/history")
    assert "Sign in with Clinic" in page.text
    link = re.search(r'class="button wide" href="([^"]+)"', page.text)[1]
    page = ana.open(link)
    assert page.url.startswith(provider.issuer)
    asked = parse_qs(urlsplit(next(seen for seen in ana.visited if "/auth?" in seen)).query)
    assert asked["redirect_uri"] == [f"{console}/sign-in/callback"]
    assert asked["response_type"] == ["code"]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["openid"]
    assert all(len(asked[name][0]) >= 43 for name in ("state", "nonce", "code_challenge"))
    page = ana.open(consent(ana, page, "24400320"))
    assert page.status == 200
    assert "You are signed in as ana." in page.text
    assert '<meta http-equiv="refresh" content="0;url=/history">' in page.text
    assert PENDING not in ana.cookies["127.0.0.1"]
    assert ana.open(f"{console}/history").status == 200
    (event,) = events(service, Action.SIGNED_IN)
    assert (event.who, event.details) == ("ana", {"way": "oidc"})
    assert service.log.verify()


def test_the_cookies(console, bind):
    bind("ana")
    ana = Wanderer()
    page = ana.open(f"{console}/sign-in/provider", follow=False)
    (cookie,) = page.cookies
    assert cookie.startswith(f"{PENDING}=")
    for part in ("httponly", "samesite=lax", "path=/", "max-age=600"):
        assert part in cookie.lower()
    back = consent(ana, ana.open(page.headers["location"]), "ana")
    session = next(each for each in ana.open(back).cookies if each.startswith(SESSION))
    for part in ("httponly", "samesite=strict", "path=/"):
        assert part in session.lower()


def test_cookies_are_for_https_where_browsers_speak_it(service, provider):
    facts = {"issuer": provider.issuer, "client_id": "any", "client_secret": "any", "name": "Clinic"}
    settings = OidcSettings(**facts, url="https://a.example")
    with served(service, oidc=settings, tls=settings.url.startswith("https:")) as port:
        page = Wanderer().open(f"http://127.0.0.1:{port}/sign-in/provider", follow=False)
        assert page.cookies[0].startswith("__Host-discreet-sign-in=")
        assert "secure" in page.cookies[0].lower()
        assert (
            "https://a.example/sign-in/provider" in Wanderer().open(f"http://127.0.0.1:{port}/sign-in").text
        )


def test_roles_are_those_of_the_account(console, bind):
    bind("olga", "o-1", Role.OWNER)
    bind("ana", "a-1")
    olga, ana = Wanderer(), Wanderer()
    sign_in(olga, console, "o-1")
    sign_in(ana, console, "a-1")
    assert olga.open(f"{console}/owner/accounts").status == 200
    assert ana.open(f"{console}/owner/accounts").status == 403


def test_who_is_not_bound_is_told_what_to_ask_for(service, console, bind, provider):
    bind("ana", "a-1")
    stranger = Wanderer()
    page = sign_in(stranger, console, "s-1")
    assert page.status == 403
    identity = f"{provider.issuer}#sub=s-1"
    assert identity in page.text
    assert SESSION not in stranger.cookies["127.0.0.1"]
    (event,) = events(service, Action.SIGN_IN_REFUSED)
    assert event.details["identity"] == identity
    assert (event.details["way"], event.details["reason"]) == ("oidc", "no account")
    ana = service.accounts.find("ana")
    service.accounts.change(type(ana)(**{**_facts(ana), "identity": identity}), by="the owner")
    page = stranger.open(f"{console}/sign-in/provider", follow=False)
    assert "You are signed in as ana." in stranger.open(page.headers["location"]).text


def _facts(account):
    return {name: getattr(account, name) for name in account.__dataclass_fields__}


def test_a_revoked_account_is_as_nobodys(service, console, bind):
    bind("ana")
    ana = Wanderer()
    sign_in(ana, console, "ana")
    assert ana.open(f"{console}/history").url.endswith("/history")
    service.accounts.revoke("ana", by="the owner")
    assert "/sign-in?" in ana.open(f"{console}/history").url
    again = Wanderer()
    page = sign_in(again, console, "ana")
    assert (page.status, "No account yet" in page.text) == (403, True)
    assert SESSION not in again.cookies["127.0.0.1"]


def test_unbinding_ends_the_session(service, console, bind):
    bind("ana")
    ana = Wanderer()
    sign_in(ana, console, "ana")
    account = service.accounts.find("ana")
    service.accounts.change(type(account)(**{**_facts(account), "identity": ""}), by="the owner")
    assert "/sign-in?" in ana.open(f"{console}/history").url
    assert sign_in(Wanderer(), console, "ana").status == 403


def test_each_sign_in_is_a_new_session_and_ends_the_one_before(console, bind):
    bind("ana")
    ana = Wanderer()
    ana.cookies["127.0.0.1"][SESSION] = "discreet_chosen-by-an-attacker"
    sign_in(ana, console, "ana")
    first = ana.cookies["127.0.0.1"][SESSION]
    assert "attacker" not in first
    page = ana.open(f"{console}/sign-in/provider")  # the provider remembers them, and asks nothing
    assert "You are signed in as ana." in page.text
    assert ana.cookies["127.0.0.1"][SESSION] != first
    ana.cookies["127.0.0.1"][SESSION] = first
    assert "/sign-in?" in ana.open(f"{console}/history").url


def test_signing_out_ends_our_session(service, console, bind):
    bind("ana")
    ana = Wanderer()
    sign_in(ana, console, "ana")
    kept = ana.cookies["127.0.0.1"][SESSION]
    csrf = re.search(r'name="csrf-token" content="(\w+)"', ana.open(f"{console}/history").text)[1]
    assert ana.open(f"{console}/sign-out", fields={"csrf": csrf}).url.endswith("/sign-in")
    ana.cookies["127.0.0.1"][SESSION] = kept
    assert "/sign-in?" in ana.open(f"{console}/history").url
    assert events(service, Action.SIGNED_OUT)[0].who == "ana"


@pytest.mark.parametrize(
    "then", ["https://evil.example", "//evil.example", "/\\evil.example", "/" + "x" * 3000]
)
def test_it_leads_to_no_other_host_and_forgets_what_is_too_long(console, bind, then):
    bind("ana")
    assert 'content="0;url=/console"' in sign_in(Wanderer(), console, "ana", then=then).text


def refused(service, who, url, reason, status=401):
    before = len(events(service, Action.SIGN_IN_REFUSED))
    page = who.open(url)
    assert page.status == status
    assert SESSION not in who.cookies["127.0.0.1"]
    found = events(service, Action.SIGN_IN_REFUSED)[before:]
    assert [event.details["reason"] for event in found] == [reason]
    return page


@pytest.fixture
def on_the_way(console, bind):
    """Somebody who is about to come back, and the address."""
    bind("ana")
    ana = Wanderer()
    return ana, consent(ana, ana.open(f"{console}/sign-in/provider"), "ana")


def changed(url, **parameters):
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | parameters
    kept = {name: value for name, value in query.items() if value is not None}
    return parts._replace(query=urlencode(kept)).geturl()


def test_a_wrong_state_is_refused(service, on_the_way):
    ana, back = on_the_way
    refused(service, ana, changed(back, state="x" * 43), "another sign-in came back (state)")
    gone = "no sign-in was begun in this browser, or more than ten minutes ago"
    refused(service, ana, back, gone)  # it ended the sign-in


@pytest.mark.parametrize("state", [None, "", "é"])
def test_no_state_is_refused(service, on_the_way, state):
    ana, back = on_the_way
    refused(service, ana, changed(back, state=state), "another sign-in came back (state)")


def test_an_address_that_somebody_else_began_is_refused(service, on_the_way, console):
    """An attacker who makes others open it would sign them in as the attacker."""
    _, back = on_the_way
    victim = Wanderer()
    refused(service, victim, back, "no sign-in was begun in this browser, or more than ten minutes ago")
    victim.open(f"{console}/sign-in/provider", follow=False)
    refused(service, victim, back, "another sign-in came back (state)")


def test_an_address_is_used_once(service, on_the_way):
    ana, back = on_the_way
    kept = ana.cookies["127.0.0.1"][PENDING]
    assert "signed in as ana" in ana.open(back).text
    again = Wanderer()
    again.cookies["127.0.0.1"][PENDING] = kept
    refused(service, again, back, "the provider does not know the code")
    assert len(events(service, Action.SIGNED_IN)) == 1


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"code": "x" * 43}, "the provider does not know the code"),
        ({"code": ""}, "there is no code"),
        ({"code": None}, "there is no code"),
        ({"code": "x" * 4001}, "there is no code"),
        ({"iss": "https://evil.example"}, "another issuer sent them back"),
        ({"iss": None}, "another issuer sent them back"),
        ({"error": "access_denied"}, "the provider says access_denied"),
        ({"error": "<b>anything"}, "the provider says an error"),
    ],
)
def test_what_comes_back_otherwise_is_refused(service, on_the_way, parameters, reason):
    ana, back = on_the_way
    page = refused(service, ana, changed(back, **parameters), reason)
    assert "This sign-in did not work." in page.text
    assert "<b>" not in page.text


def test_a_parameter_that_is_there_twice_is_refused(service, on_the_way):
    ana, back = on_the_way
    refused(service, ana, f"{back}&code=other", "the address has two of “code”")


def test_a_code_of_another_sign_in_is_refused(service, on_the_way, console):
    """PKCE: a code that was seen on its way is of no use in another browser."""
    _, back = on_the_way
    thief = Wanderer()
    own = thief.open(f"{console}/sign-in/provider", follow=False).headers["location"]
    state = parse_qs(urlsplit(own).query)["state"][0]
    refused(service, thief, changed(back, state=state), "the provider does not know the code")


@pytest.mark.parametrize("cookie", ["", "nonsense", "x" * 5000, "gAAAAABn"])
def test_a_cookie_that_is_not_ours_is_refused(service, on_the_way, cookie):
    ana, back = on_the_way
    ana.cookies["127.0.0.1"][PENDING] = cookie
    refused(service, ana, back, "no sign-in was begun in this browser, or more than ten minutes ago")


def test_somebody_who_cancels_is_led_back(service, console):
    ana = Wanderer()
    page = ana.open(f"{console}/sign-in/provider")
    cancel = re.search(r'<a href="([^"]+/abort)"', page.text)[1]
    refused(service, ana, cancel, "the provider says access_denied")


def test_pages_of_others_cannot_begin_a_sign_in(console):
    for site in ("cross-site", "same-site"):
        page = Wanderer().open(f"{console}/sign-in/provider", follow=False, headers={"Sec-Fetch-Site": site})
        assert page.headers["location"].startswith("/sign-in?")
        assert page.cookies == []


def test_another_address_is_refused_by_the_provider(served_with):
    console = served_with(url="http://127.0.0.1:1")
    page = Wanderer().open(f"{console}/sign-in/provider")
    assert page.status == 400
    assert "redirect_uri" in page.text


def test_a_wrong_secret_is_told_to_the_operator_only(service, served_with, bind, caplog):
    console = served_with(client_secret="wrong")  # noqa: S106
    bind("ana")
    ana = Wanderer()
    back = consent(ana, ana.open(f"{console}/sign-in/provider"), "ana")
    reason = "it does not accept the client_id with its secret"
    page = refused(service, ana, back, reason, status=503)
    assert "sign in with a token" in page.text
    assert "secret" not in page.text
    assert reason in caplog.text


def test_by_email_if_it_is_verified(service, served_with, bind):
    console = served_with(claim="email")
    bind("ana", "ANA@clinic.example", claim="email")
    bind("bo", "new-bo@clinic.example", claim="email")
    assert "signed in as ana" in sign_in(Wanderer(), console, "ana").text
    bo = Wanderer()
    back = consent(bo, bo.open(f"{console}/sign-in/provider"), "new-bo")
    page = refused(service, bo, back, "their email is not verified")
    assert "Verify your email address" in page.text
    assert sign_in(Wanderer(), console, "cleo").status == 403


def test_a_claim_that_the_provider_does_not_know_is_refused(service, served_with):
    console = served_with(claim="employee_number")
    ana = Wanderer()
    back = consent(ana, ana.open(f"{console}/sign-in/provider"), "ana")
    refused(service, ana, back, "the provider does not say their employee_number")


@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/provider", "/sign-in/callback"])
def test_the_pages_have_strict_headers(console, path):
    headers = Wanderer().open(console + path, follow=False).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "form-action 'self'" in policy
    assert "http" not in policy
    assert headers["cache-control"] == "no-store"


def test_without_a_provider_there_is_no_way_to_it(port):
    assert "Sign in with" not in Wanderer().open(f"http://127.0.0.1:{port}/sign-in").text
    for path in ("/sign-in/provider", "/sign-in/callback"):
        assert Wanderer().open(f"http://127.0.0.1:{port}{path}").status == 404


def test_owners_bind_accounts_on_their_page(service, console, bind, provider):
    bind("olga", "o-1", Role.OWNER)
    olga = Wanderer()
    sign_in(olga, console, "o-1")
    page = olga.open(f"{console}/owner/accounts")
    assert f"Signs in as {provider.issuer}#sub=o-1." in page.text
    csrf = re.search(r'name="csrf-token" content="(\w+)"', page.text)[1]
    identity = f"{provider.issuer}#sub=a-1"
    fields = {"csrf": csrf, "name": "ana", "role": "analyst", "dataset:clinic": "yes", "identity": identity}
    assert olga.open(f"{console}/owner/accounts", fields=fields).status == 200
    assert service.accounts.find("ana").identity == identity
    assert "signed in as ana" in sign_in(Wanderer(), console, "a-1").text
    other = {**fields, "name": "bo"}
    assert olga.open(f"{console}/owner/accounts", fields=other).status == 400
    change = {"csrf": csrf, "change": "caps", "identity": "", "project": ""}
    olga.open(f"{console}/owner/accounts/ana", fields=change)
    assert service.accounts.find("ana").identity == ""
