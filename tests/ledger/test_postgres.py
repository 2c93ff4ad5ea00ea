"""What a turn is in PostgreSQL: its order, its settings, its schema, and several machines."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.postgres import database as postgres_database
from discreet.ledger.postgres.database import PostgresDatabase
from discreet.ledger.postgres.schema import MARK
from discreet.model.privacy import PureLoss
from discreet.postgres import connection as postgres_connection

from .places import TENTH, account, charge, closed_at_every_call


@pytest.fixture
def kind():
    return "postgres"


@pytest.fixture
def role(place):
    """A role of its own, and the place as this role names it."""
    name = f"role_of_{place.schema}"
    place.run(f"CREATE ROLE {name} LOGIN", f"CREATE SCHEMA {place.schema} AUTHORIZATION {name}")
    return name


def seen_by(place, role):
    return replace(place, address=place.address.replace("postgres@", f"{role}@"))


# Durability and isolation.


def test_the_order_is_commit_then_anchor(ledger, monkeypatch):
    done = []

    def noted(name, function):
        def wrapper(*args, **kwargs):
            words = str(args[1]) if name == "execute" else name
            done.extend(word for word in ("BEGIN", "LOCK", "COMMIT", "fsync", "pwrite") if word in words)
            return function(*args, **kwargs)

        return wrapper

    monkeypatch.setattr(psycopg.Cursor, "execute", noted("execute", psycopg.Cursor.execute))
    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    monkeypatch.setattr(os, "pwrite", noted("pwrite", os.pwrite))
    receipt = charge(ledger, "k")
    assert done == ["pwrite", "BEGIN", "LOCK", "COMMIT", "pwrite"]
    done.clear()
    ledger.store_answer(receipt, b"42")
    assert done == ["pwrite", "BEGIN", "LOCK", "COMMIT", "pwrite"]
    done.clear()
    ledger.balance("staff")
    assert done == ["BEGIN"]


def test_a_turn_has_its_own_settings_whatever_the_role_or_the_address_say(place, role):
    place.run(
        f"ALTER ROLE {role} SET synchronous_commit TO off",
        f"ALTER ROLE {role} SET search_path TO public",
        f"ALTER ROLE {role} SET default_transaction_isolation TO 'read committed'",
        f"ALTER ROLE {role} SET default_transaction_read_only TO on",
        f"ALTER ROLE {role} SET statement_timeout TO '1h'",
    )
    url, schema = place.address.split("#")
    fast = replace(place, address=f"{url}?options=-csynchronous_commit%3Doff#{schema}")
    with seen_by(fast, role).open() as ledger:
        ledger.open_account(account())
        with ledger._database.transaction() as transaction:
            settings = {
                name: transaction.rows(f"SELECT current_setting('{name}') AS value")[0]["value"]
                for name in (
                    "synchronous_commit",
                    "search_path",
                    "transaction_isolation",
                    "transaction_read_only",
                    "lock_timeout",
                    "statement_timeout",
                    "idle_in_transaction_session_timeout",
                )
            }
    assert settings == {
        "synchronous_commit": "on",
        "search_path": f"{schema}, pg_temp",
        "transaction_isolation": "serializable",
        "transaction_read_only": "off",
        "lock_timeout": "40s",
        "statement_timeout": "45s",
        "idle_in_transaction_session_timeout": "30s",
    }


def test_a_server_that_does_not_write_through_is_refused(used, monkeypatch):
    honest = PostgresDatabase._settings
    monkeypatch.setattr(
        PostgresDatabase, "_settings", lambda self: honest(self) + "SET LOCAL synchronous_commit TO off;"
    )
    for turn in (lambda ledger: charge(ledger, "new"), lambda ledger: ledger.refresh("staff")):
        with used.open() as ledger, pytest.raises(LedgerClosed, match="would not write charges through"):
            turn(ledger)


def test_a_commit_that_is_none_is_noticed(ledger):
    """PostgreSQL answers COMMIT with ROLLBACK, and without an error, if something failed before."""
    with ledger._database.transaction() as turn:
        with pytest.raises(psycopg.errors.UndefinedTable):
            turn.change("INSERT INTO nowhere VALUES (1)")
        with pytest.raises(LedgerClosed, match="did not take"):
            turn.commit()


def test_a_turn_sees_what_was_committed_while_it_waited(place, ledger):
    """The lock comes before the snapshot: else the second turn would not see what the first one added."""
    other = place.on_another_machine("b").open()
    with other, ThreadPoolExecutor(1) as thread:
        with ledger._database.transaction() as turn:
            waiting = thread.submit(charge, other, "second")
            wait_for_a_lock(place)
            turn.change("UPDATE accounts SET version = version + 1")
            turn.commit()
        assert waiting.result().version == 2


def wait_for_a_lock(place):
    with psycopg.connect(place.server, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
        end = time.monotonic() + 30
        while connection.execute(query, [f"{place.schema}.accounts"]).fetchone() == (0,):
            assert time.monotonic() < end, "nobody waits"


def test_a_program_that_keeps_the_tables_locked_is_told(place, ledger, monkeypatch):
    monkeypatch.setattr(postgres_database, "PATIENCE_MILLISECONDS", 100)
    with psycopg.connect(place.server) as other:
        other.execute(f"LOCK TABLE {place.schema}.accounts IN SHARE MODE")
        with pytest.raises(LedgerClosed, match="kept busy by another program"):
            charge(ledger, "k")
    charge(ledger, "k")
    ledger.verify()


def test_others_outwait_a_machine_that_falls_silent_in_its_turn(place, ledger, monkeypatch):
    monkeypatch.setattr(postgres_database, "IDLE_MILLISECONDS", 300)
    with place.on_another_machine("b").open() as other, ThreadPoolExecutor(1) as thread:
        with ledger._database.transaction() as turn:
            turn.change("UPDATE accounts SET spent = 1")
            assert thread.submit(charge, other, "k").result().number == 2
            with pytest.raises(LedgerClosed, match="lost the connection"):
                turn.commit()
        assert other.balance("staff").spent == TENTH
        other.verify()


def test_a_copy_can_be_made_while_a_turn_is_taken(place, ledger):
    with ledger._database.transaction():
        assert "CREATE TABLE" in place.backup()


def test_a_server_that_can_only_be_read_is_told(ledger, monkeypatch):
    honest = PostgresDatabase._beginning
    monkeypatch.setattr(
        PostgresDatabase, "_beginning", lambda self: honest(self).replace(b"READ WRITE", b"READ ONLY")
    )
    with pytest.raises(LedgerClosed, match="can only be read"):
        charge(ledger, "k")


# The schema.


def test_several_processes_may_make_the_tables_at_once(place, role):
    """Also where a transaction would see, after it has waited, what was there before."""
    place.run(f"ALTER ROLE {role} SET default_transaction_isolation TO 'serializable'")
    own = seen_by(place, role)
    handles = [replace(own, anchor=place.anchor.with_name(f"anchor {i}")).open() for i in range(8)]
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda handle: handle.verify(), handles))
    for handle in handles:
        handle.close()
    assert done == [None] * 8


def test_ledgers_in_two_schemas_do_not_touch_each_other(place, ledger):
    charge(ledger, "k")
    with place.other("b").open() as other:
        assert other.open_account(account()).spent == PureLoss(epsilon=0)
        charge(other, "k2")
    assert ledger.balance("staff").spent == TENTH
    ledger.verify()


def test_nothing_is_made_by_looking(place):
    with place.open() as ledger:
        assert not ledger.exists()
        assert not ledger.exists()
        ledger.open_account(account())
        assert ledger.exists()


def test_names_of_another_schema_do_not_shadow_ours(place, role):
    decoys = place.other("decoys").schema
    place.run(
        f"CREATE SCHEMA {decoys} AUTHORIZATION {role}",
        f"ALTER ROLE {role} SET search_path TO {decoys}, public",
        f"CREATE TABLE {decoys}.accounts (dataset text)",
        f"CREATE TABLE {decoys}.entries (number bigint, digest text)",
        # closer to the call than the function of PostgreSQL itself, and would make the schema look ready
        f"CREATE FUNCTION {decoys}.obj_description(oid, text) RETURNS text LANGUAGE sql RETURN '{MARK}'",
    )
    with seen_by(place, role).open() as ledger:
        ledger.open_account(account())
        charge(ledger, "k")
        ledger.verify()
    place.run(f"DROP SCHEMA {decoys} CASCADE")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("CREATE TABLE mine (x int)", "not a ledger that this version can read"),
        (
            f"CREATE TABLE entries (x int); COMMENT ON TABLE entries IS '{MARK}0'",
            "written by a later version of discreet",
        ),
    ],
)
def test_what_is_not_a_ledger_of_this_version_is_left_alone(place, made, words):
    place.run(f"CREATE SCHEMA {place.schema}", made)
    before = place.backup()
    closed_at_every_call(place, words)
    assert table_definitions(place.backup()) == table_definitions(before)


def table_definitions(dump):
    return [line for line in dump.splitlines() if line.startswith("CREATE")]


def test_a_database_that_cannot_hold_all_texts_is_refused(place):
    database = f"latin_{place.schema}"
    with psycopg.connect(place.server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database} TEMPLATE template0 ENCODING 'LATIN1'")
    latin = replace(place, address=place.address.replace("/postgres#", f"/{database}#"))
    with latin.open() as ledger, pytest.raises(LedgerClosed, match="cannot hold all texts"):
        ledger.open_account(account())


def test_a_server_that_is_too_old_is_refused(place, monkeypatch):
    monkeypatch.setattr(postgres_connection, "OLDEST_SERVER", 99)
    with place.open() as ledger, pytest.raises(LedgerClosed, match="too old"):
        ledger.open_account(account())


# Several machines.


def test_an_anchor_may_lag_behind_the_ledger(place, ledger):
    with place.on_another_machine("b").open() as other:
        for i in range(3):
            charge(ledger, f"k{i}")
        charge(other, "k3")
        charge(ledger, "k4")
        assert other.balance("staff").spent == PureLoss(epsilon=0.5)
        other.verify()


def test_a_machine_without_an_anchor_is_not_let_in(place, ledger):
    charge(ledger, "k")
    stranger = replace(place, anchor=place.anchor.with_name("none yet"))
    closed_at_every_call(stranger, "anchor of this ledger is missing")
    shutil.copy(place.anchor, stranger.anchor)
    with stranger.open() as ledger:
        ledger.verify()


def test_after_a_rebase_the_other_machines_need_the_new_anchor(used):
    other = used.on_another_machine("b")
    backup = used.backup()
    with other.open() as ledger:
        charge(ledger, "lost")
    used.restore(backup)
    closed_at_every_call(other, "not the one it was")
    shutil.copy(other.anchor, used.anchor)
    with used.open() as ledger:
        ledger.rebase(write_off={"staff": TENTH}, reason="restored")
    closed_at_every_call(other, "not the one it was")
    shutil.copy(used.anchor, other.anchor)
    with other.open() as ledger:
        ledger.verify()


@pytest.mark.usefixtures("ledger")
def test_an_anchor_file_is_locked_while_it_may_be_written(place):
    """Two processes of a machine share it; after a commit, PostgreSQL itself would let the next one in."""
    assert place.anchor.with_name(place.anchor.name + ".lock").exists()


def test_addresses_and_anchors_that_cannot_be_are_refused(place, tmp_path):
    for anchor in (tmp_path, tmp_path / "missing" / "anchor", 7, None):
        with pytest.raises(InvalidInput):
            replace(place, anchor=anchor).open()
