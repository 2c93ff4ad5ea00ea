"""Every command works on the ledger that the policy names, in a file or in PostgreSQL."""

import json
import re
from pathlib import Path

import psycopg
import pytest

from discreet.curator.ledgers import open_ledger, place_named_by
from discreet.ledger.postgres.ledger import PostgresLedger
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.privacy import PureLoss
from tests.apps.clinic import ask, declare, make_clinic, run
from tests.ledger.places import account, charge, postgres_place

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture
def place(postgres_server, tmp_path):
    return postgres_place(postgres_server, tmp_path)


def named(location):
    return f'ledger = "{location}"'


def test_every_command_works_on_a_ledger_in_postgresql(place, tmp_path):
    policy = make_clinic(tmp_path, cap=named(place.address))
    first = json.loads(ask(policy).output)
    again = json.loads(ask(policy).output)
    assert (first["rows"], again["receipt"]["repeated"]) == (again["rows"], True)
    assert "ε = 0.25 of ε = 1 spent" in run("budget", "--policy", policy).output
    verified = run("ledger", "verify", "--policy", policy)
    assert (verified.exit_code, "4 entries" in verified.output) == (0, True)
    assert len(run("ledger", "export", "--policy", policy).output.splitlines()) == 4
    assert run("data", "refresh", "--policy", policy, "--yes").exit_code == 0
    assert json.loads(ask(policy).output)["receipt"]["repeated"] is False
    declare(tmp_path, epsilon=2.0, cap=named(place.address))
    assert run("budget", "change", "--policy", policy, "--reason", "approved", "--yes").exit_code == 0
    assert json.loads(run("budget", "--policy", policy, "--format", "json").output)["left"] == {
        "epsilon": 1.5
    }
    assert not (tmp_path / "clinic.ledger").exists()
    assert (tmp_path / "clinic.ledger.anchor").exists()


def test_an_auditor_needs_the_address_and_the_anchor_only(place, tmp_path):
    policy = make_clinic(tmp_path, cap=named(place.address))
    ask(policy)
    anchor = (tmp_path / "clinic.ledger.anchor").rename(tmp_path / "brought along")
    policy.unlink()
    named_here = ("ledger", "verify", "--ledger", place.address)
    assert run(*named_here, "--anchor", anchor).exit_code == 0
    missing = run(*named_here, "--policy", policy)
    assert (missing.exit_code, "anchor of this ledger is missing" in missing.output) == (1, True)


@pytest.mark.parametrize(
    "command", [("ledger", "verify"), ("ledger", "export"), ("data", "refresh", "--yes")]
)
def test_looking_at_a_ledger_that_is_not_there_makes_none(place, tmp_path, command):
    policy = make_clinic(tmp_path, cap=named(place.address))
    result = run(*command, "--policy", policy)
    assert result.exit_code == 2
    assert "There is no ledger" in result.output
    assert "ε = 0 of ε = 1 spent" in run("budget", "--policy", policy).output
    with psycopg.connect(place.server) as connection:
        query = "SELECT count(*) FROM pg_namespace WHERE nspname = %s"
        assert connection.execute(query, [place.schema]).fetchone() == (0,)


def test_a_file_elsewhere_is_found_relative_to_the_policy(tmp_path):
    (tmp_path / "books").mkdir()
    policy = make_clinic(tmp_path, cap=named("books/own.db"))
    ask(policy)
    assert {path.name for path in (tmp_path / "books").iterdir()} >= {"own.db", "own.db.anchor"}
    assert not (tmp_path / "clinic.ledger").exists()
    assert run("ledger", "verify", "--policy", policy).exit_code == 0
    assert run("ledger", "verify", "--ledger", tmp_path / "books" / "own.db").exit_code == 0


def test_a_dataset_does_not_start_anew_by_moving_into_postgresql(place, tmp_path):
    policy = make_clinic(tmp_path)
    ask(policy)
    declare(tmp_path, cap=named(place.address))
    refused = run("ask", "SELECT count(*) FROM visits", "--epsilon", "0.1", "--policy", policy)
    assert (refused.exit_code, "not the one it was" in refused.output) == (1, True)


def test_a_server_that_does_not_answer_is_told(tmp_path):
    policy = make_clinic(tmp_path, cap=named("postgresql://127.0.0.1:1/clinic#discreet"))
    for command in (("budget",), ("ledger", "verify")):
        result = run(*command, "--policy", policy)
        assert (result.exit_code, "does not answer" in result.output) == (1, True)


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("mysql://db.example/clinic", "no ledger can be kept there"),
        ("postgresql://db.example/clinic#No", "lower-case letters"),
        ("postgresql://ana:hush@db.example/clinic", "password"),
        ("postgresql://db.example/clinic?password=hush#discreet", "password"),
        ("postgresql://db.example/clinic?sslpassword=hush#discreet", "password"),
        ("postgresql://ana:hu?sh@db.example/clinic#discreet", "password"),
        ("", "empty"),
    ],
)
def test_ledgers_that_cannot_be_are_refused_with_their_line(tmp_path, location, problem):
    policy = make_clinic(tmp_path, cap=named(location))
    result = run("budget", "--policy", policy)
    assert result.exit_code == 2
    assert "clinic.toml, line 6: [dataset] ledger" in result.output
    assert problem in " ".join(result.output.split())
    assert "hush" not in result.output


def test_one_function_opens_them_all(place, tmp_path):
    policy = make_clinic(tmp_path)
    with open_ledger(place_named_by(policy)) as ledger:
        assert type(ledger) is SqliteLedger
    declare(tmp_path, cap=named(place.address))
    with open_ledger(place_named_by(policy)) as ledger:
        assert type(ledger) is PostgresLedger


def test_the_sql_of_the_reference_does_what_it_says(postgres_server, tmp_path):
    """Run as it is written, in a database of its own."""
    page = (DOCS / "reference" / "ledger.md").read_text()
    make_schema, give_away = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    with psycopg.connect(postgres_server.url, autocommit=True) as administrator:
        administrator.execute("CREATE DATABASE clinic_with_ledger")
    url = postgres_server.url_of("clinic_with_ledger", role="curator") + "#discreet"
    with psycopg.connect(postgres_server.url_of("clinic_with_ledger"), autocommit=True) as administrator:
        administrator.execute(make_schema)
        with PostgresLedger(url, anchor=tmp_path / "anchor") as ledger:
            ledger.open_account(account())
            charge(ledger, "k")
            administrator.execute(give_away)
            ledger.store_answer(charge(ledger, "k2"), b"42")
            ledger.change_budget(
                "staff", budget=PureLoss(epsilon=2), analyst_cap=PureLoss(epsilon=2), reason="r"
            )
            ledger.refresh("staff")
            ledger.rebase(write_off={"staff": PureLoss(epsilon=0.1)}, reason="to be sure")
            ledger.verify()
    with psycopg.connect(url.partition("#")[0], autocommit=True) as curator:
        for forbidden in (
            "UPDATE discreet.entries SET question = ''",
            "DELETE FROM discreet.answers",
            "TRUNCATE discreet.analysts",
            "DROP TRIGGER entries_stay ON discreet.entries",
            "ALTER TABLE discreet.entries DISABLE TRIGGER ALL",
            "CREATE OR REPLACE FUNCTION discreet.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
            "CREATE TABLE discreet.mine ()",
            "DROP SCHEMA discreet CASCADE",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                curator.execute(forbidden)
