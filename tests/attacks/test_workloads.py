"""Attacks G4, continued: what is computed for a synthetic table before anything is charged."""

import duckdb
import pytest

import discreet
from discreet import QueryRefused
from discreet.synth.plan import workload_text

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 10, delta = 1e-6 }
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 3
[tables.visits.columns.a]
type = "integer"
bounds = [0, 120]
[tables.visits.columns.b]
type = "integer"
bounds = [0, 120]
"""


@pytest.fixture
def curator(tmp_path):
    (tmp_path / "clinic.toml").write_text(POLICY)
    rows = "SELECT range AS patient, range % 7 AS a, range % 5 AS b FROM range(100)"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path / 'visits.parquet'}'")
    with discreet.open(tmp_path / "clinic.toml") as opened:
        yield opened


def test_g4_questions_of_a_workload_have_one_limit(curator, monkeypatch):
    """Each was computed on up to a million cells: a hundred of 1,500 characters took two minutes."""
    done = []
    cells_where = workload_text.cells_where
    monkeypatch.setattr(workload_text, "cells_where", lambda *given: done.append(1) or cells_where(*given))
    monkeypatch.setattr(workload_text, "_MOST_COMPUTED", 121 * 121 * 1_000)
    terms = " OR ".join(f"a * {i} > b + {i}" for i in range(1, 30))
    workload = [f"SELECT count(*) FROM visits WHERE a > {i} AND ({terms})" for i in range(100)]
    with pytest.raises(QueryRefused, match="compute too much together"):
        curator.explain_synthesis("SELECT a, b FROM visits", epsilon=1, workload=workload)
    assert len(done) < 20


def test_usual_workloads_are_planned(curator):
    workload = [f"SELECT count(*) FROM visits WHERE a > {i} AND b < 7" for i in range(100)]
    assert curator.explain_synthesis("SELECT a, b FROM visits", epsilon=1, workload=workload)
