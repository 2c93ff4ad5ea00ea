"""The engine opens what the policy says, returns exact numbers, and neither does nor says anything else."""

import copy
import gc
import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.errors import EngineFailed, PolicyError, QueryRefused
from discreet.model.policy import ValueType
from discreet.model.secret import Secret
from tests.engines.conftest import CANARY, everything_in, source

INTEGER, NUMBER, TEXT, DATE = ValueType.INTEGER, ValueType.NUMBER, ValueType.TEXT, ValueType.DATE
VISITS = {"patient_id": INTEGER, "cost": NUMBER, "ward": TEXT, "note": TEXT, "day": DATE}
BY_WARD = "SELECT ward, count(*) AS n FROM data.visits GROUP BY ward ORDER BY ward NULLS FIRST"


def rows(engine, sql):
    engine.prepare(sql)
    return engine.run(sql).reveal()


# Sources


@pytest.mark.parametrize("location", ["visits.parquet", "clinic.duckdb#visits", "clinic.duckdb#main.visits"])
def test_every_kind_of_source(open_engine, location):
    engine = open_engine({"visits": source(location)})
    assert engine.schema("visits") == VISITS
    assert list(rows(engine, BY_WARD)["n"]) == [200] * 5


def test_a_pattern_reads_all_its_files(open_engine):
    engine = open_engine({"visits": source("part-*.parquet")})
    assert rows(engine, "SELECT count(*) AS n FROM data.visits")["n"] == [2000]


def test_the_types_of_a_private_csv_do_not_follow_its_rows(open_engine):
    assert set(open_engine({"v": source("visits.csv")}).schema("v").values()) == {TEXT}
    engine = open_engine({"visits": source("visits.csv", patient_id=INTEGER, cost=NUMBER, day=DATE)})
    assert engine.schema("visits") == VISITS
    assert rows(engine, "SELECT sum(patient_id) AS s FROM data.visits")["s"] == [49_500]
    assert rows(engine, "SELECT max(day) AS d FROM data.visits")["d"] == [np.datetime64("2020-12-31")]


def test_the_types_of_a_public_csv_do(open_engine):
    engine = open_engine({"wards": source("wards.csv", public=True)})
    assert engine.schema("wards") == {"ward": TEXT, "beds": INTEGER, "größe": NUMBER}


BAD_CELLS = b"""id,x,d
1,5,2020-02-30
2,five,9999-12-31
3,NaN,infinity
4,inf,
5
6,1e400,
7,"un"q"uoted",
8,\xff\xfe,9
9,"two
lines",1
"""


@pytest.mark.parametrize(
    ("sql", "counts"),
    [
        ("SELECT count(*) AS n FROM data.a", {"n": 5}),
        ("SELECT count(*) AS n, count(x) AS x FROM data.a", {"n": 5, "x": 1}),
        ("SELECT count(*) AS n, count(d) AS d, sum(id) AS i FROM data.a", {"n": 5, "d": 1, "i": 16}),
        ("SELECT count(*) AS n, count(x) AS x, count(d) AS d FROM data.a", {"n": 5, "x": 1, "d": 1}),
        ("SELECT count(*) AS n FROM data.a WHERE x IS NULL AND d IS NULL", {"n": 3}),
    ],
)
def test_a_cell_that_is_not_what_was_declared_is_null_and_takes_no_row_with_it(
    open_engine, tmp_path, sql, counts
):
    """Lines 5, 7 and 9 are torn, line 8 is not UTF-8: they never count, whatever a question reads."""
    (tmp_path / "a.csv").write_bytes(BAD_CELLS)
    engine = open_engine({"a": source("a.csv", id=INTEGER, x=NUMBER, d=DATE)}, tmp_path)
    assert {name: column[0] for name, column in rows(engine, sql).items()} == counts


def test_times_do_not_follow_the_zone_of_the_machine(open_engine, tmp_path, monkeypatch):
    moment = "TIMESTAMPTZ '2020-01-01 10:00:00+00'"
    duckdb.execute(f"COPY (SELECT {moment} AS t) TO '{tmp_path / 'a.parquet'}'")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = rows(open_engine({"a": source("a.parquet")}, tmp_path), "SELECT t FROM data.a")["t"]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found == [np.datetime64("2020-01-01T10:00:00")]


def test_dates_that_numpy_cannot_hold_are_null(open_engine, tmp_path):
    values = "('infinity'::DATE), ('200000-01-01'::DATE), ('2020-01-01'::DATE)"
    duckdb.execute(f"COPY (SELECT * FROM (VALUES {values}) AS v(d)) TO '{tmp_path / 'a.parquet'}'")
    engine = open_engine({"a": source("a.parquet")}, tmp_path)
    assert np.ma.count(rows(engine, "SELECT d FROM data.a")["d"]) == 1


def test_names_with_signs_of_every_kind(open_engine, tmp_path):
    strange = tmp_path / "d[1]* 'ä'"
    strange.mkdir()
    duckdb.execute('COPY (SELECT 1 AS "a ""b"" ä") TO $1', [str(strange / "x?.parquet")])
    engine = open_engine({'Tä"b; --': source("x?.parquet")}, strange)
    relation = engine.relations['Tä"b; --']
    assert rows(engine, f'SELECT "a ""b"" ä" AS a FROM {relation}')["a"] == [1]


def test_types_that_are_of_no_use_are_left_out_and_told(open_engine, tmp_path):
    columns = (
        "1 AS a, [1] AS l, {'x': 1} AS s, 'b'::BLOB AS b, TIME '10:00' AS t, 2::DECIMAL(9,0) AS d, 1.5 AS f"
    )
    duckdb.execute(f"COPY (SELECT {columns}, uuid() AS u, 3::UBIGINT AS ub) TO '{tmp_path / 'a.parquet'}'")
    engine = open_engine({"a": source("a.parquet")}, tmp_path)
    assert engine.schema("a") == {"a": INTEGER, "d": INTEGER, "f": NUMBER, "u": TEXT, "ub": INTEGER}
    assert engine.unsupported("a") == ("l", "s", "b", "t")


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("none.parquet", "no file"),
        ("none-*.csv", "no file"),
        ("clinic.duckdb#none", "cannot be read as DuckDB"),
        ("visits.csv#visits", "cannot be read as a DuckDB file"),
        ("*.duckdb#visits", None),
        ("clinic.duckdb", "known kind"),
        ("clinic.duckdb#", "known kind"),
        ("clinic.duckdb#escape", "cannot be read"),
        ("", "known kind"),
        (".", "known kind"),
        ("https://example.org/a.parquet", "not a local file"),
        ("s3://bucket/a.parquet", "not a local file"),
        ("a\0.parquet", "cannot be opened"),
        ("../*/nothing.parquet", "no file"),
    ],
)
def test_sources_that_are_not_there(open_engine, location, hint):
    if hint is None:
        assert open_engine({"v": source(location)}).schema("v") == VISITS
        return
    with pytest.raises(PolicyError, match=hint):
        open_engine({"v": source(location)})


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("", "name every column"),
        ("a,,b\n1,2,3\n", "name every column"),
        ("a,A\n1,2\n", "each once"),
        (b"\xff\xfe\x00\n", "not text"),
        ("a,b\r1,2\r3,4\r", "carriage return"),
        ("a,b\r1,2\n3,4\n", "carriage return"),
        (f"a,{'b' * 200_000}\n1,2\n", "name every column"),
    ],
)
def test_csv_files_without_a_header(open_engine, tmp_path, content, hint):
    (tmp_path / "a.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(PolicyError, match=hint):
        open_engine({"a": source("a.csv")}, tmp_path)


def test_files_of_one_pattern_must_have_the_same_columns(open_engine, tmp_path):
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path / '1.parquet'}'")
    duckdb.execute(f"COPY (SELECT 'x' AS a) TO '{tmp_path / '2.parquet'}'")
    (tmp_path / "1.csv").write_text("a,b\n")
    (tmp_path / "2.csv").write_text("b,a\n")
    for pattern in ("*.parquet", "*.csv"):
        with pytest.raises(PolicyError, match="different columns"):
            open_engine({"a": source(pattern)}, tmp_path)


def test_a_file_that_is_not_parquet_is_told_without_its_content(open_engine, tmp_path):
    (tmp_path / "a.parquet").write_text(CANARY)
    with pytest.raises(PolicyError) as caught:
        open_engine({"a": source("a.parquet")}, tmp_path)
    assert CANARY not in everything_in(caught.value)


def test_a_declared_type_must_fit(open_engine):
    for types in ({"ward": INTEGER}, {"ward": DATE}, {"day": NUMBER}, {"cost": TEXT}):
        with pytest.raises(PolicyError, match="in its source, not"):
            open_engine({"v": source("visits.parquet", **types)})
    assert open_engine({"v": source("visits.parquet", cost=INTEGER)}).schema("v")["cost"] is INTEGER


def test_ids_wider_than_64_bits_stay_apart(open_engine, tmp_path):
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 2::HUGEINT ** 70 + i AS id, i::HUGEINT AS x FROM range(5) AS r(i)"
        )
        connection.execute("ALTER TABLE t ALTER id TYPE HUGEINT USING (1180591620717411303424 + x)::HUGEINT")
    engine = open_engine({"t": source("a.duckdb#t", person="id")}, tmp_path)
    found = rows(engine, "SELECT count(DISTINCT id) AS people, max(id) AS id FROM data.t")
    assert (found["people"][0], found["id"][0]) == (5, 2**70 + 4)


@pytest.mark.parametrize("change", ["touch", "replace", "remove"])
def test_a_file_that_changed_is_noticed_before_anything_is_charged(open_engine, tmp_path, change):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    engine = open_engine({"a": source("a.csv")}, tmp_path)
    engine.prepare("SELECT count(*) AS n FROM data.a")
    if change == "remove":
        path.unlink()
    elif change == "touch":
        os.utime(path, (1, 1))
    else:
        path.write_text("b\n2\n")
    with pytest.raises(PolicyError, match="changed, moved or removed"):
        engine.prepare("SELECT count(*) AS n FROM data.a")


# Results


def test_integers_wider_than_64_bits_are_exact(open_engine):
    numbers = [
        0,
        1,
        -1,
        2**62,
        -(2**62),
        2**63,
        -(2**63) - 1,
        2**124 + 5,
        -(2**124) - 5,
        2**127 - 1,
        -(2**127) + 1,
    ]
    values = ", ".join(f"('{number}'::HUGEINT)" for number in numbers)
    result = rows(open_engine(), f"SELECT h FROM (VALUES {values}) AS v(h)")["h"]
    assert list(result) == numbers
    assert all(type(number) is int for number in result)
    result = rows(
        open_engine(),
        "SELECT '340282366920938463463374607431768211455'::UHUGEINT AS u, 18446744073709551615::UBIGINT AS b",
    )
    assert (result["u"][0], result["b"][0]) == (2**128 - 1, 2**64 - 1)
    assert rows(open_engine(), "SELECT '99999999999999999999999999999999999999'::DECIMAL(38,0) AS d")[
        "d"
    ] == [10**38 - 1]


def test_null_keys_are_masked_and_never_a_value(open_engine):
    found = rows(open_engine(), BY_WARD)
    assert found["ward"].mask.tolist() == [True, False, False, False, False]
    engine = open_engine()
    for value in ("1::BIGINT", "1::HUGEINT", "'a'", "true", "DATE '2020-01-01'", "TIMESTAMP '2020-01-01'"):
        column = rows(
            engine, f"SELECT CASE WHEN i = 1 THEN {value} END AS x FROM range(3) AS r(i) ORDER BY i"
        )["x"]
        assert np.ma.getmaskarray(column).tolist() == [True, False, True], value


def test_types_do_not_depend_on_the_rows(open_engine):
    sql = "SELECT ward, patient_id, sum(patient_id) AS s, day FROM data.visits WHERE {} GROUP BY ALL"
    some, none = (rows(open_engine(), sql.format(condition)) for condition in ("true", "false"))
    assert {name: column.dtype for name, column in some.items()} == {
        name: column.dtype for name, column in none.items()
    }
    assert {len(column) for column in none.values()} == {0}


def test_a_million_rows_without_a_loop(open_engine):
    sql = "SELECT i AS k, i::HUGEINT * 4 AS h FROM range(1000000) AS r(i)"
    engine = open_engine()
    start = time.perf_counter()
    found = rows(engine, sql)
    assert time.perf_counter() - start < 10  # about 0.3 s
    assert found["k"].dtype == np.int64
    assert sum(found["h"]) == 4 * sum(range(10**6))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(cost) AS a FROM data.visits",
        "SELECT 1.5 AS a",
        "SELECT [1] AS a",
        "SELECT 1 AS a, 2 AS a",
        "SELECT none FROM data.visits",
        "SELECT 1 AS a; SELECT 2 AS a",
        "SELECT",
        "",
        ";",
        "\0",
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    ],
)
def test_statements_that_cannot_be_answered_are_refused_before_the_charge(open_engine, sql):
    engine = open_engine()
    with pytest.raises(QueryRefused, match="nothing was spent"):
        engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)


def test_a_comment_at_the_end_and_common_table_expressions(open_engine):
    assert rows(open_engine(), "WITH a AS (SELECT 1 AS b) SELECT b FROM a -- so")["b"] == [1]


# No row is read before the charge


def bytes_read():
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux to count what is read")
def test_neither_opening_nor_preparing_reads_rows(open_engine, tmp_path):
    columns = "i AS id, hash(i)::VARCHAR AS t, (hash(i) % 1000)::DOUBLE AS x"
    for name in ("a.parquet", "a.csv"):
        duckdb.execute(f"COPY (SELECT {columns} FROM range(200000) AS r(i)) TO '{tmp_path / name}'")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(f"CREATE TABLE a AS SELECT {columns} FROM range(200000) AS r(i)")
    for location in ("a.parquet", "a.csv", "a.duckdb#a"):
        before = bytes_read()
        engine = open_engine({"a": source(location, x=NUMBER)}, tmp_path)
        engine.prepare("SELECT t, count(*) AS n, sum(x::BIGINT) AS s FROM data.a WHERE x > 5 GROUP BY t")
        read = bytes_read() - before
        assert read < 300_000, location  # a DuckDB file keeps its catalogue in blocks of 256 KiB
        before = bytes_read()
        engine.run("SELECT max(t) AS t, sum(x::BIGINT) AS s FROM data.a").reveal()
        assert bytes_read() - before > 1_000_000, location


def test_preparing_succeeds_although_every_page_is_garbage(open_engine, tmp_path):
    path = tmp_path / "a.parquet"
    duckdb.execute(f"COPY (SELECT i AS id, hash(i) AS h FROM range(100000) AS r(i)) TO '{path}'")
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\xff" * (len(content) - footer - 4)
    path.write_bytes(content)
    engine = open_engine({"a": source("a.parquet")}, tmp_path)
    sql = "SELECT sum(id) AS s, max(h) AS h FROM data.a WHERE id % 3 = 1"
    engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)


# Attacks


FORBIDDEN = [
    "ATTACH '{folder}/stolen.duckdb' AS a",
    "ATTACH ':memory:' AS a",
    "ATTACH '{folder}/visits.parquet' AS a",
    "DETACH source_0",
    "COPY data.visits TO '{folder}/stolen.csv'",
    "COPY data.visits TO '{folder}/visits.parquet' (USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '/dev/stdout'",
    "EXPORT DATABASE '{folder}/stolen'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/evil.so'",
    "SET threads = 4",
    "SET lock_configuration = false",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "SET allowed_paths = ['/']",
    "SET memory_limit = '1MB'",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "CALL enable_logging()",
    "CREATE SECRET (TYPE http)",
    "CREATE TABLE t AS SELECT 1",
    "CREATE OR REPLACE VIEW data.visits AS SELECT 1 AS a",
    "CREATE MACRO f(x) AS x",
    "DROP VIEW data.visits",
    "INSERT INTO source_0.visits SELECT * FROM source_0.visits",
    "DELETE FROM source_0.visits",
    "UPDATE source_0.visits SET cost = 0",
    "CHECKPOINT",
    "BEGIN",
    "PREPARE p AS SELECT 1",
    "EXPLAIN ANALYZE SELECT * FROM data.visits",
    "SET VARIABLE x = 1",
    "USE source_0",
]
OTHER_FILES = [
    "SELECT count(*) AS n FROM '{folder}/other.parquet'",
    "SELECT count(*) AS n FROM read_parquet('{folder}/other.parquet')",
    "SELECT count(*) AS n FROM read_parquet('{folder}/*.parquet')",
    "SELECT count(*) AS n FROM read_parquet('{folder}/../{name}/other.parquet')",
    "SELECT count(*) AS n FROM read_csv('/etc/passwd')",
    "SELECT count(*) AS n FROM read_csv('{folder}/wards.csv')",
    "SELECT count(*) AS n FROM read_text('/etc/hostname')",
    "SELECT count(*) AS n FROM read_blob('{folder}/other.parquet')",
    "SELECT count(*) AS n FROM read_json('{folder}/wards.csv')",
    "SELECT count(*) AS n FROM glob('{folder}/*')",
    "SELECT count(*) AS n FROM read_parquet('https://example.org/a.parquet')",
    "SELECT count(*) AS n FROM 's3://bucket/a.parquet'",
    "SELECT count(*) AS n FROM source_0.escape",
    "SELECT count(*) AS n FROM query('FROM ''{folder}/other.parquet''')",
    "SELECT count(*) AS n FROM local_variable",
]


@pytest.mark.parametrize("sql", [*FORBIDDEN, *OTHER_FILES])
def test_c2_nothing_but_the_sources_can_be_read_and_nothing_done(open_engine, folder, sql):
    local_variable = {"a": np.arange(3)}  # a replacement scan would find it
    engine = open_engine({"visits": source("clinic.duckdb#visits"), "file": source("visits.parquet")})
    statement = sql.format(folder=folder, name=folder.name)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(QueryRefused):
        engine.prepare(statement)
    with pytest.raises(EngineFailed):
        engine.run(statement)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert len(local_variable["a"]) == 3
    assert rows(engine, "SELECT count(*) AS n FROM data.visits")["n"] == [1000]


LOCKED = ("SET", "RESET", "INSTALL", "LOAD", "EXPORT", "INSERT", "DELETE", "UPDATE", "CALL")


@pytest.mark.parametrize(
    "sql", [*(sql for sql in FORBIDDEN if sql.startswith(LOCKED) and "VARIABLE" not in sql), *OTHER_FILES]
)
def test_c2_duckdb_itself_is_locked_too(open_engine, folder, sql):
    engine = open_engine({"visits": source("clinic.duckdb#visits"), "file": source("visits.parquet")})
    with pytest.raises(duckdb.Error):
        engine._database.connection.cursor().execute(sql.format(folder=folder, name=folder.name)).fetchall()


def test_c2_every_wall_of_duckdb_is_up(open_engine):
    names = ("python_enable_replacements", "enable_external_access", "autoload_known_extensions")
    names += ("autoinstall_known_extensions", "allow_community_extensions", "allow_persistent_secrets")
    cursor = open_engine()._database.connection.cursor()
    settings = {name: cursor.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in names}
    assert settings == dict.fromkeys(names, False)
    assert cursor.execute("SELECT current_setting('lock_configuration')").fetchone()[0] is True


# Nothing is said


FAILING = [
    "SELECT sum(note::BIGINT) AS s FROM data.visits",
    "SELECT max(strptime(note, '%Y')) AS s FROM data.visits",
    "SELECT max(error(note)::VARCHAR) AS s FROM data.visits",
    "SELECT max(note::DATE) AS d FROM data.visits",
]


@pytest.mark.parametrize("sql", FAILING)
def test_b6_a_cell_never_appears(open_engine, sql, caplog, capfd):
    engine = open_engine()
    with pytest.raises(duckdb.Error, match=f"{CANARY}|ok"):
        engine._database.connection.cursor().execute(sql).fetchall()
    caplog.set_level(logging.DEBUG)
    with pytest.raises(EngineFailed) as caught:
        engine.run(sql)
    logging.getLogger("test").exception("it failed", exc_info=caught.value)
    output = capfd.readouterr()
    for text in (everything_in(caught.value), caplog.text, output.out, output.err):
        assert CANARY not in text
        assert "Conversion" not in text


def test_b5_every_failure_has_the_same_words(open_engine):
    messages = set()
    for sql in (*FAILING, "SELECT 1 / 0 AS", "DROP TABLE x"):
        with pytest.raises(EngineFailed) as caught:
            open_engine().run(sql)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_a_secret_is_never_shown():
    secret = Secret({"note": np.array([CANARY])})
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.Logger("secret")
    logger.addHandler(handler)
    logger.error("%s %r", secret, secret)
    logger.error(secret)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>20}", "%s" % secret, stream.getvalue()]  # noqa: UP031
    shown += [repr(copy.copy(secret)), repr(copy.deepcopy([secret])), repr({"a": secret})]
    assert not any(CANARY in text for text in shown)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be stored"):
            pickle.dumps(secret, protocol)
    assert secret.reveal()["note"][0] == CANARY
    assert not hasattr(secret, "__dict__")


# Limits


def test_threads_share_one_engine(open_engine):
    engine = open_engine()
    found, errors = [], []

    def ask(number):
        try:
            found.append(
                int(rows(engine, f"SELECT sum(patient_id) + {number} AS s FROM data.visits")["s"][0])
            )
        except Exception as error:  # noqa: BLE001, RUF100  a thread's error must fail the test
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(found) == [49_500 + number for number in range(32)]


def test_ctrl_c_stops_a_query_within_seconds():
    code = """
        import sys
        from pathlib import Path
        from discreet.engines.duckdb.engine import DuckDBEngine
        engine = DuckDBEngine({}, Path("."), threads=1)
        print("ready", flush=True)
        try:
            numbers = "range(999999) AS a(i), range(999999) AS b(i)"
            engine.run(f"SELECT count(*) AS n FROM {numbers} WHERE a.i + b.i = 7")
        except KeyboardInterrupt:
            print(engine.run("SELECT 1 AS one").reveal()["one"][0])
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (output, errors) == ("1\n", "")


def test_memory_is_limited_and_spills(open_engine):
    distinct = "SELECT DISTINCT hash(i) AS a, hash(i + 1) AS b FROM range(3000000) AS r(i)"
    sql = f"SELECT count(*) AS n FROM ({distinct})"
    assert rows(open_engine(memory_limit="60MB"), sql)["n"] == [3_000_000]
    with pytest.raises(PolicyError, match="limits"):
        open_engine(memory_limit="plenty")


def test_the_spill_folder_is_private_and_goes_with_the_engine(open_engine):
    engine = open_engine()
    with engine._database.cursor() as cursor:
        spill = Path(cursor.execute("SELECT current_setting('temp_directory')").fetchone()[0]).parent
    assert spill.stat().st_mode & 0o077 == 0
    engine.close()
    assert not spill.exists()
    gc.collect()
