"""The path of a question, end to end: real files, a real engine, a real ledger."""

import traceback
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.audit.statistics import epsilon_lower_bound
from discreet.curator.open_policy import open_curator
from discreet.errors import BudgetExceeded, DiscreetError, EngineFailed, InvalidInput, QueryRefused
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.sql import added_values as emission

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 3
max_groups = 2

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.visits.columns.ward]
keys = ["north", "south", "empty"]
"""
ROWS = (
    "SELECT range % 400 AS patient, ['north', 'south'][1 + range % 2] AS ward, (range % 100)::DOUBLE AS cost"
)


@pytest.fixture
def folder(tmp_path):
    duckdb.sql(f"COPY ({ROWS} FROM range(1000)) TO '{tmp_path}/visits.parquet'")
    return tmp_path


def curator_of(folder, *, epsilon=1.0, delta=0, analyst="ann"):
    policy = folder / "clinic.toml"
    if not policy.exists():
        policy.write_text(POLICY.format(epsilon=epsilon, delta=delta))
    return open_curator(policy, analyst=analyst)


BY_WARD = "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward"


def test_an_answer_has_every_public_key_and_states_its_error(folder):
    answer = curator_of(folder, epsilon=100).ask(BY_WARD, epsilon=50)
    released = answer.released
    assert answer["ward"].tolist() == ["north", "south", "empty"]
    assert released.values["n"][0] == pytest.approx(500, abs=5)  # 30 scales: below 10⁻¹² to fail
    assert released.values["mean"][1] == pytest.approx(50, abs=5)
    low, high = answer.interval("n")
    assert 0 < high[0] - low[0] < 4
    assert answer.charged == PureLoss(epsilon=Fraction(50))
    assert answer.left == PureLoss(epsilon=Fraction(50))


def test_what_is_asked_for_is_what_is_spent(folder):
    curator = curator_of(folder)
    for question in ("SELECT count(*) FROM visits", BY_WARD, "SELECT variance(cost) FROM visits"):
        assert curator.plan(question, epsilon=0.1).loss == PureLoss(epsilon=Fraction(1, 10))


def test_a_budget_with_a_delta_is_spent_in_rho(folder):
    curator = curator_of(folder, delta="1e-6")
    plan = curator.plan(BY_WARD, epsilon=1.0)
    assert isinstance(plan.loss, ConcentratedLoss)
    assert plan.loss.rho == pytest.approx(float(curator.budget().account.budget.rho))
    assert curator.plan(BY_WARD, rho=0.01).loss.rho == Fraction(1, 100)


def test_the_same_question_is_charged_once_and_answered_alike(folder):
    first = curator_of(folder).ask(BY_WARD, epsilon=0.1)
    again = curator_of(folder, analyst="ben").ask(BY_WARD.replace("AS n", "AS  n").lower(), epsilon=0.1)
    assert again.repeated
    assert again.released.encode() == first.released.encode()
    assert curator_of(folder).budget().spent == PureLoss(epsilon=Fraction(1, 10))


def test_ten_questions_at_a_tenth_fit_and_an_eleventh_does_not(folder):
    curator = curator_of(folder)
    for i in range(10):
        curator.ask(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon=0.1)
    with pytest.raises(BudgetExceeded):
        curator_of(folder).ask("SELECT count(*) FROM visits WHERE cost > 10", epsilon=0.1)


@pytest.mark.parametrize(
    "question",
    [
        BY_WARD,
        "SELECT patient % 9 AS rest, count(*) FROM visits GROUP BY rest",
        "SELECT median(cost) FROM visits",
    ],
)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-7"), ("0.7", "3.3e-9"), ("0.1234567890123456789", "0")]
)
def test_the_whole_budget_can_be_asked_for_at_once(folder, question, epsilon, delta):
    if delta == "0" and "rest" in question:
        pytest.skip("private keys need a δ")
    curator = curator_of(folder, epsilon=epsilon, delta=delta)
    answer = curator.ask(question, epsilon=curator.dataset.epsilon)
    assert max(answer.left.epsilon if delta == "0" else answer.left.rho, 0) < 1e-9


def test_explaining_spends_nothing(folder):
    curator = curator_of(folder)
    found = curator.explain(BY_WARD, epsilon=0.1)
    assert found.questions_left == 10
    assert found.share == pytest.approx(0.1)
    assert curator.budget().spent == PureLoss(epsilon=Fraction(0))


def test_asking_by_accuracy_gives_that_accuracy(folder):
    plan = curator_of(folder).plan("SELECT ward, count(*) FROM visits GROUP BY ward", within=100)
    assert 90 < plan.error(plan.bounded.measures[0]).high <= 100


def test_a_failure_after_the_charge_says_nothing_and_keeps_the_charge(folder, monkeypatch):
    curator = curator_of(folder)
    honest = emission.integer_column
    monkeypatch.setattr(
        emission,
        "integer_column",
        lambda part, name, dialect: (
            f"""CASE WHEN "t0.cost" = 13 THEN CAST('canary' || "t0.cost" AS BIGINT)"""
            f" ELSE {honest(part, name, dialect)[0]} END",
            honest(part, name, dialect)[1],
        ),
    )
    with pytest.raises(EngineFailed) as failure:
        curator.ask("SELECT sum(cost) FROM visits", epsilon=0.25)
    assert "canary13" not in "".join(traceback.format_exception(failure.value))
    assert curator.budget().spent == PureLoss(epsilon=Fraction(1, 4))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM visits",
        "SELECT cost FROM visits",
        "SELECT patient, count(*) FROM visits GROUP BY patient",
        "SELECT sum(patient) FROM visits",
        "SELECT count(*) FROM read_parquet('visits.parquet')",
        "SELECT count(*) FROM visits, visits",
        "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)",
        "SELECT sum(patient) FROM (SELECT cost, patient FROM visits) AS t(patient, cost)",
        "SELECT sum(cost) FROM visits AS v(cost, ward, patient)",
        "SELECT count(*) OVER () FROM visits",
        "SELECT count(*) FROM visits; DROP TABLE visits",
        "COPY visits TO 'x.csv'",
        "ATTACH 'x.db'",
        "PRAGMA database_list",
        "SELECT getenv('HOME') FROM visits",
        "SELECT random() FROM visits",
        "SELECT count(*) FROM visits WHERE random() < 0.5",
        "SELECT DISTINCT ward FROM visits",
        "SELECT string_agg(ward, ',') FROM visits",
        "SELECT count(DISTINCT (cost, ward)) FROM visits",
        "SELECT count(*) FROM information_schema.tables",
        "SELECT count(*) FROM data.visits",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " FROM visits",
        "SELECT count(*) FROM visits WHERE ward = 'a\0b'",
        "",
        "hello",
    ],
)
def test_what_has_no_private_answer_is_refused_with_a_remedy_and_costs_nothing(folder, sql):
    curator = curator_of(folder)
    with pytest.raises(QueryRefused) as refusal:
        curator.ask(sql, epsilon=0.1)
    assert refusal.value.remedy
    assert curator.budget().spent == PureLoss(epsilon=Fraction(0))


@pytest.mark.parametrize(
    "price",
    [
        {},
        {"epsilon": 0.1, "within": 3},
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"epsilon": "1"},
        {"within": -1},
    ],
    ids=repr,
)
def test_a_question_has_one_price(folder, price):
    with pytest.raises(DiscreetError) as refusal:
        curator_of(folder).ask("SELECT count(*) FROM visits", **price)
    assert isinstance(refusal.value, InvalidInput)


def test_a_grid_that_is_too_fine_for_64_bits_is_refused_before_the_charge(folder):
    """Else a row could make the engine fail, after the charge, because of its value."""
    policy = POLICY.format(epsilon=1.0, delta=0).replace(
        "bounds = [0, 100]", "bounds = [0, 1e15]\nunit = 1e-9"
    )
    (folder / "clinic.toml").write_text(policy)
    curator = curator_of(folder)
    with pytest.raises(QueryRefused, match="coarser unit"):
        curator.ask("SELECT sum(cost) FROM visits", epsilon=0.1)
    assert curator.budget().spent == PureLoss(epsilon=Fraction(0))


def test_names_are_helped_with(folder):
    with pytest.raises(QueryRefused, match="Did you mean “visits”"):
        curator_of(folder).ask("SELECT count(*) FROM visit", epsilon=0.1)
    with pytest.raises(QueryRefused, match="Did you mean “cost”"):
        curator_of(folder).ask("SELECT sum(csot) FROM visits", epsilon=0.1)


def test_single_people_are_counted_instead(folder):
    with pytest.raises(QueryRefused, match="DISTINCT patient"):
        curator_of(folder).ask("SELECT patient, cost FROM visits", epsilon=0.1)


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("cost IN (SELECT cost FROM visits)", "PERSON IN (SELECT PERSON"),
        ("EXISTS (SELECT 1 FROM visits)", "v.PERSON IN (SELECT PERSON"),
        ("cost > (SELECT avg(cost) FROM visits)", "join on the person"),
        ("rank() OVER (ORDER BY cost) < 3", "ORDER BY on noisy values"),
        ("log(cost) > 1", "ln"),
    ],
)
def test_what_cannot_be_asked_has_something_to_write_instead(folder, condition, hint):
    with pytest.raises(QueryRefused) as refusal:
        curator_of(folder).ask(f"SELECT count(*) FROM visits WHERE {condition}", epsilon=0.1)
    assert hint in refusal.value.remedy


def test_free_computations_on_noisy_values(folder):
    curator = curator_of(folder, epsilon=100)
    answer = curator.ask(
        "SELECT ward, count(*) FILTER (WHERE cost >= 50) / count(*) AS share FROM visits"
        " GROUP BY ward HAVING count(*) > 100 ORDER BY share DESC, ward LIMIT 1",
        epsilon=50,
    )
    assert len(answer) == 1
    assert answer["share"][0] == pytest.approx(0.5, abs=0.05)
    low, high = answer.interval("share")
    assert low[0] < answer["share"][0] < high[0]


def test_black_box_a_person_more_or_less_is_hidden(tmp_path):
    """Layer 5 through `ask`: 40 questions a side at ε = 1 about 50 people in two groups each.

    The event is that both groups of a person are at 1 or above, fixed in advance; false alarm 10⁻⁶, and a
    halved scale is seen. Each question differs by a constant that no row meets, so that none is a repetition.
    """
    counts = []
    for people in (50, 0):
        folder = tmp_path / str(people)
        folder.mkdir()
        rows = (
            f"SELECT range // 2 AS patient, 'north' AS ward, range::DOUBLE AS cost FROM range({2 * people})"
        )
        duckdb.sql(f"COPY ({rows}) TO '{folder}/visits.parquet'")
        curator = curator_of(folder, epsilon=1000)
        question = (
            "SELECT floor(cost) AS k, count(DISTINCT patient) AS n FROM visits WHERE cost < {} GROUP BY k"
        )
        raw = [curator.ask(question.format(1000 + i), epsilon=1).released.raw["n"] for i in range(40)]
        high = np.array(raw)[:, :100] >= 1
        counts.append(int((high[:, ::2] & high[:, 1::2]).sum()))
    assert 0 <= epsilon_lower_bound(counts[0], counts[1], 2000, 0.0) <= 1


def test_an_answer_in_which_no_average_exists_is_an_answer(folder):
    """No row is in it. At ε = 900 a noisy count of 0.5 is 75 scales away: false alarms below 10⁻³⁰."""
    question = "SELECT ward, avg(cost) AS mean FROM visits WHERE cost < 0 GROUP BY ward"
    answer = curator_of(folder, epsilon=1000).ask(question, epsilon=900)
    assert [row["mean"] for row in answer.rows()] == [None, None, None]
    assert np.isnan(answer.interval("mean")[0]).all()


def test_an_answer_without_rows_is_an_answer(folder):
    question = "SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVING n > 1e12"
    answer = curator_of(folder).ask(question, epsilon=0.1)
    assert (len(answer), answer.rows(), answer.columns) == (0, [], ("ward", "n"))
    assert answer["n"].dtype == np.int64
    assert "ward" in repr(answer)
    assert "ward" in answer._repr_html_()
