"""Accounts that are bound to identities, and what processes of a service share for sign-ins."""

import sqlite3
import threading
from dataclasses import replace

import psycopg
import pytest

from discreet import InvalidInput, NotSignedIn
from discreet.service.accounts import Accounts, TokenKind, new_account
from discreet.service.identity import Identity, check_claim, checked_identity, read_identity
from discreet.service.sign_in_states import SignInStates
from discreet.service.storage.database import open_database
from discreet.service.storage.event_log import Action, EventLog
from discreet.service.user_account import Role

ISSUER = "https://login.clinic.example/staff"
ANA = f"{ISSUER}#sub=24400320"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a service keeps its people."""
    if request.param == "sqlite":
        yield str(tmp_path / "clinic.service")
        return
    server = request.getfixturevalue("postgres_server")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS identities")
        connection.execute("CREATE DATABASE identities")
    yield f"{server.url_of('identities')}#clinic"


@pytest.fixture
def database(place):
    database = open_database(place)
    yield database
    database.close()


@pytest.fixture
def people(database):
    return Accounts(database)


def analyst(name, identity=""):
    return new_account(name, Role.ANALYST, ["clinic"], identity=identity)


def test_an_identity_is_read_as_it_is_written():
    identity = read_identity(f" {ISSUER}#sub=a=b#c ")
    assert identity == Identity(issuer=ISSUER, claim="sub", value="a=b#c")
    assert read_identity(str(identity)) == identity


@pytest.mark.parametrize(
    "text",
    [
        *("", "ana", ISSUER, f"{ISSUER}#", f"{ISSUER}#sub", f"{ISSUER}#sub=", f"{ISSUER}#=x", "#sub=x"),
        *(f"{ISSUER}?a=b#sub=x", "https://a b#sub=x", "ftp://login.example#sub=x", f"{ISSUER}#sub=a\nb"),
        *(f"{ISSUER}#name=Ana", f"{ISSUER}#preferred_username=ana", f"{ISSUER}#aud=x", f"{ISSUER}#s b=x"),
        *(f"{ISSUER}#sub={'x' * 256}", f"{ISSUER}#sub=\u202eana", f"{ISSUER}#sub= ana"),
    ],
)
def test_what_is_no_identity(text):
    with pytest.raises(InvalidInput):
        read_identity(text)


def test_emails_are_the_same_in_capitals_but_not_by_look():
    assert checked_identity(ISSUER, "email", "Ana@Clinic.example").value == "ana@clinic.example"
    kelvin = checked_identity(ISSUER, "email", "\u212aim@clinic.example")
    assert kelvin != checked_identity(ISSUER, "email", "kim@clinic.example")
    assert checked_identity(ISSUER, "sub", "Ana").value == "Ana"


@pytest.mark.parametrize("claim", ["sub", "email", "oid", "employee_number", "https://clinic.example/id"])
def test_claims_that_name_a_person(claim):
    check_claim(claim)


def test_an_identity_is_of_one_account_at_a_time(people):
    people.add(analyst("ana", ANA), by="the owner")
    people.add(analyst("bo"), by="the owner")
    for wrong in (analyst("cleo", ANA), analyst("cleo", "ana")):
        with pytest.raises(InvalidInput):
            people.add(wrong, by="the owner")
    with pytest.raises(InvalidInput):
        people.change(replace(people.find("bo"), identity=ANA), by="the owner")
    people.change(people.find("ana"), by="the owner")
    assert people.with_identity(read_identity(ANA)).name == "ana"
    people.revoke("ana", by="the owner")
    assert people.with_identity(read_identity(ANA)) is None
    people.change(replace(people.find("bo"), identity=ANA), by="the owner")
    assert people.with_identity(read_identity(ANA)).name == "bo"


@pytest.mark.parametrize(
    "other", [f"{ISSUER}/#sub=24400320", f"{ISSUER}#oid=24400320", "https://evil.example#sub=24400320"]
)
def test_issuer_claim_and_value_all_count(people, other):
    people.add(analyst("ana", ANA), by="the owner")
    assert people.with_identity(read_identity(other)) is None


def test_nobody_is_not_those_without_an_identity(people):
    people.add(analyst("ana"), by="the owner")
    assert people.with_identity(Identity(issuer="", claim="", value="")) is None


def test_another_identity_ends_sessions_and_nothing_else_does(people, database):
    token = people.add(analyst("ana", ANA), by="the owner")
    secret = people.open_session(people.find("ana"), way="oidc", state="one")
    people.change(replace(people.find("ana"), project=""), by="the owner")
    assert people.with_token(secret, TokenKind.SESSION).name == "ana"
    people.change(replace(people.find("ana"), identity=""), by="the owner")
    with pytest.raises(NotSignedIn):
        people.with_token(secret, TokenKind.SESSION)
    assert people.with_token(token).name == "ana"
    event = EventLog(database).newest(1)[0]
    assert event.details == {"account": "ana", "identity": [ANA, ""]}


def test_a_sign_in_is_used_once(people, database):
    people.add(analyst("ana", ANA), by="the owner")
    account = people.find("ana")
    opened = []

    def use():
        try:
            opened.append(people.open_session(account, way="oidc", state="one"))
        except NotSignedIn:
            opened.append(None)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 8
    assert len([secret for secret in opened if secret]) == 1
    assert people.open_session(account, way="oidc", state="two")
    signed_in = [event for event in EventLog(database).events() if event.action is Action.SIGNED_IN]
    assert len(signed_in) == 2


def test_all_processes_have_one_key(place, database):
    other = open_database(place)
    try:
        key = SignInStates(database).key()
        assert len(key) == 32
        assert SignInStates(other).key() == key
    finally:
        other.close()


def test_a_database_of_before_is_added_to(place, people, database):
    people.add(analyst("ana"), by="the owner")
    database.close()
    tables = ("secrets", "used_sign_ins")
    if place.startswith("postgresql"):
        with psycopg.connect(place.partition("#")[0], autocommit=True) as connection:
            for table in tables:
                connection.execute(f"DROP TABLE clinic_service.{table}")
    else:
        with sqlite3.connect(place) as connection:
            for table in tables:
                connection.execute(f"DROP TABLE {table}")
            connection.execute("PRAGMA user_version = 1")
        connection.close()
    assert people.open_session(people.find("ana"), way="oidc", state="one")
    assert SignInStates(database).key()
