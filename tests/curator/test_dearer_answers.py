"""What was paid at a higher price serves every cheaper request: free, and nothing more is drawn."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.bounds.paid_key import PaidKey
from discreet.curator.dearer_answers import DearerAnswers
from discreet.curator.planning import Planning
from discreet.errors import BudgetExceeded, QueryRefused
from discreet.ledger.interface import EntryKind
from discreet.model.deadline import Deadline
from discreet.model.privacy import amount_of
from discreet.release.draw import answer_from
from tests.attacks.ask import Clinic

COUNT = "SELECT count(*) AS n FROM visits"
WARDS = "SELECT ward, count(*) AS n, sum(cost) AS s FROM visits GROUP BY ward"
RATIO = (
    "WITH old AS (SELECT ward, count(*) AS n FROM visits WHERE age >= 60 GROUP BY ward),"
    " everybody AS (SELECT count(*) AS m FROM visits) SELECT ward, 1.0 * n / m AS share FROM old, everybody"
)
TOP = "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 2"
DELTA = {"pure": 0, "concentrated": "1e-6"}


@pytest.fixture(params=DELTA)
def curator(request, tmp_path):
    with Clinic(tmp_path, epsilon=40, delta=DELTA[request.param]).open() as curator:
        yield curator


def charges(curator):
    return sum(entry.kind is EntryKind.CHARGED for entry in curator.entries())


@pytest.mark.parametrize("sql", [COUNT, WARDS, RATIO, TOP])
def test_it_serves_every_cheaper_request_and_says_so(curator, sql):
    paid = curator.ask(sql, epsilon=4)
    spent = curator.budget().spent
    for cheaper in (2, 3.999):
        found = curator.ask(sql, epsilon=cheaper)
        assert found.repeated
        assert found.dearer
        assert found.receipt == paid.receipt
        assert found.released.encode() == paid.released.encode()
        assert "Answered at ε = 4" in found.price()
    assert curator.budget().spent == spent
    assert not curator.ask(sql, epsilon=4).dearer


def test_a_higher_price_is_charged_anew_and_serves_from_then_on(curator):
    low, high = curator.ask(WARDS, epsilon=2), curator.ask(WARDS, epsilon=3)
    assert not high.repeated
    assert charges(curator) == 2
    assert curator.ask(WARDS, epsilon=1.5).receipt == high.receipt
    assert curator.ask(WARDS, epsilon=2).receipt == low.receipt  # the same question has the same answer
    assert curator.ask(WARDS, epsilon=2.5).receipt == high.receipt


def test_other_questions_are_not_served(curator):
    curator.ask(WARDS, epsilon=4)
    for other in (
        WARDS.replace("sum(cost)", "sum(age)"),
        f"{COUNT} WHERE age > 30",
        COUNT,
        WARDS.replace("ward,", "ward, avg(age) AS a,"),
    ):
        assert not curator.ask(other, epsilon=2).repeated


def test_it_is_free_when_nothing_is_left(tmp_path):
    with Clinic(tmp_path, epsilon=4).open() as curator:
        paid = curator.ask(WARDS, epsilon=4)
        assert curator.ask(WARDS, epsilon=1).receipt == paid.receipt
        with pytest.raises(BudgetExceeded):
            curator.ask(COUNT, epsilon=1)


def test_its_errors_are_stated_at_the_confidence_that_is_asked_for(tmp_path):
    with Clinic(tmp_path, epsilon=40).open() as curator:
        curator.ask(COUNT, epsilon=4, confidence=0.95)
        found, wanted = (curator.ask(COUNT, epsilon=e, confidence=0.99) for e in (2, 4))
        assert found.dearer
        assert found.released.encode() == wanted.released.encode()
        assert found.released.confidence == 0.99


def test_it_is_read_by_the_plan_that_found_it(curator, monkeypatch):
    """Another thread may learn of a profile meanwhile, and plans are others from then on."""
    paid, honest = curator.ask(WARDS, epsilon=4), DearerAnswers.find

    def find(self):
        found = honest(self)
        monkeypatch.setattr(Planning, "plan", refused)
        return found

    def refused(*_):
        raise QueryRefused("The limits are others now.", remedy="Ask anew.")

    monkeypatch.setattr(DearerAnswers, "find", find)
    found = curator.ask(WARDS, epsilon=2)
    assert found.dearer
    assert found.released.encode() == paid.released.encode()


# Within an error


def test_it_serves_an_error_that_it_is_within(curator):
    paid = curator.ask(WARDS, epsilon=4)
    errors = {error.measure: error.each for error in curator.explain(WARDS, epsilon=4).errors}
    found = curator.ask(WARDS, within=errors["s"] * 1.01)
    assert found.dearer
    assert found.receipt == paid.receipt
    assert "Answered at ε = 4" in found.price()


@pytest.mark.parametrize(("times", "served"), [(Fraction(3, 2), False), (Fraction(2), True)])
def test_it_serves_an_error_only_if_all_of_its_numbers_are_within(tmp_path, times, served):
    """A price is split so that people get less noise than rows. Within an error both get the same."""
    sql = "SELECT count(*) AS n, count(DISTINCT patient) AS people FROM visits WHERE ward = 'north'"
    with Clinic(tmp_path, epsilon=40).open() as curator:
        cost = curator.plan(sql, within=20).loss.epsilon
        paid = curator.ask(sql, epsilon=cost * times)
        found = curator.ask(sql, within=20)
        assert (found.receipt == paid.receipt) == found.repeated == served


def test_within_an_error_serves_a_lower_price(curator):
    paid = curator.ask(COUNT, within=5)
    assert amount_of(paid.charged) > amount_of(curator.plan(COUNT, epsilon=0.5).loss)
    assert curator.ask(COUNT, epsilon=0.5).receipt == paid.receipt


@pytest.mark.parametrize("share", ["", "left_out_share = 0"])
@pytest.mark.parametrize(("paid", "asked"), [(0.99, 0.5), (0.5, 0.99)])
def test_within_an_error_serves_a_lower_price_at_another_confidence(tmp_path, share, paid, asked):
    """The confidence decided how much noise there is. Errors are stated of that noise, at any confidence."""
    with Clinic(tmp_path, epsilon=40, dataset=share).open() as curator:
        curator.ask(COUNT, within=20, confidence=paid)
        found = curator.ask(COUNT, epsilon=0.02, confidence=asked)
        assert found.dearer
        drawn = curator.plan(COUNT, within=20, confidence=paid)
        stated = replace(drawn, request=replace(drawn.request, confidence=Fraction(str(asked))))
        stored = curator._ledger.stored_answer("clinic", found.receipt.key).answer
        assert found.released.encode() == answer_from(stated, stored, Deadline.after(60)).encode()
        assert curator.recall(COUNT, epsilon=0.02, confidence=asked).dearer


# Prices in two parts


def test_no_part_of_the_price_may_be_lower(tmp_path):
    with Clinic(tmp_path, epsilon=40, delta="1e-6").open() as curator:
        by_diagnosis = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis"
        paid = curator.ask(by_diagnosis, epsilon=4)
        assert paid.charged.delta > 0
        key = PaidKey.read(paid.receipt.key)
        assert key.covers(key)
        for amount, delta in ((key.amount + 1, key.delta), (key.amount, key.delta + 1)):
            other = PaidKey(
                family=key.family, amount=amount, delta=delta, request=key.request, digest=key.digest
            )
            assert not key.covers(other)
            assert other.covers(key)
        assert curator.ask(by_diagnosis, epsilon=2).receipt == paid.receipt
        assert curator.ask(by_diagnosis, rho=float(paid.charged.rho)).receipt == paid.receipt


# The same by today's policy, on today's data


def test_it_serves_no_request_with_other_limits(tmp_path):
    """The family leaves limits out, and the digest does not."""
    clinic = Clinic(tmp_path, epsilon=40)
    with clinic.open() as curator:
        before = curator.ask(WARDS, epsilon=4)
    clinic.policy.write_text(clinic.policy.read_text().replace("max_rows = 3", "max_rows = 2"))
    with clinic.open() as curator:
        now = curator.ask(WARDS, epsilon=2)
        assert not now.repeated
        assert PaidKey.read(now.receipt.key).family == PaidKey.read(before.receipt.key).family


def test_it_serves_no_request_of_new_data(tmp_path):
    clinic = Clinic(tmp_path, epsilon=40)
    with clinic.open() as curator:
        curator.ask(WARDS, epsilon=4)
        curator._ledger.refresh("clinic")
        assert not curator.ask(WARDS, epsilon=2).repeated


def test_with_a_profile_the_limits_of_the_dearer_answer_are_its_own(tmp_path):
    rows = "SELECT range % 400 AS patient, 'north' AS ward, 1.0 AS cost, 50 AS age, 'flu' AS diagnosis FROM"
    with Clinic(tmp_path, epsilon=400, rows=f"{rows} range(405) UNION ALL {rows} range(5)").open() as curator:
        curator.profile("visits", epsilon=100)
        paid = curator.ask(COUNT, epsilon=100)
        limits = {curator.plan(COUNT, epsilon=e).bounded.query.source.table.max_rows for e in (100, 0.5)}
        found = curator.ask(COUNT, epsilon=0.5)
        assert limits == {1, 3}
        assert found.receipt == paid.receipt
        assert found.released.encode() == paid.released.encode()


# Reports


def test_a_dearer_report_serves_a_cheaper_one_in_any_order(curator):
    paid = curator.ask([WARDS, RATIO], epsilon=4)
    found = curator.ask([RATIO, WARDS], epsilon=2)
    assert found.receipt == paid.receipt
    assert found[1].released.encode() == paid[0].released.encode()
    assert "Answered at ε = 4" in found.summary()
    assert curator.explain([RATIO, WARDS], epsilon=2).price().endswith("that answer is given again, free.")
    assert charges(curator) == 1


# What `explain` and `recall` tell


def test_explain_says_that_it_is_free_and_how_accurate_it_is(curator):
    dear = [error.each for error in curator.explain(WARDS, epsilon=4).errors]
    curator.ask(WARDS, epsilon=4)
    for price in (4, 2):
        found = curator.explain(WARDS, epsilon=price)
        assert found.epsilon == found.share == amount_of(found.loss) == 0
        assert found.questions_left is None
        assert [error.each for error in found.errors] == dear
        assert "answered before" in found.way
        assert "at ε = 4" in found.way
    assert curator.explain(WARDS, epsilon=5).epsilon == pytest.approx(5)


def test_explain_does_not_tell_one_analyst_what_another_asked(curator):
    curator.ask(WARDS, epsilon=4)
    bob = curator.for_analyst("bob")
    assert bob.explain(WARDS, epsilon=2).epsilon == pytest.approx(2)
    assert bob.explain([WARDS, COUNT], epsilon=2).epsilon == pytest.approx(2)
    assert bob.ask(WARDS, epsilon=2).dearer


def test_recall_finds_it(curator):
    assert curator.recall(WARDS, epsilon=2) is None
    paid = curator.ask(WARDS, epsilon=4)
    assert curator.recall(WARDS, epsilon=2).receipt == paid.receipt
    assert curator.recall(WARDS, epsilon=5) is None
