"""One price for all leaves of a question; what is computed from their noisy answers is free."""

from fractions import Fraction

import pytest

from discreet.model.privacy import PureLoss
from tests.attacks.ask import Clinic

WARDS = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
OLD = "SELECT ward, count(*) AS n FROM visits WHERE age >= 65 GROUP BY ward"
SHARE = f"SELECT ward, n, 100 * n / sum(n) OVER () AS share FROM ({WARDS})"
RATIO = f"SELECT ward, o.n / w.n AS share FROM ({OLD}) AS o JOIN ({WARDS}) AS w USING (ward)"
"""Of two leaves."""


@pytest.fixture
def curator(tmp_path):
    with Clinic(tmp_path).open() as found:
        yield found


def spent(curator):
    return curator.budget().spent.epsilon


def test_what_is_computed_from_a_paid_question_is_free(curator):
    first = curator.ask(WARDS, epsilon=1)
    second = curator.ask(SHARE, epsilon=1)
    assert (first.repeated, second.repeated) == (False, True)
    assert second.receipt == first.receipt
    assert second["n"].tolist() == first["n"].tolist()
    assert second.released.low["n"].tolist() == first.released.low["n"].tolist()
    assert second["share"].sum() == pytest.approx(100)
    assert spent(curator) == 1


def test_the_plain_question_is_free_after_what_was_computed_from_it(curator):
    curator.ask(f"SELECT max(n) AS most FROM ({WARDS})", epsilon=1)
    assert curator.ask(WARDS, epsilon=1).repeated
    assert curator.ask(f"{WARDS} QUALIFY rank() OVER (ORDER BY n) = 1", epsilon=1).repeated
    assert spent(curator) == 1


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(333_333_333_333_333, 10**15)])
def test_several_leaves_are_one_charge_and_one_receipt(curator, epsilon):
    """Also where the price is no even number of units, and one leaf gets one more."""
    answer = curator.ask(RATIO, epsilon=epsilon)
    assert answer.charged == PureLoss(epsilon=epsilon)
    assert spent(curator) == epsilon
    charged = [entry for entry in curator.entries() if entry.kind.name == "CHARGED"]
    assert len(charged) == 1
    turned = f"SELECT w.ward, w.n - o.n AS young FROM ({WARDS}) AS w JOIN ({OLD}) AS o USING (ward)"
    again = curator.ask(turned, epsilon=epsilon)
    assert again.repeated
    assert again.receipt == answer.receipt
    assert spent(curator) == epsilon


def test_the_price_is_split_over_all_parts_and_spent_to_the_last(curator):
    plan = curator.plan(RATIO, epsilon=1)
    assert [leaf.loss.epsilon for leaf in plan.leaves] == [Fraction(1, 2)] * 2
    uneven = f"SELECT n, m, s FROM ({OLD}) CROSS JOIN (SELECT avg(cost) AS m, sum(age) AS s FROM visits)"
    plan = curator.plan(uneven, epsilon=Fraction(1, 3))
    assert plan.loss == curator.plan(WARDS, epsilon=Fraction(1, 3)).loss
    assert plan.leaves[0].loss.epsilon < plan.leaves[1].loss.epsilon


def test_equal_leaves_are_paid_once(curator):
    twice = f"WITH a AS ({WARDS}) SELECT x.n + y.n AS both FROM a AS x JOIN a AS y USING (ward)"
    assert len(curator.plan(twice, epsilon=1).leaves) == 1
    curator.ask(twice, epsilon=1)
    assert curator.ask(WARDS, epsilon=1).repeated


def test_another_price_is_another_question(curator):
    curator.ask(RATIO, epsilon=1)
    assert curator.recall(RATIO, epsilon=2) is None
    assert curator.recall(RATIO, epsilon=1).repeated


def test_an_error_holds_for_each_count(curator):
    plan = curator.plan(RATIO, within=50)
    for leaf in plan.leaves:
        assert leaf.error(leaf.bounded.measures[0]).high <= 50


def test_explain_prices_the_whole_and_says_what_is_known_beforehand(curator):
    found = curator.explain(
        f"SELECT ward, n, sum(n) OVER (ORDER BY ward) AS so_far FROM ({WARDS})", epsilon=1
    )
    errors = {error.measure: error.each for error in found.errors}
    assert found.loss == PureLoss(epsilon=Fraction(1))
    assert errors["n"] == curator.explain(WARDS, epsilon=1).errors[0].each
    assert errors["n"] < errors["so_far"] < 3 * errors["n"]
    found = curator.explain(RATIO, epsilon=1)
    assert [error.measure for error in found.errors] == ["n", "n (2)"]
    assert sum(found.shares.values()) == pytest.approx(0.9)
    assert any(note.startswith("share: the error") for note in found.notes)
    assert spent(curator) == 0


def test_what_is_stored_of_several_leaves_gives_the_same_answer_again(curator):
    first, second = (curator.ask(RATIO, epsilon=1).released for _ in range(2))
    assert first.encode() == second.encode()


def test_a_private_selection_stays_one_below_other_queries(curator):
    top = "SELECT age FROM visits GROUP BY age ORDER BY count(*) DESC LIMIT 3"
    curator.ask(top, epsilon=1)
    assert curator.ask(f"SELECT max(age) AS oldest FROM ({top})", epsilon=1).repeated
