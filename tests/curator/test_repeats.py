"""What was paid for at a higher price serves every cheaper request of the same question, and says so."""

import os

import pytest

import discreet
from discreet.bounds.identity import question_identity
from discreet.model.privacy import amount_of
from discreet.release.question_release import QuestionRelease
from tests.curator.test_curator import curator_of, folder  # noqa: F401  a fixture

BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
TURNED = "SELECT COUNT(*) AS people, Ward FROM visits GROUP BY ward ORDER BY people"


@pytest.fixture(params=[0, 1e-6], ids=["pure", "delta"])
def curator(folder, request):  # noqa: F811
    with curator_of(folder, epsilon=20, delta=request.param) as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        BY_WARD,
        "SELECT count(DISTINCT patient) AS n FROM visits",
        "SELECT avg(cost) AS n, count(*) FILTER (WHERE cost > 50) AS m FROM visits",
        "SELECT median(cost) AS n FROM visits",
        "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 1",
    ],
)
def test_a_dearer_answer_serves_a_cheaper_request(curator, sql):
    first = curator.ask(sql, epsilon=2)
    again = curator.ask(sql, epsilon=0.5)
    assert again.repeated
    assert again.receipt == first.receipt
    assert again.rows() == first.rows()
    assert curator.budget().spent == first.charged
    assert "more accurate than was asked for" in again.released.notes[0]
    dearer = curator.ask(sql, epsilon=3)
    assert not dearer.repeated
    assert curator.ask(sql, epsilon=1).receipt == dearer.receipt  # the best one
    assert curator.ask(sql, epsilon=2).receipt == first.receipt  # at the same price the same


def test_other_words_for_the_same_question_are_served_too(curator):
    first = curator.ask(BY_WARD, epsilon=2)
    again = curator.ask(TURNED, epsilon=0.5)
    assert again.repeated
    assert sorted(again["people"].tolist()) == sorted(first["n"].tolist())


@pytest.mark.parametrize(
    "other",
    [
        "SELECT ward, count(*) AS n FROM visits WHERE cost > 3 GROUP BY ward",
        "SELECT ward, count(DISTINCT patient) AS n FROM visits GROUP BY ward",
        "SELECT count(*) AS n FROM visits",
        "SELECT ward, count(*) AS n, avg(cost) AS m FROM visits GROUP BY ward",
    ],
)
def test_another_question_is_not(curator, other):
    curator.ask(BY_WARD, epsilon=2)
    assert not curator.ask(other, epsilon=0.5).repeated


def test_an_accuracy_is_served_if_it_is_reached(curator):
    first = curator.ask(BY_WARD, epsilon=2)
    low, high = first.noise_interval("n")
    reach = float((high - low).max()) / 2
    assert curator.ask(BY_WARD, within=3 * reach).receipt == first.receipt
    assert not curator.ask(BY_WARD, within=reach / 3).repeated


def test_with_two_measures_each_has_to_reach_it(curator):
    sql = "SELECT count(*) AS n, sum(cost) AS total FROM visits"
    paid = curator.ask(sql, epsilon=2)
    count, total = (error.each for error in curator.explain(sql, epsilon=2).errors)
    assert count < total / 2
    assert curator.ask(sql, within=1.1 * total).repeated
    less = curator.ask(sql, within=0.9 * total)
    assert not less.repeated
    assert amount_of(less.charged) < amount_of(paid.charged)


def test_new_data_is_not_served_by_old_answers(curator):
    curator.ask(BY_WARD, epsilon=2)
    curator._ledger.refresh("clinic")
    assert not curator.ask(BY_WARD, epsilon=0.5).repeated


def test_nothing_is_charged_for_it_although_nothing_is_left(folder):  # noqa: F811
    with curator_of(folder, epsilon=2) as curator:
        curator.ask(BY_WARD, epsilon=2)
        assert curator.ask(TURNED, epsilon=0.5).repeated


def test_an_answer_under_a_key_of_before_is_found_at_its_price(curator, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(QuestionRelease, "identity", lambda self: question_identity(self.plan))
        first = curator.ask(BY_WARD, epsilon=2)
    assert first.receipt.key.startswith(("question-1:", "question-2:"))
    for again in (curator.ask(TURNED, epsilon=2), curator.recall(BY_WARD, epsilon=2)):
        assert again.receipt == first.receipt
    assert curator.budget().spent == first.charged
    assert not curator.ask(BY_WARD, epsilon=1).repeated


def test_a_ledger_without_older_keys_makes_none(curator, monkeypatch):
    curator.ask(BY_WARD, epsilon=2)
    monkeypatch.setattr(QuestionRelease, "older_keys", lambda _: pytest.fail("made"))
    curator.ask("SELECT count(*) AS n FROM visits", epsilon=0.5)


def test_a_repeated_answer_says_that_the_files_have_changed(folder):  # noqa: F811
    with curator_of(folder, epsilon=2) as curator:
        first = curator.ask(BY_WARD, epsilon=0.5)
    assert not any("have changed" in note for note in first.released.notes)
    os.utime(folder / "visits.parquet", (1, 1))
    with pytest.warns(UserWarning, match="have changed"):
        curator = discreet.open(folder / "clinic.toml", analyst="ann")
    with curator:
        again = curator.ask(BY_WARD, epsilon=0.5)
        assert again.repeated
        assert (
            f"It is from {first.receipt.at:%Y-%m-%d %H:%M} UTC. The files have changed"
            in again.released.notes[0]
        )
        assert "of version 1 of the data" in again.price()
        fresh = curator.ask("SELECT count(*) AS n FROM visits", epsilon=0.5)
        assert not any("have changed" in note for note in fresh.released.notes)
