"""What was paid for before vectors were measured together is found, free, and answered from that draw."""

from functools import partial

import pytest

from discreet.bounds.bound import bound
from discreet.curator import planning
from discreet.ledger.interface import EntryKind
from tests.attacks.ask import Clinic

SHARE = "SELECT ward, count(*) FILTER (WHERE age > 40) AS old, count(*) AS n FROM visits GROUP BY ward"
MEAN = "SELECT avg(cost) AS m, stddev(cost) AS s, count(*) AS n FROM visits"
RATIO = (
    "WITH some AS (SELECT ward, count_if(age > 40) AS n, count(*) AS m FROM visits GROUP BY ward),"
    " everybody AS (SELECT count_if(age > 60) AS a, count(*) AS b FROM visits)"
    " SELECT ward, 1.0 * n / b AS share FROM some, everybody"
)
DELTA = {"pure": 0, "concentrated": "1e-6"}


@pytest.fixture(params=DELTA)
def curator(request, tmp_path):
    with Clinic(tmp_path, epsilon=40, delta=DELTA[request.param]).open() as curator:
        yield curator


@pytest.fixture
def apart(monkeypatch):
    """As questions were planned before."""

    def before(action):
        with monkeypatch.context() as patched:
            patched.setattr(planning, "bound", partial(bound, together=False))
            return action()

    return before


def charges(curator):
    return sum(entry.kind is EntryKind.CHARGED for entry in curator.entries())


@pytest.mark.parametrize("sql", [SHARE, MEAN, RATIO])
def test_the_same_question_is_free(curator, apart, sql):
    paid = apart(lambda: curator.ask(sql, epsilon=4))
    found = curator.ask(sql, epsilon=4)
    assert found.repeated
    assert not found.dearer
    assert found.receipt == paid.receipt
    assert found.released.encode() == paid.released.encode()
    assert charges(curator) == 1


@pytest.mark.parametrize("sql", [SHARE, RATIO])
def test_it_serves_every_cheaper_request(curator, apart, sql):
    paid = apart(lambda: curator.ask(sql, epsilon=4))
    found = curator.ask(sql, epsilon=3)
    assert found.repeated
    assert found.dearer
    assert found.receipt == paid.receipt
    assert found.released.encode() == paid.released.encode()


@pytest.mark.parametrize("sql", [SHARE, RATIO])
def test_at_a_higher_price_it_is_measured_together(curator, apart, sql):
    apart(lambda: curator.ask(sql, epsilon=2))
    again = curator.ask(sql, epsilon=4)
    assert not again.repeated
    assert curator.ask(sql, epsilon=2).receipt == again.receipt
    assert charges(curator) == 2


def test_a_report_is_free(curator, apart):
    wards = "SELECT ward, sum(cost) AS s FROM visits GROUP BY ward"
    paid = apart(lambda: curator.ask([SHARE, MEAN, wards], epsilon=8))
    found = curator.ask([wards, SHARE, MEAN], epsilon=8)
    assert found.receipt == paid.receipt
    assert [found[i].released.encode() for i in (1, 2, 0)] == [each.released.encode() for each in paid]
    assert curator.ask([SHARE, MEAN, wards], epsilon=6).receipt == paid.receipt
    assert charges(curator) == 1


def test_within_an_error_it_is_free(curator, apart):
    paid = apart(lambda: curator.ask(SHARE, within=40))
    found = curator.ask(SHARE, within=40)
    assert found.receipt == paid.receipt
    assert found.released.encode() == paid.released.encode()
