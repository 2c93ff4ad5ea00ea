"""Clocks that are set back or forward: nothing is lost, nothing is paid twice, the log holds."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from discreet import NeedsApproval, NotSignedIn
from discreet.service import accounts, approvals
from discreet.service.accounts import TokenKind, new_account
from discreet.service.service import open_service
from discreet.service.storage import event_log
from discreet.service.user_account import Role
from tests.attacks.ask import Clinic

COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def service(tmp_path):
    service = open_service([Clinic(tmp_path / "clinic", epsilon=10, dataset="answer_times = []").policy])
    yield service
    service.close()


@pytest.fixture
def dataset(service):
    return service.datasets["clinic"]


@pytest.fixture
def add(service):
    def add(name, role=Role.ANALYST, **settings):
        account = new_account(name, role, ["clinic"], **settings)
        return account, service.accounts.add(account, by="the owner")

    return add


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of the service, by so many days from the real one."""

    class Shifted(datetime):
        days = 0

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=cls.days)

    for module in (event_log, accounts, approvals):
        monkeypatch.setattr(module, "datetime", Shifted)

    def clock(days):
        Shifted.days = days

    return clock


def test_the_log_keeps_its_order_and_holds(service, dataset, add, clock):
    ana, _ = add("ana")
    for days in (0, 400, -400, 0):
        clock(days)
        dataset.ask(ana, f"{COUNT} WHERE cost < {500 + days}", {"epsilon": 1})
    events = list(service.log.events())
    assert [each.number for each in events] == list(range(1, len(events) + 1))
    assert [each.at for each in events] != sorted(each.at for each in events)
    service.log.verify()
    dataset.verify_ledger(add("olga", Role.OWNER)[0])


def test_a_repeat_is_free_whatever_the_clock_says(dataset, add, clock):
    ana, _ = add("ana")
    first = dataset.ask(ana, COUNT, {"epsilon": 1}).answer
    for days in (-400, 400):
        clock(days)
        again = dataset.ask(ana, COUNT, {"epsilon": 1}).answer
        assert again.repeated
        assert list(again["n"]) == list(first["n"])
        assert dataset.fetch(ana, first.receipt.number).text


def test_tokens_and_sessions_end_by_the_clock(service, add, clock):
    ana, token = add("ana")
    session = service.accounts.open_session(ana, way="token")
    clock(-400)
    assert service.accounts.with_token(token).name == "ana"
    clock(1)
    assert service.accounts.with_token(token).name == "ana"
    with pytest.raises(NotSignedIn):
        service.accounts.with_token(session, TokenKind.SESSION)
    clock(400)
    with pytest.raises(NotSignedIn):
        service.accounts.with_token(token)


def test_a_revoked_token_stays_revoked(service, add, clock):
    _, token = add("ana")
    service.accounts.revoke("ana", by="the owner")
    clock(-400)
    with pytest.raises(NotSignedIn):
        service.accounts.with_token(token)


def test_the_newest_request_counts_after_the_clock_was_set_back(service, dataset, add, clock):
    ana, _ = add("ana", approval_above=Fraction(1, 2))
    olga, _ = add("olga", Role.OWNER)

    def wait(purpose):
        with pytest.raises(NeedsApproval) as waits:
            dataset.ask(ana, COUNT, {"epsilon": 1}, purpose=purpose)
        return waits.value.approval

    service.approvals.decide(wait("a whim"), approve=False, by=olga)
    clock(-400)
    service.approvals.decide(wait("a paper"), approve=True, by=olga)
    assert dataset.ask(ana, COUNT, {"epsilon": 1}).answer is not None
