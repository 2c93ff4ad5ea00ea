"""A collector counts what it acknowledges, once, and nothing else."""

import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date

import numpy as np
import pytest

from discreet.errors import CollectorClosed, DiscreetError, InvalidInput
from discreet.local.batch import write_batch
from discreet.local.collector import store
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.database import FILE, CollectorFile
from discreet.local.collector.store import LARGEST_BATCH, BatchReceipt, Collector, counts_of_folder
from tests.local.collector.surveys import TODAY, batches_of, people, reports_of, same, survey, tallies_of

ASKED = survey()


@pytest.fixture
def collector(tmp_path):
    with Collector(tmp_path / "reports", ASKED, today=TODAY) as open_collector:
        yield open_collector


def kept(tmp_path, sql):
    """One value of the collector's file."""
    with closing(sqlite3.connect(tmp_path / "reports" / FILE)) as connection:
        return connection.execute(sql).fetchone()[0]


def reopened(tmp_path, **named):
    return Collector(tmp_path / "reports", ASKED, today=TODAY, **named)


def test_batches_are_added_up(collector):
    batches = batches_of(ASKED, 200)
    for batch in batches:
        assert collector.add(batch) == BatchReceipt(accepted=30, rejected=0, repeated=False)
    assert same(collector.counts().tallies, tallies_of(ASKED, batches))
    assert collector.reports() == {"smokes": 200, "town": 200, "hours": 200}
    assert not collector.rejected()


def test_a_batch_sent_twice_counts_once_and_is_acknowledged_again(collector):
    (batch,) = batches_of(ASKED, 10)
    first, second = collector.add(batch), collector.add(batch)
    assert (first.repeated, second.repeated) == (False, True)
    assert (second.accepted, second.rejected) == (30, 0)
    assert same(collector.counts().tallies, tallies_of(ASKED, [batch]))
    assert collector.rejected() == {Reason.REPEATED: 1}


def test_another_batch_with_the_same_number_is_refused(collector):
    first = write_batch(ASKED, people(ASKED, 1)[0], nonce=bytes(16))
    second = write_batch(ASKED, people(ASKED, 1)[0][:2], nonce=bytes(16))
    collector.add(first)
    with pytest.raises(InvalidInput, match="number"):
        collector.add(second)
    assert same(collector.counts().tallies, tallies_of(ASKED, [first]))


def test_it_goes_on_where_it_was(tmp_path):
    batches = batches_of(ASKED, 100)
    with reopened(tmp_path) as collector:
        for batch in batches[:5]:
            collector.add(batch)
        collector.note_rejected(Reason.TOO_LARGE)
        identity = collector.counts().collectors
    with reopened(tmp_path) as collector:
        for batch in batches[3:]:
            collector.add(batch)
        assert same(collector.counts().tallies, tallies_of(ASKED, batches))
        assert collector.counts().collectors == identity
        assert collector.rejected() == {Reason.TOO_LARGE: 1, Reason.REPEATED: 2}


@pytest.mark.parametrize("after", [1, 3, 10**6])
def test_it_goes_on_whenever_tallies_were_kept(tmp_path, after):
    """Also if they never were; and after a crash, before which they are not."""
    batches = batches_of(ASKED, 100)
    collector = reopened(tmp_path)
    collector._tallies_after = after
    for batch in batches[:7]:
        collector.add(batch)
    collector._tallies_after = 10**6
    for batch in batches[7:]:
        collector.add(batch)
    collector._keep_tallies = lambda: None
    collector.close()
    with reopened(tmp_path) as again:
        assert same(again.counts().tallies, tallies_of(ASKED, batches))
        assert again.reports()["town"] == 100


def test_many_senders_at_once(collector, monkeypatch):
    """More than are committed together, each waiting for its own acknowledgement."""
    monkeypatch.setattr(store, "_LARGEST_GROUP", 7)
    batches = batches_of(ASKED, 300, size=1)
    with ThreadPoolExecutor(16) as senders:
        receipts = list(senders.map(collector.add, batches + batches[:50]))
    assert sum(receipt.repeated for receipt in receipts) == 50
    assert same(collector.counts().tallies, tallies_of(ASKED, batches))


def test_what_waits_together_is_committed_together(tmp_path, monkeypatch):
    commits = []
    honest = CollectorFile.transaction
    monkeypatch.setattr(CollectorFile, "transaction", lambda self: commits.append(1) or honest(self))
    collector = reopened(tmp_path)
    waiting = [collector._submitted(batch) for batch in batches_of(ASKED, 500, size=1)]
    assert all(receipt.result().accepted == 3 for receipt in waiting)
    assert len(commits) < 250
    collector.close()


BAD_BATCHES = {
    "nothing": (lambda batch: b"", Reason.MALFORMED),
    "half a header": (lambda batch: batch[:20], Reason.MALFORMED),
    "another version": (lambda batch: b"\x02" + batch[1:], Reason.MALFORMED),
    "cut short": (lambda batch: batch[:-1], Reason.MALFORMED),
    "one byte more": (lambda batch: batch + b"\x00", Reason.MALFORMED),
    "no such question": (lambda batch: batch + b"\x03\x00\x00\x00", Reason.MALFORMED),
    "another survey": (lambda batch: batch[:1] + bytes(16) + batch[17:], Reason.OTHER_SURVEY),
    "JSON": (lambda batch: b'{"smokes": "yes"}' * 10, Reason.MALFORMED),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_a_bad_batch_is_refused_and_counted_and_changes_nothing(collector, caplog, name):
    caplog.set_level(logging.INFO)
    spoil, reason = BAD_BATCHES[name]
    good, victim = batches_of(ASKED, 20)
    collector.add(good)
    with pytest.raises(InvalidInput) as refused:
        collector.add(spoil(victim))
    assert collector.rejected() == {reason: 1}
    assert same(collector.counts().tallies, tallies_of(ASKED, [good]))
    assert f"rejected: {reason.value}" in caplog.text
    for content in (victim, victim[33:40]):
        assert content.hex() not in caplog.text + str(refused.value)
        assert repr(content) not in caplog.text + str(refused.value)


def test_another_epoch_is_another_survey(collector):
    other = survey(epoch=2)
    with pytest.raises(InvalidInput, match="epoch"):
        collector.add(batches_of(other, 10)[0])
    assert collector.rejected() == {Reason.OTHER_SURVEY: 1}


def test_a_survey_that_has_ended_takes_no_reports(tmp_path):
    with Collector(tmp_path / "reports", ASKED, today=date(2027, 1, 1)) as collector:
        with pytest.raises(InvalidInput, match="ended"):
            collector.add(batches_of(ASKED, 10)[0])
        assert collector.rejected() == {Reason.EXPIRED: 1}
    with Collector(tmp_path / "reports", ASKED, today=date(2026, 12, 31)) as collector:
        assert collector.add(batches_of(ASKED, 10)[0]).accepted == 30


def test_a_batch_that_is_too_large_is_refused(collector):
    with pytest.raises(InvalidInput, match="at most"):
        collector.add(bytes(LARGEST_BATCH + 1))
    assert collector.rejected() == {Reason.TOO_LARGE: 1}


def test_reports_out_of_range_are_dropped_one_by_one(collector):
    """Both options at once, neither, a third; a town and a place that there are not."""
    good = people(ASKED, 5)
    bad = [(0, b"\x03"), (0, b"\x00"), (0, b"\x05"), (1, b"\xff\xff"), (2, b"\xff\xff\xff")]
    mixed = [report for person, wrong in zip(good, bad, strict=True) for report in (*person, wrong)]
    assert collector.add(write_batch(ASKED, mixed)) == BatchReceipt(accepted=15, rejected=5, repeated=False)
    expected = tallies_of(ASKED, [write_batch(ASKED, [report for person in good for report in person])])
    assert same(collector.counts().tallies, expected)
    assert collector.rejected() == {Reason.OUT_OF_RANGE: 5}


def test_a_flood_is_counted_up_to_the_cap(tmp_path):
    """Of each question; what is over leaves nothing on the disk."""
    flood = [(0, report) for report in reports_of(ASKED, 0, np.ones(500))]
    with reopened(tmp_path, cap=120) as collector:
        collector.add(write_batch(ASKED, [report for person in people(ASKED, 100) for report in person]))
        receipts = [
            collector.add(write_batch(ASKED, flood[start : start + 50])) for start in range(0, 500, 50)
        ]
        assert [receipt.accepted for receipt in receipts] == [20, *[0] * 9]
        assert collector.reports() == {"smokes": 120, "town": 100, "hours": 100}
        assert collector.rejected() == {Reason.OVER_THE_CAP: 480}
        assert kept(tmp_path, "SELECT count(*) FROM batches") == 2
    with reopened(tmp_path, cap=120) as collector:
        assert collector.add(write_batch(ASKED, flood[:1])).rejected == 1


def test_a_batch_over_the_cap_that_is_repeated_is_acknowledged_as_it_was(tmp_path):
    with reopened(tmp_path, cap=5) as collector:
        (batch,) = batches_of(ASKED, 10)
        assert collector.add(batch) == BatchReceipt(accepted=15, rejected=15, repeated=False)
        assert collector.add(batch) == BatchReceipt(accepted=15, rejected=15, repeated=True)


def test_two_collectors_cannot_have_one_folder(tmp_path, collector):
    with pytest.raises(CollectorClosed, match="Another collector"):
        reopened(tmp_path)
    assert collector.add(batches_of(ASKED, 10)[0]).accepted == 30


def test_a_folder_is_of_one_survey(tmp_path):
    reopened(tmp_path).close()
    with pytest.raises(InvalidInput, match="another survey"):
        Collector(tmp_path / "reports", survey(epoch=2))
    reopened(tmp_path).close()


def test_a_folder_is_read_while_its_collector_goes_on(tmp_path, collector):
    batches = batches_of(ASKED, 50)
    for batch in batches:
        collector.add(batch)
    found, counts, rejected = counts_of_folder(tmp_path / "reports")
    assert found == ASKED
    assert counts.collectors == collector.counts().collectors
    assert same(counts.tallies, tallies_of(ASKED, batches))
    assert not rejected


def test_a_disk_that_fails_acknowledges_nothing_and_counts_nothing(collector, monkeypatch):
    honest = CollectorFile.add_rejected

    def full(self, counts):
        honest(self, counts)
        raise sqlite3.OperationalError("database or disk is full")

    batches = batches_of(ASKED, 20)
    collector.add(batches[0])
    with monkeypatch.context() as broken:
        broken.setattr(CollectorFile, "add_rejected", full)
        with pytest.raises(CollectorClosed, match="cannot be used"):
            collector.add(batches[1])
    assert same(collector.counts().tallies, tallies_of(ASKED, batches[:1]))
    assert collector.reports()["smokes"] == 10
    assert not collector.add(batches[1]).repeated
    assert same(collector.counts().tallies, tallies_of(ASKED, batches))


def test_a_closed_collector_takes_nothing(collector):
    collector.close()
    collector.close()
    with pytest.raises(CollectorClosed, match="closed"):
        collector.add(batches_of(ASKED, 10)[0])


def test_more_than_fits_into_memory_is_told_to_come_later(collector, monkeypatch):
    monkeypatch.setattr(store, "_MOST_WAITING", 10)
    with pytest.raises(CollectorClosed, match="busy"):
        collector.add(batches_of(ASKED, 10)[0])


@pytest.mark.usefixtures("collector")
def test_the_folder_is_its_owners_alone(tmp_path):
    assert (tmp_path / "reports").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "reports" / FILE).stat().st_mode & 0o777 == 0o600


def test_no_time_and_no_sender_is_stored(tmp_path, collector):
    collector.add(batches_of(ASKED, 10)[0])
    collector.close()
    connection = sqlite3.connect(tmp_path / "reports" / FILE)
    columns = connection.execute(
        "SELECT m.name, p.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE m.type = 'table'"
    ).fetchall()
    connection.close()
    assert sorted(columns) == [
        ("batches", "accepted"),
        ("batches", "content"),
        ("batches", "dropped"),
        ("batches", "nonce"),
        ("batches", "number"),
        ("collector", "id"),
        ("collector", "one"),
        ("collector", "survey"),
        ("collector", "tallied"),
        ("rejected", "count"),
        ("rejected", "reason"),
        ("reports", "batch"),
        ("reports", "body"),
        ("reports", "question"),
        ("tallies", "body"),
        ("tallies", "part"),
        ("tallies", "question"),
    ]


def changed(sql):
    def change(path):
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("DROP TRIGGER reports_stand;" + sql)

    return change


SPOILED = {
    "another file": lambda path: path.write_bytes(b"not a database, whatever it says" * 200),
    "half of it": lambda path: path.write_bytes(path.read_bytes()[: 4096 * 3]),
    "no collector": changed("DELETE FROM collector"),
    "no survey": changed("UPDATE collector SET survey = '{}'"),
    "a cut report": changed(
        "UPDATE collector SET tallied = 0; UPDATE reports SET body = x'01' WHERE question = 1"
    ),
    "a question too many": changed(
        "UPDATE collector SET tallied = 0; UPDATE reports SET question = question + 7"
    ),
    "a tally of noise": changed("UPDATE tallies SET body = x'0102'"),
    "another reason": changed("INSERT INTO rejected VALUES ('bad luck', 1)"),
    "another version": changed("PRAGMA user_version = 2"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_file_that_is_something_else_is_refused(tmp_path, name):
    with reopened(tmp_path) as collector:
        collector.add(batches_of(ASKED, 10)[0])
    SPOILED[name](tmp_path / "reports" / FILE)
    with pytest.raises(DiscreetError):
        reopened(tmp_path)
    with pytest.raises(DiscreetError):
        counts_of_folder(tmp_path / "reports")


def test_another_programs_database_is_left_alone(tmp_path):
    (tmp_path / "reports").mkdir()
    connection = sqlite3.connect(tmp_path / "reports" / FILE)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(CollectorClosed, match="not one of a collector"):
        reopened(tmp_path)
    with pytest.raises(InvalidInput, match="not the folder"):
        counts_of_folder(tmp_path)


def test_a_commit_waits_for_the_disk(collector):
    """kill -9 cannot show it: what a process wrote outlives it, but not a power cut."""
    connection = collector._file._connection
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_batches_are_only_added(tmp_path, collector):
    collector.add(batches_of(ASKED, 10)[0])
    for sql in ("DELETE FROM batches", "UPDATE reports SET body = x''", "DELETE FROM reports"):
        with pytest.raises(sqlite3.IntegrityError, match="append only"):
            kept(tmp_path, sql)
