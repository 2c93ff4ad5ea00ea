"""Every cell of every type is read back as it was put in, or is NULL, and none makes a question fail."""

import math
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import psycopg
import pytest

from discreet.engines.postgres.statement import NotAccepted, check_calls
from discreet.engines.postgres.types import NativeType
from discreet.errors import PolicyError
from discreet.model.policy import ValueType
from tests.engines.conftest import source
from tests.engines.databases import create_database, execute, has_extension, rows

INTEGER, NUMBER, TEXT, BOOLEAN = ValueType.INTEGER, ValueType.NUMBER, ValueType.TEXT, ValueType.BOOLEAN
DATE, TIMESTAMP = ValueType.DATE, ValueType.TIMESTAMP
HUGE = "1" + "0" * 131_000
TINY = "0." + "0" * 16_000 + "1"

CELLS = {
    "smallint": (INTEGER, {"-32768": -32768, "32767": 32767}),
    "integer": (INTEGER, {"-2147483648": -(2**31)}),
    "bigint": (INTEGER, {str(2**63 - 1): 2**63 - 1, str(-(2**63)): -(2**63)}),
    "numeric(18, 0)": (INTEGER, {"9" * 18: 10**18 - 1, "NaN": None}),
    "numeric(40, 0)": (
        INTEGER,
        {
            str(2**63 - 1): 2**63 - 1,
            str(2**63): None,
            str(-(2**63)): -(2**63),
            str(-(2**63) - 1): None,
            "9" * 40: None,
            "NaN": None,
        },
    ),
    "numeric(10, 2)": (NUMBER, {"1.25": 1.25, "-99999999.99": -99999999.99, "NaN": None}),
    "numeric(1000, 900)": (NUMBER, {"1.5": 1.5, "0." + "0" * 899 + "1": 0.0, "9" * 100: 1e100, "NaN": None}),
    "numeric": (
        NUMBER,
        {
            "0.1": 0.1,
            HUGE: None,
            f"-{HUGE}": None,
            TINY: 0.0,
            f"-{TINY}": 0.0,
            "1e150": 1e150,
            "1e151": None,
            "-1e-149": -1e-149,
            "NaN": None,
            "Infinity": None,
            "-Infinity": None,
        },
    ),
    "real": (NUMBER, {"0.5": 0.5, "3.4028235e38": 3.4028234663852886e38, "NaN": None, "-Infinity": None}),
    "double precision": (
        NUMBER,
        {
            "0.1": 0.1,
            "5e-324": 5e-324,
            "1.7976931348623157e308": 1.7976931348623157e308,
            "-1.7976931348623157e308": -1.7976931348623157e308,
            "NaN": None,
            "Infinity": None,
            "-Infinity": None,
        },
    ),
    "text": (TEXT, {"": "", "ä\U0001f600": "ä\U0001f600", "a\\'\"\n\t": "a\\'\"\n\t"}),
    "varchar(5)": (TEXT, {"abc  ": "abc  "}),
    "char(5)": (TEXT, {"abc": "abc"}),
    "name": (TEXT, {"x": "x"}),
    "uuid": (TEXT, {"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}),
    "mood": (TEXT, {"so so": "so so"}),
    "boolean": (BOOLEAN, {"true": True, "false": False}),
    "date": (
        DATE,
        {
            "2020-02-29": date(2020, 2, 29),
            "0001-01-01": date(1, 1, 1),
            "9999-12-31": date(9999, 12, 31),
            "10000-01-01": None,
            "5874897-12-31": None,
            "0001-12-31 BC": None,
            "infinity": None,
            "-infinity": None,
        },
    ),
    "timestamp": (
        TIMESTAMP,
        {
            "2020-01-01 10:00:00.000001": datetime(2020, 1, 1, 10, 0, 0, 1),
            "294276-12-31": None,
            "4713-01-01 BC": None,
            "infinity": None,
        },
    ),
    "timestamptz": (
        TIMESTAMP,
        {
            "2020-01-01 10:00:00+09": datetime(2020, 1, 1, 1),
            "294276-12-31 23:59:59+00": None,
            "infinity": None,
            "-infinity": None,
        },
    ),
    "amount": (NUMBER, {"1.5": 1.5, "NaN": None}),
    "count_of": (INTEGER, {"7": 7}),
    "label": (TEXT, {"Ab": "Ab"}),
}
DOMAINS = """
CREATE TYPE mood AS ENUM ('so so');
CREATE DOMAIN amount AS numeric(9, 1);
CREATE DOMAIN positive AS bigint CHECK (value > 0);
CREATE DOMAIN count_of AS positive NOT NULL;
CREATE DOMAIN label AS text COLLATE "C";
"""


@pytest.fixture(scope="module")
def types(postgres_server):
    url = create_database(postgres_server, "types", DOMAINS)
    for number, (name, (_, cells)) in enumerate(CELLS.items()):
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE TABLE t{number} (i int, x {name})")
            for i, cell in enumerate(cells):
                connection.execute(f"INSERT INTO t{number} VALUES (%s, %s::text::{name})", [i, cell])
    return url


@pytest.fixture
def clinic(types):
    """What `open_postgres` opens, here."""
    return types


def cells(column):
    return np.ma.asarray(column).tolist()


def read(engine, kind):
    """A column x in the order of i; numbers come as the text that stands for exactly one double."""
    x = "x::text" if kind is NUMBER else "x"
    found = cells(rows(engine, f"SELECT {x} AS x FROM {{t}} ORDER BY i")["x"])
    return [None if cell is None else float(cell) for cell in found] if kind is NUMBER else found


@pytest.mark.parametrize(("number", "name"), list(enumerate(CELLS)))
def test_every_cell_is_its_value_or_null(open_postgres, types, number, name):
    kind, expected = CELLS[name]
    engine = open_postgres({"t": source(f"{types}#t{number}")})
    assert engine.schema("t") == {"i": INTEGER, "x": kind}
    assert read(engine, kind) == list(expected.values())


def table_of(types, native, values):
    """The table t with a column x of one type, and i as its order."""
    with psycopg.connect(types) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t (i int, x {native})")
        for i, cell in enumerate(values):
            connection.execute(f"INSERT INTO t VALUES (%s, %s::text::{native})", [i, cell])
    return f"{types}#t"


@pytest.mark.parametrize(
    ("native", "declared", "values"),
    [
        ("bigint", NUMBER, {"5": 5.0, str(2**63 - 1): 2.0**63}),
        ("bigint", TEXT, {"5": "5"}),
        ("numeric(30, 0)", TEXT, {"1" + "0" * 29: "1" + "0" * 29, "NaN": None}),
        ("numeric(30, 0)", NUMBER, {"1" + "0" * 29: 1e29, "NaN": None}),
        (
            "double precision",
            INTEGER,
            {
                "2.5": 2,
                "9.3e18": None,
                "9223372036854775808": None,
                "-9223372036854775808": -(2**63),
                "NaN": None,
            },
        ),
        ("real", INTEGER, {"2.4": 2, "1e30": None, "NaN": None}),
        (
            "numeric",
            INTEGER,
            {
                "2.5": 3,
                f"{2**63 - 1}.5": None,
                f"{2**63 - 1}.4": 2**63 - 1,
                f"-{2**63}.5": None,
                HUGE: None,
                "NaN": None,
                "Infinity": None,
            },
        ),
        ("numeric(20, 4)", INTEGER, {"9999999999999999.9999": 10**16, "NaN": None}),
        ("date", TIMESTAMP, {"2020-01-01": datetime(2020, 1, 1), "5874897-12-31": None}),
        ("timestamp", DATE, {"2020-01-01 23:59:59.999999": date(2020, 1, 1), "infinity": None}),
        ("timestamptz", DATE, {"2020-01-02 05:00:00+09": date(2020, 1, 1), "-infinity": None}),
    ],
)
def test_every_cell_as_another_declared_type(open_postgres, types, native, declared, values):
    location = table_of(types, native, values)
    assert read(open_postgres({"t": source(location, x=declared)}), declared) == list(values.values())


@pytest.mark.parametrize("native", ["numeric(40, 0)", "numeric"])
def test_ids_wider_than_64_bits_stay_apart(open_postgres, types, native):
    ids = [str(2**70 + i) for i in range(5)] + [str(2**70)]
    declared = {"x": INTEGER} if native == "numeric" else {}
    engine = open_postgres({"t": source(table_of(types, native, ids), person="x", **declared)})
    found = rows(engine, "SELECT count(DISTINCT x) AS people, max(x) AS id FROM {t}")
    assert (found["people"][0], found["id"][0]) == (5, 2**70 + 4)


def test_ids_that_a_collation_takes_for_one_stay_apart(open_postgres, types):
    collation = "CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    try:
        execute(types, "DROP COLLATION IF EXISTS anycase CASCADE", collation)
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("This PostgreSQL was built without ICU.")
    location = table_of(types, "text COLLATE anycase", [])
    execute(types, "INSERT INTO t VALUES (1, 'Ann'), (2, 'ann'), (3, 'ANN')")
    with psycopg.connect(types) as connection:
        assert connection.execute("SELECT count(DISTINCT x) FROM t").fetchone() == (1,)
    engine = open_postgres({"t": source(location, person="x")})
    assert rows(engine, "SELECT count(DISTINCT x) AS n FROM {t}")["n"] == [3]
    assert len(rows(engine, "SELECT x, count(*) AS n FROM {t} GROUP BY x")["n"]) == 3


def test_text_without_case_is_text(open_postgres, types):
    if not has_extension(types, "citext"):
        pytest.skip("The extension citext is not there.")
    execute(types, "CREATE EXTENSION IF NOT EXISTS citext")
    engine = open_postgres({"t": source(table_of(types, "citext", ["Ann", "ann"]), person="x")})
    assert engine.schema("t")["x"] is TEXT
    assert rows(engine, "SELECT count(DISTINCT x) AS n FROM {t}")["n"] == [2]


def test_types_that_are_of_no_use_are_left_out_and_told(open_postgres, types):
    odd = ("int[]", "json", "jsonb", "bytea", "interval", "time", "timetz", "money", "inet", "point", "xml")
    odd += ("bit(3)", "int4range", "tsvector", "oid", '"char"', "text[]", "public.pair", "public.list")
    execute(
        types,
        "DROP TABLE IF EXISTS odd; DROP DOMAIN IF EXISTS list; DROP TYPE IF EXISTS pair",
        "CREATE TYPE pair AS (a int, b int)",
        "CREATE DOMAIN list AS int[]",
        f"CREATE TABLE odd (gone int, a int, {', '.join(f'c{i} {name}' for i, name in enumerate(odd))},"
        " twice int GENERATED ALWAYS AS (a * 2) STORED)",
        "ALTER TABLE odd DROP COLUMN gone",
    )
    engine = open_postgres({"t": source(f"{types}#odd")})
    assert engine.schema("t") == {"a": INTEGER, "twice": INTEGER}
    assert engine.unsupported("t") == tuple(f"c{i}" for i in range(len(odd)))


def test_columns_that_are_computed_when_they_are_read_are_left_out(open_postgres, types):
    with psycopg.connect(types) as connection:
        if connection.info.server_version < 180_000:
            pytest.skip("PostgreSQL has them since version 18.")
    execute(types, "CREATE TABLE risky (a int, x int GENERATED ALWAYS AS (1 / a) VIRTUAL)")
    execute(types, "INSERT INTO risky VALUES (0)")
    engine = open_postgres({"t": source(f"{types}#risky")})
    assert engine.schema("t") == {"a": INTEGER}
    assert rows(engine, "SELECT count(*) AS n FROM {t}")["n"] == [1]


def test_a_table_without_a_useful_column_is_told(open_postgres, types):
    execute(types, "DROP TABLE IF EXISTS none; CREATE TABLE none (a int[])")
    with pytest.raises(PolicyError, match="no column that can be used"):
        open_postgres({"t": source(f"{types}#none")})
    execute(types, 'DROP TABLE IF EXISTS none; CREATE TABLE none (a int, "A" int)')
    with pytest.raises(PolicyError, match="differ only in upper and lower case"):
        open_postgres({"t": source(f"{types}#none")})


def test_precision_and_scale_as_the_catalogue_has_them(types):
    with psycopg.connect(types, autocommit=True) as connection:
        is_new = connection.info.server_version >= 150_000
        for precision, scale in [
            (1, 0),
            (10, 2),
            (1000, 1000),
            (1000, 0),
            *([(2, -3), (3, 5)] if is_new else []),
        ]:
            connection.execute(f"DROP TABLE IF EXISTS p; CREATE TABLE p (x numeric({precision}, {scale}))")
            ((modifier,),) = connection.execute(
                "SELECT atttypmod FROM pg_attribute WHERE attrelid = 'p'::regclass AND attname = 'x'"
            ).fetchall()
            native = NativeType(name="numeric", modifier=modifier)
            assert (native.precision, native.scale) == (precision, scale)


# Many rows

ROWS = 300_000
EXTREME_INTEGERS = [None, 0, -1, 2**63 - 1, -(2**63), 2**53 + 1]
EXTREME_NUMBERS = [None, math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1]
EXTREME_NUMERICS = [None, "NaN", "Infinity", "-Infinity", "1e200", "-1e200", "1e-200", "0.1", "-7.25"]
KEYS = [None, "", "ä", "a\u0308", "\U0001f469\u200d\U0001f52c", "\u202eabc", "a\tb\nc\\N", "Ω" * 50, "null"]


def many_rows():
    """Cells of every kind at random, the same every time."""
    draw = random.Random(5)  # noqa: S311
    start, first = date(1, 1, 1), datetime(1, 1, 1)
    for i in range(ROWS):
        yield (
            i,
            draw.choice([*EXTREME_INTEGERS, draw.getrandbits(64) - 2**63]),
            draw.choice([*EXTREME_NUMBERS, draw.gauss(0, 1e6)]),
            draw.choice([*EXTREME_NUMERICS, str(Decimal(draw.getrandbits(80)) / 1000)]),
            draw.choice([*KEYS, f"key {draw.getrandbits(20)}"]),
            draw.choice([None, "infinity", start + timedelta(days=draw.randrange(3_652_059))]),
            draw.choice([None, "-infinity", first + timedelta(microseconds=draw.randrange(10**17))]),
        )


def test_300000_rows_come_back_as_they_were_put_in(open_postgres, types):
    put_in = list(many_rows())
    columns = "i int, id bigint, x double precision, m numeric, t text, d date, s timestamptz"
    with psycopg.connect(types) as connection:
        connection.execute("SET TimeZone TO 'UTC'")
        connection.execute(f"DROP TABLE IF EXISTS many; CREATE TABLE many ({columns})")
        with connection.cursor().copy("COPY many FROM STDIN") as copy:
            for row in put_in:
                copy.write_row(row)
    engine = open_postgres({"many": source(f"{types}#many", person="id")})
    sql = "SELECT id, x::text AS x, m::text AS m, t, d, s FROM {many} ORDER BY i"
    found = {name: cells(column) for name, column in rows(engine, sql).items()}
    _, ids, numbers, numerics, texts, dates, moments = zip(*put_in, strict=True)
    assert found["id"] == list(ids)
    assert found["t"] == list(texts)
    finite = [None if x is None or not math.isfinite(x) else x for x in numbers]
    assert [None if x is None else float(x) for x in found["x"]] == finite
    assert [None if m is None else float(m) for m in found["m"]] == [canonical(m) for m in numerics]
    assert found["d"] == [None if d == "infinity" else d for d in dates]
    assert found["s"] == [None if s == "-infinity" else s for s in moments]


def canonical(numeric):
    """What a numeric is as a double."""
    if numeric is None or not math.isfinite(float(numeric)) or abs(float(numeric)) > 1e150:
        return None
    return 0.0 if abs(float(numeric)) < 1e-150 else float(numeric)


# The reading of calls


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT f(1)",
        'SELECT "f" (1)',
        "SELECT F\n--c\n(1)",
        "SELECT pg_catalog.f(1)",
        'SELECT "pg_catalog" . "f"(1)',
        "SELECT other.g(1)",
        "SELECT a.b.g(1)",
        "SELECT 'a''' || f('b')",
        "SELECT '\\', f(1), '\\'",
        'SELECT "a""" , f(1)',
        "SELECT $$a$$",
        "SELECT $1",
        "SELECT 1 AS $0",
        "SELECT $a$ $a$",
        "SELECT E'\\', f(1), '\\'",
        "SELECT U&'a'",
        'SELECT u&"f"(1)',
        "SELECT /* f */ 1",
        "SELECT 1)",
        "SELECT (1",
        "SELECT ')",
        f"SELECT {'g' * 64}(1)",
    ],
)
def test_calls_that_are_refused(sql):
    with pytest.raises(NotAccepted):
        check_calls(sql, frozenset({"f"}))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g(1)",
        "SELECT pg_catalog.g(1)",
        "SELECT 'f(1)', \"f\", f FROM a.b WHERE f IN (1) -- f(1)",
        "SELECT '$;/* E''' AS a",
        'SELECT x."f" FROM (SELECT 1) AS "f(1)"',
        'SELECT "F"(1)',
        "SELECT date'2020-01-01' FROM t AS e",
    ],
)
def test_calls_that_are_not(sql):
    check_calls(sql, frozenset({"f"}))


def test_parameters_are_those_that_there_are():
    check_calls("SELECT $1, $2", frozenset(), parameters=2)
    for sql in ("SELECT $3", "SELECT $0", "SELECT $01", "SELECT $20", "SELECT $1$$ $$", "SELECT $100000001"):
        with pytest.raises(NotAccepted):
            check_calls(sql, frozenset(), parameters=2)
