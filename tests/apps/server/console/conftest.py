"""A console for each test: a clinic, an analyst, an owner, an auditor."""

import pytest

from discreet.service.accounts import new_account
from discreet.service.service import open_service
from discreet.service.user_account import Role
from tests.apps.server.console.served_console import Visitor, served
from tests.attacks.ask import Clinic


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
