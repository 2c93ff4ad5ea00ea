"""Bounds that are learnt privately, on a real table through the real command."""

import json
from fractions import Fraction

import duckdb
import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.apps.views.bounds import learn_bounds
from discreet.bounds.calibrate import budget_of
from discreet.curator.open_policy import open_curator
from discreet.errors import QueryRefused

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 100, delta = {delta} }}
least_price = 1e-9

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 2

[tables.visits.columns.age]
bounds = [0, 100]
"""
ROWS = (
    "SELECT range // 2 AS patient, 3.0 + range % 1000 AS cost, -5.0 + range % 4 AS balance, 40 AS age,"
    " 'x' AS note FROM range(20000) UNION ALL SELECT -1, 1e9, 0, 40, 'x'"
)


@pytest.fixture(params=["0", "1e-6"])
def policy(tmp_path, request):
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet'")
    path = tmp_path / "discreet.toml"
    path.write_text(POLICY.format(delta=request.param))
    return path


def test_bounds_hold_nearly_all_values_and_not_those_of_one_person(policy):
    """Bins have thousands of rows. For that of 1e9 to stand out, its noise has to exceed 19 scales: 10⁻⁸."""
    curator = open_curator(policy)
    found = learn_bounds(curator, "cost", epsilon=20)
    assert found.ends == (2, 1024)
    found = learn_bounds(curator, "visits.balance", epsilon=20)
    assert found.ends == (-8, -1)


@pytest.mark.parametrize("name", ["patient", "visits.PATIENT"])
def test_the_person_has_no_bounds_to_learn(policy, name):
    """It would count people by the size of their ids, and charge for it."""
    with open_curator(policy) as curator:
        with pytest.raises(QueryRefused, match="identifies a person") as refusal:
            learn_bounds(curator, name, epsilon=20)
        assert curator.budget().left == budget_of(curator.dataset)
    assert "another column" in refusal.value.remedy


def test_the_command_says_what_to_write(policy):
    run = CliRunner().invoke(main, ["bounds", "cost", "--epsilon", "20", "--policy", str(policy)])
    assert run.exit_code == 0
    assert "[tables.visits.columns.cost]\nbounds = [2, 1024]" in run.output
    again = ["bounds", "cost", "--epsilon", "20", "--policy", str(policy), "--format", "json"]
    assert json.loads(CliRunner().invoke(main, again).output)["bounds"] == [2, 1024]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("csot", "Did you mean “cost”"),
        ("note", "no bounds"),
        ("age", "has bounds already"),
        ("visit.cost", "Did you mean “visits”"),
    ],
)
def test_columns_without_bounds_to_learn_are_refused_for_free(policy, column, problem):
    curator = open_curator(policy)
    with pytest.raises(QueryRefused, match=problem):
        learn_bounds(curator, column, epsilon=1)
    assert curator.budget().version == 1
    assert sum(entry.kind == "charged" for entry in curator._ledger.entries("clinic")) == 0


def test_nothing_that_stands_out_is_an_answer_and_costs_its_price(policy, monkeypatch):
    """At ε = 0.01 one row of 2.0 would need noise that is less likely than 10⁻⁷ to stand out."""
    monkeypatch.setattr("discreet.apps.views.bounds._CONFIDENCE", 1 - Fraction(1, 10**7))
    duckdb.sql(f"COPY (SELECT 1 AS patient, 2.0 AS cost, 40 AS age) TO '{policy.parent}/visits.parquet'")
    command = ["bounds", "cost", "--epsilon", "0.01", "--policy", str(policy)]
    run = CliRunner().invoke(main, command)
    assert run.exit_code == 0
    words = " ".join(run.output.split())
    assert "No values of cost stand out" in words
    assert "Receipt 3" in words
    found = json.loads(CliRunner().invoke(main, [*command, "--format", "json"]).output)
    assert found["bounds"] is None
