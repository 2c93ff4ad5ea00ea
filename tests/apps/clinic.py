"""A small clinic with a policy, for tests of the commands: real files, a real ledger."""

import duckdb
from click.testing import CliRunner

from discreet.apps.commands.main import main

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}
{cap}
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 1
[tables.visits.columns.ward]
keys = ["north", "south"]
"""
VISITS = "SELECT range AS patient, ['north', 'south'][1 + range % 2] AS ward FROM range(1000)"
COUNT = "SELECT count(*) AS n FROM visits"


def make_clinic(folder, **budget):
    duckdb.sql(f"COPY ({VISITS}) TO '{folder}/visits.parquet'")
    return declare(folder, **budget)


def declare(folder, *, epsilon=1.0, delta=0, cap=""):
    policy = folder / "clinic.toml"
    policy.write_text(POLICY.format(epsilon=epsilon, delta=delta, cap=cap))
    return policy


def run(*arguments, answer=None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=answer)


def ask(policy, *, epsilon=0.25, sql=COUNT, analyst="ann"):
    result = run("ask", sql, "--epsilon", epsilon, "--as", analyst, "--policy", policy, "--format", "json")
    assert result.exit_code == 0, result.output
    return result
