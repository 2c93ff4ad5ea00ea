"""Reports in files and tables come to the tallies of a collector that was sent them."""

import duckdb
import pytest

from discreet.errors import InvalidInput
from discreet.local.batch import write_batch
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.report_files import tally_duckdb, tally_file, tally_spark
from discreet.local.collector.store import Collector
from tests.local.collector.surveys import TODAY, people, same, survey

ASKED = survey()
BAD = [
    ("smokes", b"\x03", Reason.OUT_OF_RANGE),
    ("smokes", b"\x03", Reason.OUT_OF_RANGE),
    ("town", b"\xff\xff", Reason.OUT_OF_RANGE),
    ("smokes", b"\x01\x00", Reason.MALFORMED),
    ("smokes", b"", Reason.MALFORMED),
    ("smokes", None, Reason.MALFORMED),
    ("elsewhere", b"\x01", Reason.MALFORMED),
    (None, b"\x01", Reason.MALFORMED),
]
DROPPED = {Reason.OUT_OF_RANGE: 3, Reason.MALFORMED: 5}


@pytest.fixture(scope="module")
def everyone():
    return [report for person in people(ASKED, 500) for report in person]


@pytest.fixture(scope="module")
def rows(everyone):
    """(question, report) of everybody, and some that no client sent."""
    good = [(ASKED.questions[place].name, report) for place, report in everyone]
    return good + [(name, report) for name, report, _ in BAD]


@pytest.fixture(scope="module")
def collected(everyone, tmp_path_factory):
    with Collector(tmp_path_factory.mktemp("reports"), ASKED, today=TODAY) as collector:
        collector.add(write_batch(ASKED, everyone))
        return collector.counts().tallies


@pytest.fixture
def database(rows):
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE reports (question VARCHAR, report BLOB)")
        connection.executemany("INSERT INTO reports VALUES (?, ?)", rows)
        yield connection


def test_a_table_of_bytes(database, collected):
    found = tally_duckdb(ASKED, database, "reports")
    assert same(found.counts.tallies, collected)
    assert found.dropped == DROPPED


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_of_hex(database, collected, tmp_path, kind):
    file = tmp_path / f"reports.{kind}"
    database.execute(f"COPY (SELECT question, hex(report) AS report FROM reports) TO '{file}'")
    found = tally_file(ASKED, str(file))
    assert same(found.counts.tallies, collected)
    assert found.dropped == DROPPED


def test_a_parquet_file_of_bytes(database, collected, tmp_path):
    database.execute(f"COPY reports TO '{tmp_path}/reports.parquet'")
    assert same(tally_file(ASKED, f"{tmp_path}/reports.parquet").counts.tallies, collected)


def test_several_files(database, collected, tmp_path):
    for part in (0, 1):
        select = f"SELECT * FROM reports WHERE rowid % 2 = {part}"
        database.execute(f"COPY ({select}) TO '{tmp_path}/part-{part}.parquet'")
    assert same(tally_file(ASKED, f"{tmp_path}/part-*.parquet").counts.tallies, collected)


def test_a_table_of_a_duckdb_file(database, collected, tmp_path):
    file = tmp_path / "kept.duckdb"
    database.execute(f"ATTACH '{file}' AS kept; CREATE TABLE kept.sent AS FROM reports; DETACH kept")
    assert same(tally_file(ASKED, f"{file}#sent").counts.tallies, collected)


def test_text_that_is_no_hex_is_dropped():
    values = "('smokes', 'zz'), ('smokes', '0'), ('smokes', ' 1'), ('smokes', '1 '), ('town', '0 01')"
    with duckdb.connect(":memory:") as connection:
        found = tally_duckdb(ASKED, connection, f"(VALUES {values}) AS t(question, report)")
    assert found.dropped == {Reason.MALFORMED: 5}
    assert all(tally.sum() == 0 for tally in found.counts.tallies)


@pytest.mark.parametrize("times", [1, 2, 3, 1000, 1023])
def test_a_report_counts_as_often_as_it_occurs(times):
    with duckdb.connect(":memory:") as connection:
        sql = f"SELECT 'smokes' AS question, '01' AS report FROM range({times})"
        found = tally_duckdb(ASKED, connection, f"({sql})")
    assert found.counts.tallies[0].tolist() == [times, 0]


@pytest.mark.parametrize(
    "content", ["question,answer\nsmokes,01\n", "", "\0\0\0"], ids=["another column", "nothing", "zeros"]
)
def test_a_file_without_reports_is_refused(tmp_path, content):
    (tmp_path / "reports.csv").write_text(content)
    with pytest.raises(InvalidInput, match="reports"):
        tally_file(ASKED, str(tmp_path / "reports.csv"))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no file"):
        tally_file(ASKED, str(tmp_path / "reports.csv"))


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("kind", ["bytes", "hex"])
def test_a_table_of_spark(spark, rows, collected, kind):
    written = [
        (name, report.hex() if kind == "hex" and report is not None else report) for name, report in rows
    ]
    of = "binary" if kind == "bytes" else "string"
    found = tally_spark(ASKED, spark.createDataFrame(written, f"question string, report {of}"))
    assert same(found.counts.tallies, collected)
    assert found.dropped == DROPPED
