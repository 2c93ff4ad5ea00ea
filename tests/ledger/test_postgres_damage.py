"""Edits by hand and damage in PostgreSQL: refused by the tables, or found, in plain words."""

from dataclasses import replace
from urllib.parse import quote

import psycopg
import pytest
from psycopg.rows import dict_row

from discreet.errors import LedgerClosed
from discreet.ledger.postgres.schema import _alike, described

from .places import charge, closed_at_every_call

TABLES = ("entries", "answers", "accounts", "analysts", "people")


@pytest.fixture
def kind():
    return "postgres"


REFUSED = [
    "UPDATE entries SET question = 'x' WHERE number = 2",
    "DELETE FROM entries WHERE number = 3",
    "INSERT INTO entries SELECT 9, kind, dataset, 9, analyst, question, key, currency, amount, delta, "
    "spent, spent_delta, note, at, 'd' FROM entries WHERE number = 2",
    "INSERT INTO entries SELECT 4, kind, dataset, version, analyst, question, key, currency, amount, "
    "delta, spent, spent_delta, note, at, 'd' FROM entries WHERE number = 3",
    "INSERT INTO answers VALUES (9, '')",
    "UPDATE answers SET answer = '\\x00'",
    "DELETE FROM answers",
    "UPDATE accounts SET spent = 0",
    "UPDATE accounts SET spent = budget + 1",
    "UPDATE accounts SET spent = -1",
    "UPDATE accounts SET budget = 0",
    "UPDATE accounts SET budget = 9000000000000000000",
    "UPDATE accounts SET version = 0",
    "UPDATE accounts SET currency = 'gold'",
    "DELETE FROM accounts",
    "INSERT INTO analysts VALUES ('nowhere', 'ana', 0, 0)",
    "UPDATE analysts SET spent = 0",
    "DELETE FROM analysts",
    *(f"TRUNCATE {table} CASCADE" for table in TABLES),
]


def test_the_tables_refuse_what_must_not_be(used):
    for statement in REFUSED:
        with pytest.raises(psycopg.IntegrityError):
            used.run(statement)
    with used.open() as ledger:
        ledger.verify()


def run_past_the_triggers(place, statement):
    """The superuser turns the triggers off, edits, and turns them on again."""
    place.run(
        *(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in TABLES),
        statement,
        *(f"ALTER TABLE {table} ENABLE TRIGGER ALL" for table in TABLES),
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET question = 'x' WHERE number = 2",
        "UPDATE entries SET amount = 1 WHERE number = 2",
        "UPDATE entries SET analyst = 'bo' WHERE number = 2",
        "UPDATE entries SET at = '2020-01-01T00:00:00.000000+00:00' WHERE number = 1",
        "UPDATE entries SET at = 'yesterday' WHERE number = 2",
        "UPDATE entries SET kind = 'stolen' WHERE number = 2",
        "UPDATE entries SET kind = 'refreshed' WHERE number = 2",
        "DELETE FROM entries WHERE number = 1",
        "TRUNCATE entries, answers",
        "UPDATE accounts SET spent = 0",
        "UPDATE accounts SET budget = budget + 1",
        "UPDATE accounts SET cap = 0",
        "UPDATE accounts SET version = 7",
        "UPDATE accounts SET fingerprint = 'other'",
        "UPDATE accounts SET dataset = ''",
        "UPDATE analysts SET spent = 0",
        "DELETE FROM analysts",
        "DELETE FROM accounts",
        "UPDATE answers SET answer = '\\x00'",
        "UPDATE answers SET number = -7",
        "DELETE FROM answers",
    ],
)
def test_an_edit_past_the_triggers_is_found_by_verify(used, statement):
    run_past_the_triggers(used, statement)
    with used.open() as ledger, pytest.raises(LedgerClosed):
        ledger.verify()
    with used.open() as ledger, pytest.raises(LedgerClosed):
        ledger.rebase(write_off="everything", reason="a broken chain cannot be rebased")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET spent = 0",
        "UPDATE entries SET note = 'x' WHERE number = 3",
        "DELETE FROM entries WHERE number = 3",
    ],
)
def test_the_next_charge_finds_an_edit_of_the_sum_or_of_the_last_entry(used, statement):
    run_past_the_triggers(used, statement)
    with used.open() as ledger, pytest.raises(LedgerClosed):
        charge(ledger, "k2")
    with used.open() as ledger:
        assert len(list(ledger.export())) >= 2  # the owner may still look


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_stay ON entries",
        "DROP TRIGGER entries_are_not_truncated ON entries",
        "ALTER TABLE entries DISABLE TRIGGER entries_stay",
        "ALTER TABLE answers DISABLE TRIGGER ALL",
        "ALTER TABLE entries ENABLE REPLICA TRIGGER entries_stay",
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE accounts DROP CONSTRAINT accounts_check",
        "ALTER TABLE accounts DROP CONSTRAINT accounts_check, "
        "ADD CONSTRAINT accounts_check CHECK (spent <= budget + 1 AND spent_delta <= budget_delta)",
        "ALTER TABLE answers DROP CONSTRAINT answers_number_fkey",
        "ALTER TABLE accounts ALTER COLUMN spent DROP NOT NULL",
        "ALTER TABLE accounts ALTER COLUMN spent SET DEFAULT 0",
        "ALTER TABLE entries ALTER COLUMN version TYPE int",
        "ALTER TABLE entries ADD COLUMN more int",
        "DROP INDEX entries_of_key",
        "CREATE INDEX more ON entries (at)",
        "CREATE RULE lost AS ON INSERT TO entries DO INSTEAD NOTHING",
        "ALTER TABLE entries ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON entries USING (false)",
        "CREATE TABLE more () INHERITS (accounts)",
        "ALTER TABLE answers SET UNLOGGED",
        "CREATE VIEW more AS SELECT 1 AS one",
    ],
)
def test_tables_and_triggers_that_were_changed_are_noticed(used, statement):
    with used.open() as ledger:
        ledger.balance("staff")
        used.run(statement)
        with pytest.raises(LedgerClosed, match="triggers were changed"):
            ledger.verify()
    with used.open() as ledger, pytest.raises(LedgerClosed, match="triggers were changed"):
        charge(ledger, "k2")


def test_a_ledger_of_another_version_is_not_read(used):
    used.run("COMMENT ON TABLE entries IS 'discreet ledger 3'")
    closed_at_every_call(used, "written by a later version of discreet")


def test_rights_that_were_given_are_no_change(used):
    used.run("GRANT SELECT ON entries TO PUBLIC", "ANALYZE entries", "REINDEX TABLE entries")
    with used.open() as ledger:
        ledger.verify()


def test_a_ledger_that_was_restored_from_a_dump_is_whole(used):
    used.restore(used.backup())
    with used.open() as ledger:
        ledger.verify()
        charge(ledger, "k2")


def test_a_backup_that_is_restored_under_an_open_handle_is_noticed(used):
    backup = used.backup()
    with used.open() as ledger:
        charge(ledger, "k2")
        used.restore(backup)
        with pytest.raises(LedgerClosed, match="not the one it was"):
            charge(ledger, "k3")


def test_a_schema_that_is_dropped_under_an_open_handle_is_told(used):
    with used.open() as ledger:
        ledger.balance("staff")
        charge(ledger, "k1")
        used.lose()
        with pytest.raises(LedgerClosed, match="has lost its tables"):
            ledger.balance("staff")
        with pytest.raises(LedgerClosed, match="has lost its tables"):
            charge(ledger, "k2")
        with pytest.raises(LedgerClosed, match="not the one it was"):
            charge(ledger, "k2")


@pytest.mark.parametrize("setting", ["quote_all_identifiers=on", "standard_conforming_strings=off"])
def test_item11_how_a_server_is_set_to_print_is_no_change(used, setting):
    """What a schema is known by is printed by the server, as a role, a database or an address tell it to."""
    name, hash_sign, schema = used.address.partition("#")
    joined = "&" if "?" in name else "?"
    otherwise = replace(used, address=f"{name}{joined}options=-c%20{quote(setting)}{hash_sign}{schema}")
    with otherwise.open() as ledger:
        ledger.verify()
        charge(ledger, "k2")


def test_item11_how_a_version_breaks_lines_is_no_change_and_the_text_of_a_function_is():
    assert _alike("constraint", "c t CHECK (a\n   AND b)") == _alike("constraint", "c t CHECK (a AND b)")
    assert _alike("function", "BEGIN -- x\nRAISE") != _alike("function", "BEGIN -- x RAISE")


def test_item11_what_only_some_versions_list_is_not_part_of_the_digest(used):
    """PostgreSQL 18 lists NOT NULL among constraints; it is told of the columns, as before."""
    with psycopg.connect(used.server, row_factory=dict_row) as connection:
        connection.execute(f"SET search_path TO {used.schema}, pg_temp")
        found = described(connection, used.schema)
    kinds = {definition.split()[0] for kind, _, definition in found if kind == "constraint"}
    assert kinds == {"c", "f", "p", "u"}
    assert {kind for kind, _, _ in found} == {
        "relation",
        "column",
        "constraint",
        "index",
        "trigger",
        "function",
        "type",
    }
