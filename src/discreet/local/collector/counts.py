"""The state of collectors: tallies that add up.

A file of counts is a line that says what it is, a line of JSON (the survey's digest, the collectors, how many
cells each question has), the cells as compressed 64-bit integers, and a checksum over all of this.
"""

import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from discreet.errors import InvalidInput
from discreet.ledger.files import sync_directory
from discreet.local.mechanisms.mechanism import Tally
from discreet.local.survey import Survey

_FIRST_LINE = b"discreet counts 1\n"
_CHECKSUM = 32
_MOST_CELLS = 2**29
_LONGEST_HEADER = 2**20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SurveyCounts:
    """Tallies of one survey, question by question, and which collectors they are of."""

    digest: bytes
    collectors: frozenset[bytes]
    tallies: tuple[Tally, ...]


def merge(first: SurveyCounts, second: SurveyCounts) -> SurveyCounts:
    """The sum of both. The same collector twice is refused: it would count people twice."""
    if first.digest != second.digest:
        raise InvalidInput(
            "These counts are of two surveys, or of two epochs of one.",
            remedy="Merge those of one survey file; estimate each epoch on its own.",
        )
    if first.collectors & second.collectors:
        raise InvalidInput(
            "A collector is in both of these counts, so that its reports would count twice.",
            remedy="Name every collector's folder or counts once.",
        )
    return SurveyCounts(
        digest=first.digest,
        collectors=first.collectors | second.collectors,
        tallies=tuple(a + b for a, b in zip(first.tallies, second.tallies, strict=True)),
    )


def check_survey(counts: SurveyCounts, survey: Survey) -> None:
    """That the counts are of this survey."""
    right = counts.digest == survey.digest and [len(tally) for tally in counts.tallies] == [
        question.mechanism.cells for question in survey.questions
    ]
    if not right:
        raise InvalidInput(
            "These counts are of another survey, or of another epoch of it.",
            remedy="Give the survey file that the collector was started with.",
        )


def write_counts(counts: SurveyCounts, path: Path) -> None:
    """Replaced as a whole, so that a reader never sees half of it."""
    content = counts_as_bytes(counts)
    fresh = path.with_name(path.name + ".new")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_directory(path.resolve().parent)
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}.", remedy="Choose another place for the counts."
        ) from None


def read_counts(path: Path) -> SurveyCounts:
    try:
        return counts_from_bytes(path.read_bytes())
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Give a file that `discreet local counts` wrote.",
        ) from None


def counts_as_bytes(counts: SurveyCounts) -> bytes:
    header = {
        "digest": counts.digest.hex(),
        "collectors": sorted(collector.hex() for collector in counts.collectors),
        "cells": [len(tally) for tally in counts.tallies],
    }
    cells = b"".join(tally.astype("<i8").tobytes() for tally in counts.tallies)
    content = _FIRST_LINE + json.dumps(header).encode() + b"\n" + zlib.compress(cells, 1)
    return content + hashlib.sha256(content).digest()


def counts_from_bytes(data: bytes) -> SurveyCounts:
    if not data.startswith(_FIRST_LINE):
        _damaged("This is not a file of counts that this version can read.")
    content, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    if hashlib.sha256(content).digest() != checksum:
        _damaged("The file of counts is damaged, or cut short.")
    end = content.find(b"\n", len(_FIRST_LINE), len(_FIRST_LINE) + _LONGEST_HEADER)
    try:
        header = json.loads(content[len(_FIRST_LINE) : end])
        digest = bytes.fromhex(header["digest"])
        collectors = frozenset(bytes.fromhex(collector) for collector in header["collectors"])
        tallies = _tallies(content[end + 1 :], [int(cells) for cells in header["cells"]])
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error):
        _damaged("The file of counts does not say what such a file says.")
    return SurveyCounts(digest=digest, collectors=collectors, tallies=tallies)


def _tallies(compressed: bytes, cells: list[int]) -> tuple[Tally, ...]:
    """Never more memory than the header says, whatever the compressed bytes hold."""
    if min(cells, default=0) < 1 or sum(cells) > _MOST_CELLS:
        raise ValueError
    expected = 8 * sum(cells)
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(compressed, expected + 1)
    if len(raw) != expected:
        raise ValueError
    whole = np.frombuffer(raw, dtype="<i8").astype(np.int64)
    if whole.min() < 0:
        raise ValueError
    return tuple(np.split(whole, np.cumsum(cells)[:-1]))


def _damaged(problem: str) -> NoReturn:
    raise InvalidInput(problem, remedy="Write it again with `discreet local counts`.") from None
