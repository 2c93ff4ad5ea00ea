"""Counts of several collectors add up to those of one; a file of counts is whole or refused."""

import zlib
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.local.collector.counts import (
    SurveyCounts,
    check_survey,
    counts_as_bytes,
    counts_from_bytes,
    merge,
    read_counts,
    write_counts,
)
from discreet.local.collector.store import Collector
from tests.local.collector.surveys import TODAY, batches_of, same, survey, tallies_of

ASKED = survey()


def counts(*cells, collectors=(b"a" * 16,), digest=b"d" * 16):
    tallies = tuple(np.array(each, dtype=np.int64) for each in cells)
    return SurveyCounts(digest=digest, collectors=frozenset(collectors), tallies=tallies)


def test_collectors_merged_equal_one(tmp_path):
    batches = batches_of(ASKED, 120)
    found = []
    for part in range(3):
        with Collector(tmp_path / str(part), ASKED, today=TODAY) as collector:
            for batch in batches[part::3]:
                collector.add(batch)
            found.append(collector.counts())
    merged = reduce(merge, found)
    assert same(merged.tallies, tallies_of(ASKED, batches))
    assert len(merged.collectors) == 3
    check_survey(merged, ASKED)


def test_a_collector_is_not_counted_twice():
    north, south = counts([1, 2]), counts([3, 4], collectors=[b"b" * 16])
    both = merge(north, south)
    assert both.tallies[0].tolist() == [4, 6]
    for again in (north, south, both):
        with pytest.raises(InvalidInput, match="twice"):
            merge(both, again)


def test_counts_of_two_surveys_do_not_add_up():
    with pytest.raises(InvalidInput, match="two surveys"):
        merge(counts([1]), counts([1], collectors=[b"b" * 16], digest=b"e" * 16))


def test_counts_of_another_epoch_are_refused(tmp_path):
    with Collector(tmp_path, ASKED) as collector:
        found = collector.counts()
    check_survey(found, ASKED)
    with pytest.raises(InvalidInput, match="another survey"):
        check_survey(found, survey(epoch=2))
    shorter = SurveyCounts(digest=found.digest, collectors=found.collectors, tallies=found.tallies[:-1])
    with pytest.raises(InvalidInput, match="another survey"):
        check_survey(shorter, ASKED)


def test_a_file_holds_what_was_written(tmp_path):
    written = counts([0, 2**60, 3], [5], collectors=[b"a" * 16, b"b" * 16])
    write_counts(written, tmp_path / "x.counts")
    write_counts(written, tmp_path / "x.counts")
    found = read_counts(tmp_path / "x.counts")
    assert (found.digest, found.collectors) == (written.digest, written.collectors)
    assert same(found.tallies, written.tallies)
    assert [path.name for path in tmp_path.iterdir()] == ["x.counts"]


def test_a_million_empty_cells_take_little_space():
    assert len(counts_as_bytes(counts([0] * 10**6))) < 100_000


WHOLE = counts_as_bytes(counts([1, 2, 3], [4]))


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_one_changed_byte_is_noticed(place, change):
    spoiled = bytearray(WHOLE)
    spoiled[place] ^= change
    with pytest.raises(InvalidInput, match="counts"):
        counts_from_bytes(bytes(spoiled))


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_file_cut_short_is_noticed(length):
    with pytest.raises(InvalidInput, match="counts"):
        counts_from_bytes(WHOLE[:length])


def forged(header, cells):
    """With a right checksum: whoever wrote it meant it."""
    import hashlib

    content = b"discreet counts 1\n" + header.encode() + b"\n" + zlib.compress(cells)
    return content + hashlib.sha256(content).digest()


HEADER = '{"digest": "' + "00" * 16 + '", "collectors": ["' + "11" * 16 + '"], "cells": %s}'


@pytest.mark.parametrize(
    "data",
    [
        forged("{}", b""),
        forged("[]", b""),
        forged("[" * 100_000, b""),
        forged(HEADER % "[2]", bytes(8)),
        forged(HEADER % "[2]", bytes(24)),
        forged(HEADER % "[1]", bytes(10**7)),
        forged(HEADER % "[]", b""),
        forged(HEADER % "[0]", b""),
        forged(HEADER % "[-1, 2]", bytes(8)),
        forged(HEADER % "[1000000000000]", bytes(8)),
        forged(HEADER % '["x"]', bytes(8)),
        forged(HEADER % "[1]", b"\xff" * 8),
        forged(HEADER.replace("00", "zz") % "[1]", bytes(8)),
        b"",
        b"PK\x03\x04",
    ],
    ids=lambda data: "",
)
def test_a_file_that_makes_no_sense_is_refused(data):
    with pytest.raises(InvalidInput, match="counts") as refused:
        counts_from_bytes(data)
    assert "discreet local counts" in refused.value.remedy


def test_a_file_that_cannot_be_read_or_written_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_counts(tmp_path / "none")
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_counts(counts([1]), tmp_path / "none" / "x.counts")
