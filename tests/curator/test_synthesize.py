"""Synthetic tables end to end: real files, a real engine, a real ledger."""

from fractions import Fraction
from math import log, sqrt

import duckdb
import pytest

from discreet.audit.statistics import epsilon_lower_bound
from discreet.curator.open_policy import open_curator
from discreet.errors import BudgetExceeded, EngineFailed, InvalidInput, QueryRefused
from discreet.ledger.interface import EntryKind
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss, share_of
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core.measurement import noise
from discreet.synth.core.synthetic import decode_measurements
from discreet.synth.mwem.mwem import _ExactAnswers
from discreet.synth.plan.synthesis_plan import SynthesisPlan

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}
least_price = 1e-9

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 2

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.visits.columns.age]
bounds = [0, 9]

[tables.visits.columns.ward]
keys = ["north", "south", "empty"]
"""
ROWS = (
    "SELECT range % 4000 AS patient, CASE WHEN range % 10 = 0 THEN NULL"
    " ELSE ['north', 'south'][1 + (range % 3)::INT % 2] END AS ward,"
    " (range % 50)::DOUBLE AS cost, range % 3 AS age, 'x' || range AS secret"
)
SQL = "SELECT ward, age, cost FROM visits"


@pytest.fixture
def folder(tmp_path):
    duckdb.sql(f"COPY ({ROWS} FROM range(6000)) TO '{tmp_path}/visits.parquet'")
    return tmp_path


def curator_of(folder, *, epsilon=100.0, delta="1e-6"):
    policy = folder / "clinic.toml"
    if not policy.exists():
        policy.write_text(POLICY.format(epsilon=epsilon, delta=delta))
    return open_curator(policy, analyst="ann")


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_counts_of_synthetic_rows_are_nearly_the_real_ones(folder, delta):
    """At ε = 100 noise is far below a hundred rows: less than 10⁻⁹ to fail by chance."""
    curator = curator_of(folder, epsilon=200, delta=delta)
    table = curator.synthesize(SQL, epsilon=100, bins={"cost": 10})
    rows = table.rows(6000).to_pandas()
    assert list(rows.columns) == ["ward", "age", "cost"]
    assert len(table) == pytest.approx(6000, abs=60)
    for condition, pick in {
        "ward = 'north'": rows.ward == "north",
        "ward IS NULL": rows.ward.isna(),
        "ward = 'south' AND age = 1": (rows.ward == "south") & (rows.age == 1),
        "age = 2 AND cost >= 20 AND cost < 30": (rows.age == 2) & rows.cost.between(20, 29.999),
    }.items():
        query = f"SELECT count(*) FROM '{folder}/visits.parquet' WHERE {condition}"
        ((exact,),) = duckdb.sql(query).fetchall()
        assert pick.sum() == pytest.approx(exact, abs=150), condition
    assert not (rows.ward == "empty").sum() > 100
    assert (rows.cost.between(0, 100) | rows.cost.isna()).all()


def test_a_table_is_charged_once_and_rows_are_free(folder):
    curator = curator_of(folder)
    first = curator.synthesize(SQL, epsilon=1)
    spent = curator.budget().spent
    assert isinstance(first.charged, ConcentratedLoss)
    assert spent.rho == first.charged.rho
    again = curator.synthesize(SQL, epsilon=1)
    assert again.repeated
    assert again.encoded == first.encoded
    for table in (first, again):
        assert len(table.rows(10)) == 10
        assert len(table.rows(2000)) == 2000
    assert curator.budget().spent == spent
    assert curator_of(folder).synthesize(SQL, epsilon=1).repeated  # also after a restart
    other = curator.synthesize(SQL, epsilon=1, bins=5)
    assert not other.repeated
    assert curator.budget().spent.rho == 2 * spent.rho


def test_what_is_asked_for_is_what_is_spent(folder):
    curator = curator_of(folder, delta=0)
    assert curator.plan_synthesis(SQL, epsilon=0.25).loss == PureLoss(epsilon=Fraction(1, 4))
    assert curator.synthesize(SQL, epsilon=0.25).charged == PureLoss(epsilon=Fraction(1, 4))


@pytest.mark.parametrize(
    ("sql", "price", "error"),
    [
        ("SELECT secret FROM visits", {"epsilon": 1}, QueryRefused),
        ("SELECT patient, ward FROM visits", {"epsilon": 1}, QueryRefused),
        ("SELECT ward FROM visit", {"epsilon": 1}, QueryRefused),
        (SQL, {}, InvalidInput),
        (SQL, {"epsilon": 1, "rho": 1}, InvalidInput),
        (SQL, {"epsilon": -1}, InvalidInput),
        (SQL, {"epsilon": 1, "bins": 0}, InvalidInput),
        (SQL, {"epsilon": 1000}, QueryRefused),
    ],
)
def test_what_is_refused_costs_nothing(folder, sql, price, error):
    curator = curator_of(folder)
    with pytest.raises(error) as refused:
        curator.synthesize(sql, **price)
    assert refused.value.remedy
    assert curator.budget().spent.rho == 0


def test_the_budget_is_the_same_one(folder):
    curator = curator_of(folder, epsilon=1)
    curator.ask("SELECT count(*) FROM visits", epsilon=0.9)
    with pytest.raises(BudgetExceeded):
        curator.synthesize(SQL, epsilon=0.9)


def test_a_charge_stays_when_the_engine_fails_and_is_used_again(folder, monkeypatch):
    curator = curator_of(folder)
    plan = curator.plan_synthesis(SQL, epsilon=1)

    def fails(*_, **__):
        raise EngineFailed("The database stopped.", remedy="Ask again.")

    with monkeypatch.context() as patched:
        patched.setattr(curator._engine, "run_each", fails)
        with pytest.raises(EngineFailed):
            curator.synthesize(SQL, epsilon=1)
    assert curator.budget().spent.rho == plan.loss.rho
    assert not curator.synthesize(SQL, epsilon=1).repeated
    assert curator.budget().spent.rho == plan.loss.rho


def test_who_watches_and_stops_gets_no_other_draw(folder):
    """Nothing is told before what was drawn is stored: stopping and asking again shows the same."""
    curator = curator_of(folder)
    stored = []

    def stops(what, share):
        assert "round" in what
        assert 0 <= share <= 1
        stored.append(curator._ledger.stored_answer("clinic", key))
        raise KeyboardInterrupt

    table = curator.synthesize(SQL, epsilon=1, advance=stops)
    key = table.receipt.key
    with pytest.raises(KeyboardInterrupt):
        table.rows(10)
    assert stored[0][1] == table.encoded
    again = curator.synthesize(SQL, epsilon=1)
    assert again.repeated
    assert again.encoded == table.encoded
    assert len(again.rows(10)) == 10


def test_very_many_columns_of_one_value_are_refused_before_anything_is_paid(tmp_path):
    names = [f"c{i}" for i in range(70)]
    same = ", ".join(f"'x' AS {name}" for name in names)
    duckdb.sql(f"COPY (SELECT range AS patient, {same} FROM range(50)) TO '{tmp_path}/visits.parquet'")
    declared = "".join(f'[tables.visits.columns.{name}]\nkeys = ["x"]\n' for name in names)
    head, _, _ = POLICY.format(epsilon=100, delta="1e-6").partition("[tables.visits.columns")
    (tmp_path / "clinic.toml").write_text(head + declared)
    curator = curator_of(tmp_path)
    with pytest.raises(QueryRefused):
        curator.synthesize(f"SELECT {', '.join(names)} FROM visits", epsilon=1)
    assert curator.budget().spent.rho == 0
    assert len(curator.synthesize(f"SELECT {', '.join(names[:32])} FROM visits", epsilon=10).rows(5)) == 5


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_check_against_the_data_is_charged_and_its_noise_is_what_it_paid_for(folder, delta):
    curator = curator_of(folder, delta=delta)
    table = curator.synthesize(SQL, epsilon=1)
    before = curator.budget().left
    quality = curator.check_synthetic(table, epsilon=0.5)
    assert quality.independent
    charge = [entry for entry in curator._ledger.entries("clinic") if entry.kind is EntryKind.CHARGED][-1]
    paid = charge.taken.loss
    assert paid == curator.plan_synthesis(SQL, epsilon=0.5).loss
    assert curator.budget().left != before
    _, stored = curator._ledger.stored_answer("clinic", charge.key)
    measured = decode_measurements(stored)
    assert len(measured) == len(quality.tables)
    each = noise(share_of(paid, Fraction(1, len(measured))), table.plan.sensitivity, table.plan.unit)
    assert {measurement.variance for measurement in measured} == {each}
    left = curator.budget().left
    assert curator.check_synthetic(table, epsilon=0.5).tables[0].distance == quality.tables[0].distance
    assert curator.budget().left == left


def test_a_table_is_checked_under_the_policy_that_it_was_made_under(folder, tmp_path_factory):
    """The noise of the check is for the neighbours and people of its plan."""
    other = tmp_path_factory.mktemp("other")
    (other / "visits.parquet").write_bytes((folder / "visits.parquet").read_bytes())
    policy = POLICY.format(epsilon=100, delta="1e-6")
    (other / "clinic.toml").write_text(policy.replace("add_remove", "replace_one"))
    table = curator_of(folder).synthesize(SQL, epsilon=1)
    curator = curator_of(other)
    with pytest.raises(InvalidInput):
        curator.check_synthetic(table, epsilon=1)
    assert curator.budget().spent.rho == 0


def test_which_values_there_are_does_not_depend_on_the_data(folder, tmp_path_factory):
    """Domain, plan and explanation are the same for an empty table; and one can be made from it."""
    empty = tmp_path_factory.mktemp("empty")
    duckdb.sql(f"COPY ({ROWS} FROM range(6000) WHERE false) TO '{empty}/visits.parquet'")
    full, none = curator_of(folder), curator_of(empty)
    assert full.plan_synthesis(SQL, epsilon=1) == none.plan_synthesis(SQL, epsilon=1)
    assert full.explain_synthesis(SQL, epsilon=1) == none.explain_synthesis(SQL, epsilon=1)
    made = none.synthesize(SQL, epsilon=1)
    assert len(made.rows(20)) == 20
    assert len(made) < 300  # six standard deviations and more


def test_an_explanation_says_what_noise_does_before_anything_is_paid(folder):
    curator = curator_of(folder)
    good, fair, poor = (curator.explain_synthesis(SQL, epsilon=epsilon) for epsilon in (10, 0.01, 0.001))
    assert curator.budget().spent.rho == 0
    assert not good.warning
    assert "drowns tables of 2 columns" in fair.warning
    assert "drowns even tables of one column" in poor.warning
    assert poor.stages[0].error > 100 * good.stages[0].error
    assert good.to_dict()["cells"] == good.cells


def test_rows_go_into_new_files_only(folder):
    table = curator_of(folder).synthesize(SQL, epsilon=1)
    for name in ("out.parquet", "out.csv"):
        table.rows(50).write(folder / name)
        assert duckdb.sql(f"SELECT count(*) FROM '{folder / name}'").fetchall() == [(50,)]
        with pytest.raises(InvalidInput):
            table.rows(50).write(folder / name)
    with pytest.raises(InvalidInput):
        table.rows(50).write(folder / "out.xlsx")
    with pytest.raises(InvalidInput):
        table.rows(0)


CANARIES, TABLES = 100, 10
CANARY = "SELECT range % 100 AS patient, range % 100 AS bed FROM range({rows})"
BEDS = """
[tables.visits.columns.bed]
bounds = [0, 99]
"""


def times_seen(folder, rows):
    """How often a canary's bed counts more than half way between one with the canary and one without.

    Every bed is another canary, with two rows or with none: an experiment of its own.
    """
    folder.mkdir()
    duckdb.sql(f"COPY ({CANARY.format(rows=rows)}) TO '{folder}/visits.parquet'")
    (folder / "clinic.toml").write_text(
        POLICY.format(epsilon=1000, delta=0).split("[tables.visits.col")[0] + BEDS
    )
    curator = curator_of(folder)
    prices = [1 + Fraction(i, 10**9) for i in range(TABLES)]  # another question each time
    tables = [curator.synthesize("SELECT bed FROM visits", epsilon=price) for price in prices]
    return sum(int((table.learnt.measurements[0].counts[:CANARIES] >= 1).sum()) for table in tables)


def epsilon_seen(folder):
    """Through the curator and its ledger; a lower bound that is too high once in 10⁶ times."""
    folder.mkdir()
    there, away = times_seen(folder / "with", 2 * CANARIES), times_seen(folder / "without", 0)
    return epsilon_lower_bound(there, away, CANARIES * TABLES, 0.0)


def test_a_canary_is_seen_no_better_than_the_price_allows_and_too_little_noise_is_seen(tmp_path, monkeypatch):
    assert epsilon_seen(tmp_path / "as it is") <= 1.000001
    small = Sensitivity.scalar(2**19, Neighbours.ADD_REMOVE)
    monkeypatch.setattr(SynthesisPlan, "sensitivity", small)  # a quarter of what a person can do
    assert epsilon_seen(tmp_path / "broken") > 1.000001


WORKLOAD = [
    "SELECT count(*) FROM visits WHERE ward = 'north' AND age = 1",
    "SELECT count(*) FROM visits WHERE age > 1",
    "marginals 1",
    "prefixes 1",
    "ranges 2",
]


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_workload_is_answered_well(folder, delta):
    """Noise is a few rows at ε = 100: far below 10⁻⁹ to be off by a hundred and fifty."""
    curator = curator_of(folder, epsilon=200, delta=delta)
    told = []
    table = curator.synthesize(
        "SELECT ward, age FROM visits", epsilon=100, workload=WORKLOAD, advance=lambda *_: told.append(1)
    )
    assert not told  # what is picked and measured depends on noisy counts, which nobody has paid for yet
    rows = table.rows(6000).to_pandas()
    for sql, pick in zip(WORKLOAD[:2], ((rows.ward == "north") & (rows.age == 1), rows.age > 1), strict=True):
        ((exact,),) = duckdb.sql(sql.replace("visits", f"'{folder}/visits.parquet'")).fetchall()
        assert pick.sum() == pytest.approx(exact, abs=150)
    again = curator.synthesize("SELECT ward, age FROM visits", epsilon=100, workload=WORKLOAD)
    assert again.repeated
    other = curator.plan_synthesis("SELECT ward, age FROM visits", epsilon=100, workload=WORKLOAD[:1])
    assert other != curator.plan_synthesis(
        "SELECT ward, age FROM visits", epsilon=100, workload=WORKLOAD[1:2]
    )


@pytest.mark.parametrize("workload", ["questions", "marginals 1"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_questions_are_measured_as_closely_as_was_explained_or_closer(
    folder, delta, neighbours, workload, monkeypatch
):
    declared = POLICY.format(epsilon=100.0, delta=delta).replace("add_remove", neighbours)
    (folder / "clinic.toml").write_text(declared)
    curator = curator_of(folder)
    told = {"epsilon": 1, "workload": WORKLOAD[:2] if workload == "questions" else [workload]}
    explained = curator.explain_synthesis("SELECT ward, age FROM visits", **told).question_error
    plain, deviations = _ExactAnswers.measure, []

    def noted(self, *given):
        found = plain(self, *given)
        deviations.append(found.variance**0.5)
        return found

    monkeypatch.setattr(_ExactAnswers, "measure", noted)
    curator.synthesize("SELECT ward, age FROM visits", **told)
    at_95 = 1.96 if delta != "0" else log(20) / sqrt(2)
    assert explained == pytest.approx(at_95 * deviations[0])
    assert max(deviations) == deviations[0]


@pytest.mark.parametrize(
    "question",
    [
        "SELECT sum(age) FROM visits",
        "SELECT count(*) FROM visits WHERE cost > 3",
        "SELECT count(*) FROM visits WHERE aeg > 3",
        "marginals",
        "marginals 3",
        "marginals ²",
        "marginals " + 5000 * "9",
        "ranges 0",
        "margins 2",
    ],
)
def test_a_workload_that_makes_no_sense_costs_nothing(folder, question):
    curator = curator_of(folder)
    with pytest.raises(QueryRefused) as refused:
        curator.synthesize("SELECT ward, age FROM visits", epsilon=1, workload=[question])
    assert refused.value.remedy
    assert curator.budget().spent.rho == 0


def test_a_domain_too_large_for_a_workload_is_said_with_its_size(folder):
    sql = "SELECT ward, age, cost, cost * 2 AS b, cost * 3 AS c, cost * 4 AS d FROM visits"
    with pytest.raises(QueryRefused, match=r"different records"):
        curator_of(folder).plan_synthesis(sql, epsilon=1, workload=["marginals 1"])


def test_a_check_of_a_wide_table_looks_at_all_pairs(folder, monkeypatch):
    """Also at those that were not measured; and the two prices are all that is charged."""
    for module in ("core.what_to_measure", "core.synthesis", "plan.synthesis_plan", "plan.explain"):
        monkeypatch.setattr(f"discreet.synth.{module}.MOST_CELLS", 1)
    monkeypatch.setattr("discreet.synth.core.synthesis.sample_size", lambda _: 2000)
    monkeypatch.setattr("discreet.synth.core.synthesis.chosen", lambda scored, *_, **__: [scored[1].table])
    with curator_of(folder) as curator:
        table = curator.synthesize(SQL, rho=1, bins={"cost": 10})
        assert [each.marginal.attributes for each in table.learnt.measurements[3:]] == [(0, 2)]
        assert sorted(len(each.columns) for each in table.quality().tables) == [1, 1, 1, 2]
        checked = curator.check_synthetic(table, rho=1)
        assert sorted(len(each.columns) for each in checked.tables) == [1, 1, 1, 2, 2, 2]
        assert any("2 of the 3 tables of two columns" in each for each in checked.not_preserved)
        assert curator.budget().spent == ConcentratedLoss(rho=Fraction(2), delta=Fraction(0))
