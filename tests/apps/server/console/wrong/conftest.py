"""A console whose provider does what no good one does."""

import pytest

from tests.apps.server.console.wrong.wrong_provider import console_of, wrong_provider


@pytest.fixture
def provider():
    with wrong_provider() as provider:
        yield provider


@pytest.fixture
def console(service, provider, add):
    add("ana", identity=f"{provider.issuer}#sub=ana")
    with console_of(service, provider.issuer) as url:
        yield url
