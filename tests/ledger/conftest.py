from pathlib import Path

import pytest

from .places import KINDS, account, charge, new_places


@pytest.fixture(params=KINDS)
def kind(request):
    """Which database keeps the ledger: a module that is about one of them says so."""
    return request.param


@pytest.fixture
def place(kind, request):
    """A place where no ledger is yet."""
    server = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    with new_places(server) as new_place:
        yield new_place()


@pytest.fixture
def ledger(place):
    """A ledger with one account: dataset "staff" with a budget of ε = 1."""
    with place.open() as ledger:
        ledger.open_account(account())
        yield ledger


@pytest.fixture
def path(place):
    return Path(place.address)


@pytest.fixture
def anchor(place):
    return place.anchor


@pytest.fixture
def used(place):
    """The place of a ledger with one charge that was answered, closed."""
    with place.open() as ledger:
        ledger.open_account(account())
        ledger.store_answer(charge(ledger, "k"), b"42")
    return place
