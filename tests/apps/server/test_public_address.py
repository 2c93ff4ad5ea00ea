"""Where people find a service, and cookies that are for HTTPS there."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet import InvalidInput
from discreet.apps.commands.main import main
from discreet.apps.server.oidc.settings import OidcSettings
from discreet.apps.server.public_address import read_public_url
from discreet.apps.server.running import ServeRequest
from tests.apps.server.agents import posted, tool_call
from tests.apps.server.running_service import COUNT, Client, add_account, running
from tests.attacks.ask import Clinic

HTTPS = "https://discreet.clinic.example"
NAME = "discreet.clinic.example"


def request(**given):
    return ServeRequest(policies=(), host="127.0.0.1", port=0, **given)


def sign_in(port, token, **headers):
    """Its cookie, with all that is said of it, and the answer to the next request with it."""
    host = headers.get("Host", f"127.0.0.1:{port}")
    sent = {"Content_Type": "application/x-www-form-urlencoded", "Origin": f"https://{host}", **headers}
    with Client(port) as browser:
        told = browser.send("POST", "/sign-in", f"token={token}", headers=sent)
        cookie = told.headers["set-cookie"]
        return cookie, browser.get("/history", Cookie=cookie.split(";")[0], **headers)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("discreet.clinic.example", "is not a URL"),
        ("ftp://discreet.clinic.example", "is not a URL"),
        (f"{HTTPS}?a=b", "is not a URL"),
        ("https://ana@discreet.clinic.example", "is not a URL"),
        ("http://discreet.clinic.example", "is not encrypted"),
        (f"{HTTPS}/discreet/", "has a path"),
        ("", "is not a URL"),
    ],
)
def test_addresses_that_are_none_are_refused(given, said):
    with pytest.raises(InvalidInput, match=re.escape(said)) as found:
        read_public_url(given)
    assert found.value.remedy
    done = CliRunner().invoke(main, ["serve", "--public-url", given])
    assert (done.exit_code, said in done.output) == (2, True)


def test_an_address_allows_its_name_and_says_https():
    assert read_public_url("https://Discreet.Clinic.example:8443/") == f"{HTTPS}:8443"
    settings = request(public_url=HTTPS).settings
    assert NAME in settings.allowed_hosts
    assert settings.tls
    plain = request(public_url=read_public_url("http://localhost:8080")).settings
    assert not plain.tls
    assert not request().settings.tls


def test_two_addresses_are_one_too_many():
    facts = {"issuer": "https://login.example", "client_id": "any", "client_secret": "any", "name": "Clinic"}
    oidc = OidcSettings(**facts, url=HTTPS)
    request(oidc=oidc, public_url=HTTPS).check()
    with pytest.raises(InvalidInput, match=r"the file of --oidc says https://discreet\.clinic\.example"):
        request(oidc=oidc, public_url="https://other.example").check()


def test_whoever_speaks_https_is_not_at_http(monkeypatch):
    monkeypatch.setattr("discreet.apps.server.running._check_certificate", lambda *_: None)
    files = {"certificate": Path("own.pem"), "key": Path("own.key")}
    request(**files, public_url="https://localhost:8443").check()
    with pytest.raises(InvalidInput, match="is not at http://localhost:8443") as found:
        request(**files, public_url="http://localhost:8443").check()
    assert found.value.remedy == "Give https://localhost:8443"


def test_a_service_behind_a_proxy_has_cookies_for_https(tmp_path):
    policy = Clinic(tmp_path / "clinic", epsilon=10, dataset="answer_times = []").policy
    token = add_account(policy, "ana")
    with running(policy, options=["--public-url", HTTPS]) as (_, port):
        cookie, page = sign_in(port, token, Host=NAME)
        assert cookie.startswith("__Host-discreet=")
        assert "secure" in cookie.lower().split("; ")
        assert page.status == 200
        assert page.headers["strict-transport-security"].startswith("max-age=")
        message = tool_call("ask", dataset="clinic", sql=COUNT, epsilon=1)
        receipt = posted(port, token, message, Host=NAME).json["result"]["structuredContent"]["receipt"]
        assert receipt["page"].startswith(f"{HTTPS}/receipts/clinic/")


@pytest.mark.parametrize("said", ["https", "HTTPS", "https, http"])
def test_a_proxy_may_say_that_it_speaks_https(port, tokens, said):
    cookie, page = sign_in(port, tokens["ana"], X_Forwarded_Proto=said)
    assert cookie.startswith("__Host-discreet=")
    assert "secure" in cookie.lower().split("; ")
    assert page.status == 200


@pytest.mark.parametrize("headers", [{}, {"X_Forwarded_Proto": "http"}, {"X_Forwarded_Proto": "http, https"}])
def test_without_https_browsers_would_refuse_such_a_cookie(port, tokens, headers):
    cookie, page = sign_in(port, tokens["ana"], **headers)
    assert cookie.startswith("discreet-session=")
    assert "secure" not in cookie.lower()
    assert page.status == 200
