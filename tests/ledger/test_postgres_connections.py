"""Addresses that are wrong, and connections that are lost: told in our words, with no secret in them."""

import socket
import sys
import traceback
from dataclasses import replace

import psycopg
import pytest

from discreet.errors import InvalidInput, LedgerClosed, MissingExtra
from discreet.ledger.postgres.ledger import PostgresLedger
from discreet.model.privacy import PureLoss
from tests.servers.postgres import UNTRUSTED

from .places import TENTH, account, charge
from .proxies import network_to

SECRET = "hush-hush"  # noqa: S105
WORDS_OF_THE_SERVER = (
    "FATAL",
    "ERROR",
    "psycopg",
    "does not exist",
    "SELECT",
    "INSERT",
    "server closed",
    SECRET,
)


@pytest.fixture
def kind():
    return "postgres"


def told(error):
    """What a user sees of an error, which holds no word of the server's and no password."""
    seen = "".join(traceback.format_exception_only(error)) + error.problem + error.remedy + repr(error)
    assert [word for word in WORDS_OF_THE_SERVER if word in seen] == []
    assert error.__suppress_context__ or error.__context__ is None
    return error.problem


def refused(place, **changes):
    """What the first call says at a changed address."""
    with replace(place, **changes).open() as ledger, pytest.raises(LedgerClosed) as failure:
        ledger.open_account(account())
    return told(failure.value)


# Addresses.


@pytest.mark.parametrize(
    "url",
    [
        None,
        7,
        "",
        "ledger.db",
        "mysql://host/db",
        "http://host/db#discreet",
        "postgresql:/host/db",
        "postgresql://host/db#",
        "postgresql://host/db#Discreet",
        "postgresql://host/db#a b",
        "postgresql://host/db#public",
        "postgresql://host/db#pg_catalog",
        "postgresql://host/db#information_schema",
        "postgresql://host/db#" + "x" * 64,
        'postgresql://host/db#x";DROP',
        f"postgresql://u:{SECRET}#{SECRET}@host/db#discreet",
        f"postgresql://u:{SECRET}@host/db?nonsense=1#discreet",
        f"postgresql://u:{SECRET}@host/db%zz#discreet",
        f"postgresql://u:{SECRET}@[::1/db#discreet",
        "postgresql://ho\nst/db",
    ],
)
def test_addresses_that_cannot_be_are_refused(url, tmp_path):
    with pytest.raises(InvalidInput) as failure:
        PostgresLedger(url, anchor=tmp_path / "anchor")
    told(failure.value)


def test_an_unknown_host_is_told(place):
    assert "nobody knows" in refused(place, address="postgresql://no-such-host.invalid/postgres#x")


def test_a_server_that_does_not_answer_is_told(place):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        silent = f"postgresql://127.0.0.1:{port}/db?connect_timeout=2#x"
        assert "does not answer in time" in refused(place, address=silent)
    assert "does not answer" in refused(place, address=f"postgresql://127.0.0.1:{port}/db#x")


def test_a_database_or_role_that_is_not_there_is_told(place):
    nowhere = place.address.replace("/postgres#", "/nowhere#")
    assert "a database that is not there" in refused(place, address=nowhere)
    for role in ("nobody", "timeout", "password"):
        nobody = place.address.replace("postgres@", f"{role}@")
        assert "does not know this role" in refused(place, address=nobody)


def test_a_password_that_is_wrong_or_missing_is_told_and_never_shown(place, monkeypatch):
    place.run(
        f"DROP ROLE IF EXISTS {UNTRUSTED}", f"CREATE ROLE {UNTRUSTED} LOGIN SUPERUSER PASSWORD '{SECRET}'"
    )
    wrong = place.address.replace("postgres@", f"{UNTRUSTED}:not-{SECRET}@")
    missing = place.address.replace("postgres@", f"{UNTRUSTED}@")
    for address in (wrong, missing):
        assert "wants another password" in refused(place, address=address)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with replace(place, address=missing).open() as ledger:
        ledger.open_account(account())


def test_a_role_without_rights_is_told(place):
    place.run(f"CREATE ROLE stranger_to_{place.schema} LOGIN")
    stranger = place.address.replace("postgres@", f"stranger_to_{place.schema}@")
    assert "this role may not make it" in refused(place, address=stranger)
    place.run(f"CREATE SCHEMA {place.schema}")
    assert "this role may not make it" in refused(place, address=stranger)
    with place.open() as ledger:
        ledger.open_account(account())
    assert "does not let this role in" in refused(place, address=stranger)
    place.run(
        f"GRANT USAGE ON SCHEMA {place.schema} TO stranger_to_{place.schema}",
        "GRANT SELECT ON entries TO PUBLIC",
    )
    assert "does not let this role in" in refused(place, address=stranger)


def test_a_database_that_lets_nobody_in_is_told(place):
    database = f"closed_{place.schema}"
    with psycopg.connect(place.server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}")
        connection.execute(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
        connection.execute(f"CREATE ROLE outside_{place.schema} LOGIN")
    address = f"postgresql://outside_{place.schema}@{place.server.split('@')[1]}"
    problem = refused(place, address=address.replace("/postgres", f"/{database}#x"))
    assert "does not let this role in" in problem


def test_without_the_driver_its_extra_is_named(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r'pip install "discreet\[postgres\]"'):
        place.open()


# Connections that are lost.


def kill_connections(place):
    """What an administrator does, or a server that stops."""
    with psycopg.connect(place.server, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name LIKE 'discreet ledger%' AND pid <> pg_backend_pid()"
        )


def test_a_connection_that_is_lost_between_calls_is_told_and_made_again(place, ledger):
    charge(ledger, "k")
    kill_connections(place)
    with pytest.raises(LedgerClosed, match="lost the connection") as failure:
        charge(ledger, "k2")
    told(failure.value)
    charge(ledger, "k2")
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.2)
    ledger.verify()


def test_a_connection_that_is_lost_inside_a_turn_leaves_nothing(place, ledger, monkeypatch):
    from discreet.ledger.tables import Books

    honest = Books.spend_as

    def killed(self, *args):
        honest(self, *args)
        kill_connections(place)

    with monkeypatch.context() as patched:
        patched.setattr(Books, "spend_as", killed)
        with pytest.raises(LedgerClosed, match=r"lost the connection.*added nothing") as failure:
            charge(ledger, "k")
    told(failure.value)
    assert ledger.balance("staff").spent == PureLoss(epsilon=0)
    charge(ledger, "k")
    ledger.verify()


@pytest.mark.parametrize("server_hears", [False, True], ids=["before", "after"])
def test_a_connection_that_is_lost_at_the_commit_leaves_a_charge_or_none(
    place, postgres_server, server_hears
):
    """Nobody on this side can know which of the two it was, so that both are told alike."""
    with network_to(postgres_server.port) as network:
        through = replace(place, address=place.address.replace(str(postgres_server.port), str(network.port)))
        with through.open() as ledger:
            ledger.open_account(account())
            network.cut_at(b"COMMIT", server_hears=server_hears)
            with pytest.raises(LedgerClosed, match=r"may have been made or not.*charged anew") as failure:
                charge(ledger, "k")
            told(failure.value)
            with place.on_another_machine("b").open() as other:
                assert (other.balance("staff").spent == TENTH) == server_hears
            receipt = charge(ledger, "k")
            assert receipt.number == 2 + server_hears
            assert ledger.balance("staff").spent == PureLoss(epsilon=(1 + server_hears) * TENTH.epsilon)
            ledger.store_answer(receipt, b"42")
            ledger.verify()


def test_a_server_that_ends_the_connection_at_the_commit_is_told_as_unknown(place, ledger, monkeypatch):
    from discreet.ledger.anchor import AnchorFile

    honest = AnchorFile.prepare

    def killed(self, anchor):
        honest(self, anchor)
        kill_connections(place)

    with monkeypatch.context() as patched:
        patched.setattr(AnchorFile, "prepare", killed)
        with pytest.raises(LedgerClosed, match="may have been made or not") as failure:
            charge(ledger, "k")
    told(failure.value)
    charge(ledger, "k")
    assert ledger.balance("staff").spent == TENTH
    ledger.verify()


def test_an_interrupted_turn_leaves_the_handle_usable(ledger, monkeypatch):
    from discreet.ledger.tables import Books

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Books, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            charge(ledger, "k")
    assert ledger.balance("staff").spent == PureLoss(epsilon=0)
    charge(ledger, "k")
    ledger.verify()
