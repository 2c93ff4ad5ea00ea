"""Attacks G2, G5 and G6 on files: what one cell or line can do to a question, and to the rows of others."""

import os
import re
import struct
from contextlib import nullcontext
from decimal import Decimal
from itertools import product
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.errors import EngineFailed, PolicyError, QueryRefused
from discreet.model.declaration import TableSource
from discreet.model.policy import ValueType
from tests.engines.conftest import source
from tests.engines.hostile_files import ENCODINGS, NOT_UTF8, int96, texts, write_parquet, write_patched

ALL = "SELECT count(*) AS n FROM data.t"


def vouched_for(location):
    return TableSource(
        location=location, public=False, person=None, types={}, implied_types={}, well_formed=True
    )


def count(engine, sql):
    engine.prepare(sql)
    return int(engine.run(sql).reveal()["n"][0])


# G2: nothing but the schema before the charge


def bytes_read():
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


def spoil(path):
    """Overwrite all of a file, and let it look as before."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"\xa5" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture
def three(tmp_path):
    """The same table as Parquet, CSV and in a DuckDB file."""
    columns = "i AS id, hash(i)::VARCHAR AS x, (hash(i) % 1000)::DOUBLE AS y FROM range(50000) AS r(i)"
    for name in ("t.parquet", "t.csv"):
        duckdb.execute(f"COPY (SELECT {columns}) TO '{tmp_path / name}'")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {columns}")
    return tmp_path


@pytest.mark.parametrize("location", ["t.parquet", "t.csv", "t.duckdb#t"])
def test_g2_nothing_of_a_file_is_read_between_opening_and_the_charge(open_engine, three, location):
    """Not one byte of the file is left as it was; the statement is accepted, and fails when it is run."""
    sql = "SELECT x, count(*) AS n, sum(CAST(TRY_CAST(y AS BIGINT) AS BIGINT)) AS s FROM data.t GROUP BY x"
    engine = open_engine({"t": source(location)}, three)
    spoil(three / location.partition("#")[0])
    engine.prepare(sql)
    before = bytes_read()
    engine.prepare(sql)
    itself = len(Path("/proc/self/io").read_text()) + 1000  # reading the counter is counted
    assert bytes_read() - before <= itself
    with pytest.raises(QueryRefused):
        engine.prepare("SELECT none FROM data.t")
    if location == "t.parquet":  # a CSV file has no line that is a row, and the other's pages are in memory
        with pytest.raises(EngineFailed):
            engine.run(sql)


def test_g2_one_moment_out_of_range_does_not_decide_about_a_refusal(open_engine, tmp_path):
    """The owner has vouched for the file, and was wrong: that shows after the charge, not before it."""
    for name, moment in (("usual", 10**12), ("beyond", 10**17)):
        moments = pa.array([0, moment], pa.int64()).cast(pa.timestamp("ms"))
        write_parquet(tmp_path / f"{name}.parquet", x=moments)
        engine = open_engine({"t": vouched_for(f"{name}.parquet")}, tmp_path)
        engine.prepare(f"{ALL} WHERE x > TIMESTAMP '2020-01-01'")


def test_g2_what_is_seen_before_the_charge_is_the_same_for_neighbours(open_engine, tmp_path, monkeypatch):
    """A statement is tried where no row is. Over the file, DuckDB's plan tells whether a row can match."""
    seen = []
    for name, incomes in (("without", [1.0, 2.0]), ("with", [1.0, 2.0, 999.0])):
        write_parquet(tmp_path / f"{name}.parquet", x=incomes)
        engine = open_engine({"t": source(f"{name}.parquet")}, tmp_path)
        with engine._empty.cursor() as cursor:
            monkeypatch.setattr(engine._empty, "cursor", lambda one=cursor: nullcontext(one))
            engine.prepare(f"{ALL} WHERE x > 0")
        monkeypatch.undo()
        seen.append(cursor.fetchall())
    assert seen == [[(0,)], [(0,)]]


# G5: a cell that the reader cannot read


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("bad", NOT_UTF8)
def test_g5_text_that_is_not_utf8_fails_no_question(open_engine, tmp_path, encoding, bad):
    write_parquet(
        tmp_path / "a.parquet", encoding=encoding, id=[1, 2, 3, None], x=texts([b"a", bad, b"a", None])
    )
    engine = open_engine({"t": source("a.parquet", person="x")}, tmp_path)
    assert count(engine, ALL) == 4
    assert count(engine, "SELECT count(DISTINCT x) AS n FROM data.t") == 2
    assert count(engine, f"{ALL} WHERE x = 'a'") == 2
    assert count(engine, f"{ALL} WHERE lower(x) LIKE '%?%'") == 1
    engine.prepare("SELECT x, count(*) AS n FROM data.t GROUP BY x")
    assert len(engine.run("SELECT x, count(*) AS n FROM data.t GROUP BY x").reveal()["n"]) == 3


CONDITIONS = [
    "x < 'b@' AND x > 'b'",
    "x = 'b?'",
    "x LIKE 'b?%'",
    "x IN ('b?', 'q')",
    "NOT (x >= 'b@') AND x > 'b'",
    "x BETWEEN 'b>' AND 'b@'",
    "x || '' = 'b?'",
    "coalesce(x, 'b?') = 'b?'",
]
HIDDEN = [[b"bz", b"b\x80", "bü".encode()], [b"b\x80"], [b"bz", b"b\x80"], [b"a", b"b\x80", b"c"]]
"""The row that is read as b? beside others: what the file notes as least and greatest has no room for it."""


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_g5_whether_a_row_counts_does_not_depend_on_the_rows_beside_it(
    open_engine, tmp_path, encoding, condition
):
    for i, cells in enumerate(HIDDEN):
        for size in (1, 3, None):
            path = tmp_path / f"{i}-{size}.parquet"
            write_parquet(path, encoding=encoding, row_group_size=size, x=texts(cells))
            engine = open_engine({"t": source(path.name)}, tmp_path)
            assert count(engine, f"{ALL} WHERE {condition}") == 1, (cells, size)
            joined = f"{ALL} JOIN (SELECT unnest(['b?', 'b?!', 'b?#']) AS x) AS o ON data.t.x = o.x"
            assert count(engine, joined) == 1, (cells, size)


MOMENTS = [2**63 - 1, -(2**63) + 1, -(2**63), 10**17, -(10**17), 253_402_300_800_000_000]


@pytest.mark.parametrize("kind", [ValueType.TIMESTAMP, ValueType.DATE])
@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_g5_moments_out_of_range_are_missing(open_engine, tmp_path, unit, moment, kind):
    moments = pa.array([0, moment], pa.int64()).cast(pa.timestamp(unit))
    write_parquet(tmp_path / "a.parquet", x=moments)
    engine = open_engine({"t": source("a.parquet", x=kind)}, tmp_path)
    assert count(engine, ALL) == 2
    assert count(engine, f"{ALL} WHERE x < TIMESTAMP '1980-01-01'") >= 1
    assert count(engine, "SELECT count(x) AS n FROM data.t") in (1, 2)


@pytest.mark.parametrize("day", [2**31 - 1, -(2**31), -(2**31) + 1, 10**9])
@pytest.mark.parametrize("kind", [ValueType.TIMESTAMP, ValueType.DATE])
def test_g5_days_out_of_range_are_missing(open_engine, tmp_path, day, kind):
    write_parquet(tmp_path / "a.parquet", x=pa.array([0, day], pa.int32()).cast(pa.date32()))
    engine = open_engine({"t": source("a.parquet", x=kind)}, tmp_path)
    assert count(engine, "SELECT count(x) AS n FROM data.t") == 1
    assert count(engine, f"{ALL} WHERE x < TIMESTAMP '1980-01-01'") == 1


@pytest.mark.parametrize("day", [0, 2**31, 2**32 - 1, 10**8])
@pytest.mark.parametrize("nanoseconds", [0, 2**63 - 1, 2**64 - 1])
def test_g5_moments_of_96_bits(open_engine, tmp_path, day, nanoseconds):
    moments = pa.array([0, 86_400_000_000], pa.timestamp("us"))
    path = tmp_path / "a.parquet"
    old, new = int96(2_440_589, 0), int96(day, nanoseconds)
    write_patched(path, moments, old, new, use_deprecated_int96_timestamps=True)
    engine = open_engine({"t": source("a.parquet")}, tmp_path)
    assert count(engine, "SELECT count(x) AS n FROM data.t WHERE x < TIMESTAMP '1970-01-01 00:00:01'") == 1


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16()])
def test_g5_numbers_beyond_their_narrow_type(open_engine, tmp_path, kind):
    old, new = struct.pack("<III", 0, 91, 1), struct.pack("<III", 0, 0x7FFFFF5B, 1)
    write_patched(tmp_path / "a.parquet", pa.array([0, 91, 1], kind), old, new)
    assert count(open_engine({"t": source("a.parquet")}, tmp_path), "SELECT count(x) AS n FROM data.t") == 3


@pytest.mark.parametrize("wide", [b"\x7f" + b"\xff" * 15, b"\x80" + b"\0" * 15])
@pytest.mark.parametrize("kind", [ValueType.NUMBER, ValueType.INTEGER])
def test_g5_decimals_beyond_their_digits(open_engine, tmp_path, wide, kind):
    decimals = pa.array([Decimal(1), Decimal("1" * 36 + ".11")], pa.decimal128(38, 2))
    write_patched(tmp_path / "a.parquet", decimals, int("1" * 38).to_bytes(16, "big"), wide)
    engine = open_engine({"t": source("a.parquet", x=kind)}, tmp_path)
    assert count(engine, "SELECT count(x) AS n FROM data.t") == 1


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_g5_milliseconds_are_refused_for_everybody_unless_the_owner_vouches(open_engine, tmp_path, zone):
    for moment in (0, 10**17):
        moments = pa.array([moment], pa.int64()).cast(pa.timestamp("ms", zone))
        write_parquet(tmp_path / "a.parquet", id=[1], x=moments)
        engine = open_engine({"t": source("a.parquet")}, tmp_path)
        assert engine.schema("t") == {"id": ValueType.INTEGER}
        assert engine.unsupported("t") == ("x (milliseconds, see well_formed)",)
        assert count(engine, ALL) == 1
        with pytest.raises(PolicyError, match=r"well_formed = true in \[tables\.t\]"):
            open_engine({"t": source("a.parquet", x=ValueType.TIMESTAMP)}, tmp_path)
        vouched = open_engine({"t": vouched_for("a.parquet")}, tmp_path)
        assert vouched.schema("t")["x"] is ValueType.TIMESTAMP


# G6: a line of a CSV file

LINES = [b"1,north,5", b'2,"nor,th",6', b'3,"n""h",7', b"4,s\xc3\xbcd,", b'"5","","8"', b'6,12" pipe,9']
ROWS = ["1|north|5", "2|nor,th|6", '3|n"h|7', "4|süd|-", "5|-|8", '6|12" pipe|9']
HOSTILE = [
    b'7,"open,1',
    b'"',
    b'7,"a"b",1',
    b'7,north,1"',
    b'""""',
    b"7,a\rb,1",
    b"\r",
    b"\r\r\r",
    b"7,a\x00b,1",
    b"7,\xff\xfe,1",
    b"\xef\xbb\xbf7,a,1",
    b"7,a\x1fb,1",
    b"\x1f\x1f\x1f",
    b"7,a\\",
    b"#7,a,1",
    b"",
    b",,",
    b",",
    b"7,a,1,2,3",
    b"," * 5000,
    b'"' * 4999,
    b'7,"' + b"x" * 3_000_000,
    b"x" * 2_000_001,
    b'7,"' + b"x" * 40_000_000,
]


def table(folder, lines, *, name="t.csv", end=b"\n"):
    """Every row that is read, as one text."""
    return tables(folder, {name: lines}, end=end)[0]


def tables(folder, files, *, end=b"\n"):
    """The same for several files, read through one engine: opening one takes longer than reading."""
    for name, lines in files.items():
        (folder / name).write_bytes(end.join([b"id,ward,n", *lines, b""]))
    sources = {f"t{i}": source(name) for i, name in enumerate(files)}
    engine = DuckDBEngine(sources, folder, threads=2)
    row = "coalesce(id, '-') || '|' || coalesce(ward, '-') || '|' || coalesce(n, '-')"
    try:
        found = [engine.run(f"SELECT {row} AS r FROM data.{t}").reveal()["r"].tolist() for t in sources]
        counted = [engine.run(f"SELECT count(*) AS n FROM data.{t}").reveal()["n"][0] for t in sources]
    finally:
        engine.close()
    assert counted == list(map(len, found))  # whatever a question reads, the same lines are rows
    return found


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_lines_of_a_csv_file_are_its_rows(tmp_path, end):
    assert table(tmp_path, LINES, end=end) == ROWS
    assert table(tmp_path, LINES[:1], end=end) == ROWS[:1]
    assert table(tmp_path, [], end=end) == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda line: repr(line[:12]))
@pytest.mark.parametrize("place", [0, 3, 6])
def test_g6_one_line_does_nothing_to_the_others(tmp_path, hostile, place, end):
    found = table(tmp_path, [*LINES[:place], hostile, *LINES[place:]], end=end)
    mine = [row for row in found if row not in ROWS]
    assert [row for row in found if row in ROWS] == ROWS
    assert len(mine) <= hostile.count(b"\r") + 1


signs = st.sampled_from(
    [b'"', b",", b"\r", b"\x00", b"\xff", b"\xc3", b"\xbc", b"\\", b"\x1f", b"7", b"a", b" "]
)
line = st.lists(signs, max_size=30).map(b"".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile=st.lists(line, min_size=1, max_size=3), place=st.integers(0, 6), windows=st.booleans())
def test_g6_random_lines_do_nothing_to_the_others(tmp_path, hostile, place, windows):
    end = b"\r\n" if windows else b"\n"
    alone = {f"{i}.csv": [one] for i, one in enumerate(hostile)}
    files = {"t.csv": [*LINES[:place], *hostile, *LINES[place:]], **alone}
    found, *each = tables(tmp_path, files, end=end)
    assert [row for row in found if row in ROWS] == ROWS
    assert [row for row in found if row not in ROWS] == [row for rows in each for row in rows]


def cells_of(line):
    """Cut by its definition, letter by letter; None if a cell that begins with a mark is not closed."""
    cells, rest = [], line + ","
    while rest:
        found = re.match(r'"((?:[^"]|"")*)",' if rest.startswith('"') else "([^,]*),", rest)
        if found is None:
            return None
        cells.append(found[1].replace('""', '"') if rest.startswith('"') else found[1])
        rest = rest[found.end() :]
    return cells


def test_g6_cells_are_cut_as_they_are_written(tmp_path):
    """Marks that open, close, are doubled or stand in the middle; delimiters between them and beside."""
    written = [
        '"a,b"',
        '"a""b"',
        '"",""',
        '""',
        '","',
        '5"',
        'a"b,c"d',
        '"x,""y"',
        "",
        " ",
        "é",
        '"é,"',
        '"""',
        '"a" ',
    ]
    lines = [",".join(cells) for k in (1, 2, 3) for cells in product(written, repeat=k)]
    expected = [cells for cells in map(cells_of, lines) if cells is not None and len(cells) == 3]
    assert len(expected) > 500
    assert any("," in cell for cells in expected for cell in cells)
    found = table(tmp_path, [line.encode() for line in lines])
    assert found == ["|".join(cell or "-" for cell in cells) for cells in expected]


def test_g6_lines_in_a_file_of_many_pieces(tmp_path):
    """60 MB are read in several pieces by several threads: hostile lines may stand at any border."""
    usual = [b'%d,"w,%d",%d' % (i, i % 7, i) for i in range(1_200_000)]
    hostile = [bad for bad in HOSTILE if len(bad) < 10**7] * 400
    step = len(usual) // len(hostile)
    mixed = [each for i, bad in enumerate(hostile) for each in (*usual[i * step : (i + 1) * step], bad)]
    mixed += usual[len(hostile) * step :]
    (tmp_path / "t.csv").write_bytes(b"id,ward,n\n" + b"\n".join(mixed) + b"\n")
    assert (tmp_path / "t.csv").stat().st_size > 4e7
    engine = DuckDBEngine({"t": source("t.csv")}, tmp_path, threads=2)
    sql = (
        "SELECT count(*) AS n, sum(TRY_CAST(id AS HUGEINT)) AS s FROM data.t"
        " WHERE id = n AND ward = 'w,' || (TRY_CAST(id AS BIGINT) % 7)"
    )
    found = engine.run(sql).reveal()
    engine.close()
    assert (found["n"][0], found["s"][0]) == (len(usual), sum(range(len(usual))))


def test_g6_the_owner_can_vouch_for_line_ends_in_quotation_marks(open_engine, tmp_path):
    (tmp_path / "t.csv").write_text('id,x\n1,"two\nlines"\n2,b\n')
    assert count(open_engine({"t": source("t.csv")}, tmp_path), ALL) == 1
    assert count(open_engine({"t": vouched_for("t.csv")}, tmp_path), ALL) == 2


def test_g6_several_files_have_a_header_each(open_engine, tmp_path):
    for name in "12":
        (tmp_path / f"{name}.csv").write_bytes(b"\xef\xbb\xbfid,x\n1,a\n2,b\n")
    engine = open_engine({"t": source("*.csv")}, tmp_path)
    assert count(engine, "SELECT count(*) AS n FROM data.t WHERE x IN ('a', 'b')") == 4
