"""Where a table and a ledger are, and what of it is shown."""

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, PolicyError
from discreet.postgres.address import read_ledger_address, read_table_address

SECRET = "hush-hush"  # noqa: S105
PIECES = st.sampled_from(
    ["u", ":", "@", "/", "?", "&", "=", "p", "password", "pass%77ord", "sslpassword", ","]
)


@pytest.mark.parametrize(
    ("location", "schema", "table"),
    [
        ("postgresql://h/d#visits", "public", "visits"),
        ("postgres://h/d#Clinic.VISITS", "clinic", "visits"),
        ('postgresql://h/d#"My Schema"."T "" x"', "My Schema", 'T " x'),
    ],
)
def test_a_table_is_named_as_in_sql(location, schema, table):
    address = read_table_address(location)
    assert (address.schema, address.table) == (schema, table)


def test_a_ledger_has_a_usual_schema():
    assert read_ledger_address("postgresql://h/d").name == "postgresql://h/d#discreet"
    assert read_ledger_address("postgresql://h/d#spent").schema == "spent"


@pytest.mark.parametrize("schema", ["", "public", "pg_catalog", "A", "a-b", "information_schema"])
def test_a_ledger_has_a_schema_of_its_own(schema):
    with pytest.raises(InvalidInput, match="is its own"):
        read_ledger_address(f"postgresql://h/d#{schema}")


def test_an_address_is_shown_without_what_is_secret():
    address = read_ledger_address(
        f"postgresql://ana:{SECRET}@a.example:5433,b.example/clinic?password={SECRET}"
    )
    assert address.name == "postgresql://a.example:5433,b.example/clinic#discreet"
    assert SECRET not in repr(address)
    assert address.database.has_password
    assert not read_ledger_address(
        "postgresql://ana@a.example/clinic?sslmode=require#x"
    ).database.has_password


@pytest.mark.parametrize("password", ["a?b", "a@b", "a:b", "?"])
def test_a_password_with_signs_in_it_is_not_taken_for_a_host(password):
    database = read_ledger_address(f"postgresql://ana:{password}@h/clinic").database
    assert (database.name, database.has_password) == ("postgresql://h/clinic", True)


@pytest.mark.parametrize("read", [read_ledger_address, read_table_address])
@pytest.mark.parametrize("location", [f"postgresql://u:{SECRET}@[::1/db#x", "visits.parquet"])
def test_what_is_no_address_is_refused_and_not_repeated(read, location):
    with pytest.raises((InvalidInput, PolicyError), match="no address") as failure:
        read(location)
    assert SECRET not in f"{failure.value.problem} {failure.value.remedy}"
    assert failure.value.__context__ is None


@given(st.lists(PIECES, max_size=12).map("".join))
def test_every_password_that_libpq_reads_is_seen(rest):
    url = f"postgresql://{rest}"
    try:
        options = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return
    is_secret = any(options.get(name) for name in ("password", "sslpassword"))
    assert read_ledger_address(f"{url}#x").database.has_password or not is_secret
