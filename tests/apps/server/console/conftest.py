"""A console for each test: a clinic, an analyst, an owner, an auditor. And a browser, and a provider."""

import shutil
import socket

import pytest

from discreet.apps.server.oidc.settings import OidcSettings
from discreet.service.accounts import new_account
from discreet.service.service import open_service
from discreet.service.user_account import Role
from tests.apps.server.console.served_console import Visitor, served
from tests.attacks.ask import Clinic
from tests.servers import missing
from tests.servers.openid_provider import running_provider

INSTALL = "apt-get install --yes chromium fonts-liberation"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path / "clinic", epsilon=10, dataset="answer_times = []")


@pytest.fixture
def service(clinic):
    service = open_service([clinic.policy])
    yield service
    service.close()


@pytest.fixture
def tokens():
    """Of everybody who was added, by name."""
    return {}


@pytest.fixture
def add(service, tokens):
    def add(name, role=Role.ANALYST, **settings):
        account = new_account(name, role, ["clinic"], **settings)
        tokens[name] = service.accounts.add(account, by="the owner")
        return account

    return add


@pytest.fixture
def port(service):
    with served(service, public_pages=True) as port:
        yield port


@pytest.fixture
def visitor(port, add, tokens):
    """Somebody who is signed in."""

    def visitor(name, role=Role.ANALYST, **settings):
        if name not in tokens:
            add(name, role, **settings)
        found = Visitor(port)
        assert found.sign_in(tokens[name]).status == 303
        return found

    return visitor


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None) or missing("Chromium", INSTALL)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=[*ARGUMENTS])
        yield launched
        launched.close()


# Sign-in at a real provider


@pytest.fixture(scope="module")
def provider():
    with running_provider() as provider:
        yield provider


@pytest.fixture
def sock():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


@pytest.fixture
def url(sock):
    return f"http://127.0.0.1:{sock.getsockname()[1]}"


@pytest.fixture
def served_with(service, provider, sock, url):
    """Starts the console with these settings of the provider."""
    opened = []

    def served_with(metadata=None, **changed):
        client_id, secret = provider.register(url, **(metadata or {}))
        settings = {"issuer": provider.issuer, "client_id": client_id, "client_secret": secret}
        context = served(
            service, sock, oidc=OidcSettings(**settings | {"url": url, "name": "Clinic"} | changed)
        )
        opened.append(context)
        context.__enter__()
        return url

    yield served_with
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture
def console(served_with):
    return served_with()


@pytest.fixture
def bind(add, provider):
    def bind(name, subject=None, role=Role.ANALYST, claim="sub"):
        return add(name, role, identity=f"{provider.issuer}#{claim}={subject or name}")

    return bind
