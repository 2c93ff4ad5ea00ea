"""Texts are read as dates by a declared format: the same on every engine, and none makes it fail."""

import csv as csv_files
from datetime import datetime

import duckdb
import numpy as np
import pytest

from discreet.errors import PolicyError
from discreet.model.date_format import read_format
from discreet.model.declaration import TableSource
from discreet.model.policy import ValueType

FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y %H:%M", "%H:%M:%S %Y/%m/%d"]
ODD = (
    *(
        "",
        " ",
        "x",
        "15.03.2025 ",
        " 5.3.2025",
        "31.02.2025",
        "29.02.2023",
        "29.02.2024",
        "00.01.2025",
        "1.13.2025",
    ),
    *(
        "15.03.0000",
        "01.01.0001",
        "31.12.9999",
        "15.03.20255",
        "15.03.25",
        "-5.03.2025",
        "2025-03-15",
        "infinity",
    ),
    *(
        "02/29/2024",
        "13/01/2025",
        "1/2/2025",
        "20240229",
        "20250230",
        "2025315",
        "epoch",
        "now",
        "٣.٣.2025",
        "1e3",
    ),
    *(
        "15-03-2025 24:00",
        "15-03-2025 23:59",
        "5-3-2025 5:07",
        "15-03-2025 10:60",
        "1-1-2025 1:1:1",
        "15:03:2025",
    ),
    *(
        "23:59:59 2025/3/15",
        "10:00:60 2025/03/15",
        "1:2:3 0000/01/01",
        "$1",
        "\\1",
        "'; --",
        "15.03.2025 00:00",
    ),
)
BESIDE = ("15.03.2025.5", "15.03.2025Z", "15.03.2025+02", "x15.03.2025", "2015.03.2025", "15.03.2025\t")
"""What a cast would take for a part of the time, if the format did not have to fit the whole text."""
HOSTILE = (*ODD, *BESIDE, "1" * 5000, "15.03.2025" + " " * 3000 + "x")


def read_as(source, formats, kind=ValueType.TIMESTAMP, *, public=False):
    return TableSource(
        location=source,
        public=public,
        person=None,
        types=dict.fromkeys(formats, kind),
        implied_types=dict.fromkeys(formats, kind),
        formats=formats,
    )


def values(engine, column):
    sql = f"SELECT id, {column} AS x FROM {engine.relations['t']} ORDER BY id"
    engine.prepare(sql)
    found = engine.run(sql).reveal()["x"]
    missing = np.ma.getmaskarray(found)
    cells = np.ma.getdata(found).astype("datetime64[us]").astype(object)
    return [None if gone else cell for cell, gone in zip(cells, missing, strict=True)]


def expected(written, texts):
    return [read_format(written).parse(text) for text in texts]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One column for each format, all with the same texts."""
    folder = tmp_path_factory.mktemp("formats")
    columns = [f"c{i}" for i in range(len(FORMATS))]
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv_files.writer(file)
        writer.writerow(["id", *columns])
        writer.writerows([i, *[text] * len(FORMATS)] for i, text in enumerate(HOSTILE))
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (id BIGINT, {', '.join(f'{name} VARCHAR' for name in columns)})")
        rows = [[i, *[text] * len(FORMATS)] for i, text in enumerate(HOSTILE)]
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (len(FORMATS) + 1))})", rows)
        connection.execute(f"COPY t TO '{folder / 't.parquet'}'")
    return folder


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.duckdb#t"])
@pytest.mark.parametrize("public", [False, True])
def test_every_text_is_what_its_format_says_or_missing(open_engine, files, name, public):
    formats = {f"c{i}": written for i, written in enumerate(FORMATS)}
    source = read_as(name, formats, public=public)
    types = {**source.implied_types, "id": ValueType.INTEGER}
    engine = open_engine({"t": TableSource(**fields(source) | {"implied_types": types})}, files)
    for column, written in formats.items():
        assert values(engine, column) == expected(written, HOSTILE)
        assert any(expected(written, HOSTILE))


def fields(source):
    return {name: getattr(source, name) for name in source.__dataclass_fields__}


def test_a_date_leaves_the_time_of_day_out(open_engine, files):
    engine = open_engine({"t": read_as("t.parquet", {"c3": FORMATS[3]}, ValueType.DATE)}, files)
    days = [None if moment is None else moment.date() for moment in expected(FORMATS[3], HOSTILE)]
    found = [None if moment is None else moment.date() for moment in values(engine, "c3")]
    assert found == days


def test_without_a_format_dates_of_csv_are_as_iso_has_them(open_engine, tmp_path):
    (tmp_path / "t.csv").write_text("id,d\n1,2025-03-15\n2,15.03.2025\n")
    types = {"d": ValueType.DATE, "id": ValueType.INTEGER}
    source = TableSource(location="t.csv", public=False, person=None, types=types, implied_types=types)
    assert values(open_engine({"t": source}, tmp_path), "d") == [datetime(2025, 3, 15), None]


def test_an_ambiguous_public_file_is_read_as_declared(open_engine, tmp_path):
    """DuckDB would guess, and take days for months."""
    (tmp_path / "t.csv").write_text("id,d\n" + "".join(f"{i},0{i}/02/2025\n" for i in range(1, 9)))
    for written, first in (("%d/%m/%Y", datetime(2025, 2, 1)), ("%m/%d/%Y", datetime(2025, 1, 2))):
        engine = open_engine({"t": read_as("t.csv", {"d": written}, public=True)}, tmp_path)
        assert values(engine, "d")[0] == first


def test_a_format_is_for_texts(open_engine, files, tmp_path):
    duckdb.execute(f"COPY (SELECT 1 AS id, DATE '2025-03-15' AS d) TO '{tmp_path / 't.parquet'}'")
    with pytest.raises(PolicyError, match="a format is for texts") as refusal:
        open_engine({"t": read_as("t.parquet", {"d": "%d.%m.%Y"}, ValueType.DATE)}, tmp_path)
    assert "Drop the format" in refusal.value.remedy
    without = TableSource(**fields(read_as("t.parquet", {"c0": FORMATS[0]})) | {"formats": {}})
    with pytest.raises(PolicyError, match="is text in its source"):
        open_engine({"t": without}, files)


@pytest.mark.xdist_group("spark")
def test_spark_reads_the_same(open_spark, files):
    formats = {f"c{i}": written for i, written in enumerate(FORMATS)}
    engine = open_spark({"t": read_as("spark://local#t.parquet", formats)}, files)
    for column, written in formats.items():
        assert values(engine, column) == expected(written, HOSTILE)
    engine = open_spark({"t": read_as("spark://local#t.parquet", {"c0": FORMATS[0]}, ValueType.DATE)}, files)
    assert values(engine, "c0") == expected(FORMATS[0], HOSTILE)


def test_postgresql_refuses_a_format_when_it_is_opened(open_postgres, clinic):
    source = read_as(f"{clinic}#visits", {"note": "%d.%m.%Y"}, ValueType.DATE)
    with pytest.raises(PolicyError, match="PostgreSQL cannot read") as refusal:
        open_postgres({"visits": source})
    assert "to_date" in refusal.value.remedy
