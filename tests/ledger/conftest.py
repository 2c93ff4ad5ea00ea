from pathlib import Path

import pytest

from .places import account, charge, new_places


@pytest.fixture
def place():
    """A place where no ledger is yet."""
    with new_places() as new_place:
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
def anchor(path):
    return path.with_name(path.name + ".anchor")


@pytest.fixture
def used(place):
    """The place of a ledger with one charge that was answered, closed."""
    with place.open() as ledger:
        ledger.open_account(account())
        ledger.store_answer(charge(ledger, "k"), b"42")
    return place
