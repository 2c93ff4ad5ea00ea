"""Reports that are kept in a file or in a table, one row each: tallied by a GROUP BY where they are.

A row has the question's name and the report, in hex or as bytes. The database counts equal rows, so that what
comes from it is each report that occurs and how often; a collector would come to the same tallies.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from discreet.engines.base.files import Format, Located, locate
from discreet.errors import DiscreetError, InvalidInput
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.counts import SurveyCounts
from discreet.local.mechanisms.mechanism import LocalMechanism, Tally
from discreet.local.survey import Survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUESTION, REPORT = "question", "report"
_ROWS = 100_000

ReportRow = tuple[object, object, int]
"""A question's name, a report, and how often it occurs: as they come from a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest:
    """The tallies, and how many reports were dropped, by the reason."""

    counts: SurveyCounts
    dropped: Counter[Reason]


def tally_file(survey: Survey, location: str) -> AtRest:
    """The tallies of a Parquet or CSV file, a pattern of such files, or FILE.duckdb#TABLE, by DuckDB."""
    try:
        located = locate(location, Path())
    except DiscreetError as error:
        raise InvalidInput(
            error.problem, remedy="Give a .parquet or .csv file, a pattern of them, or FILE.duckdb#TABLE."
        ) from None
    try:
        with duckdb.connect(":memory:") as connection:
            if located.format is Format.DUCKDB:
                connection.execute(f"ATTACH {_literal(str(located.files[0].path))} AS kept (READ_ONLY)")
            return tally_duckdb(survey, connection, _relation(located))
    except duckdb.Error:
        raise InvalidInput(
            f"{location} has no reports that can be read.",
            remedy=f"It needs the columns {QUESTION} and {REPORT}, the report in hex or as bytes.",
        ) from None


def tally_duckdb(survey: Survey, connection: duckdb.DuckDBPyConnection, relation: str) -> AtRest:
    """The tallies of what stands after FROM: a table or subquery with the columns question and report."""
    cursor = connection.cursor()
    cursor.execute(f"SELECT {QUESTION}, {REPORT}, count(*) FROM {relation} GROUP BY ALL")  # noqa: S608
    return _tallied(survey, _fetched(cursor))


def tally_spark(survey: Survey, frame: "DataFrame") -> AtRest:
    """The tallies of a Spark DataFrame with the columns question and report."""
    grouped = frame.groupBy(QUESTION, REPORT).count()
    return _tallied(survey, ((row[0], row[1], row[2]) for row in grouped.toLocalIterator()))


def _relation(located: Located) -> str:
    if located.format is Format.DUCKDB:
        return ".".join('"' + name.replace('"', '""') + '"' for name in ("kept", *located.table))
    files = ", ".join(_literal(file.pattern) for file in located.files)
    if located.format is Format.PARQUET:
        return f"read_parquet([{files}])"
    return f"read_csv([{files}], header = true, all_varchar = true)"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _fetched(cursor: duckdb.DuckDBPyConnection) -> Iterator[ReportRow]:
    while rows := cursor.fetchmany(_ROWS):
        yield from rows


def _tallied(survey: Survey, rows: Iterator[ReportRow]) -> AtRest:
    places = {question.name: place for place, question in enumerate(survey.questions)}
    mechanisms = [question.mechanism for question in survey.questions]
    tallies = [np.zeros(mechanism.cells, dtype=np.int64) for mechanism in mechanisms]
    dropped: Counter[Reason] = Counter()
    while some := list(islice(rows, _ROWS)):
        found: dict[int, list[tuple[bytes, int]]] = {}
        for name, value, count in some:
            place = places.get(name) if isinstance(name, str) else None
            report = None if place is None else _as_bytes(value, mechanisms[place].size)
            if place is None or report is None:
                dropped[Reason.MALFORMED] += count
            else:
                found.setdefault(place, []).append((report, count))
        for place, reports in found.items():
            tallies[place] += _weighted(mechanisms[place], reports, dropped)
    counts = SurveyCounts(digest=survey.digest, collectors=frozenset(), tallies=tuple(tallies))
    return AtRest(counts=counts, dropped=dropped)


def _as_bytes(value: object, size: int) -> bytes | None:
    """A report of the right length, or None."""
    if isinstance(value, str):
        try:
            value = bytes.fromhex(value) if len(value) == 2 * size else b""
        except ValueError:
            return None
    if isinstance(value, bytes | bytearray | memoryview) and len(value) == size:
        return bytes(value)
    return None


def _weighted(
    mechanism: LocalMechanism, reports: Iterable[tuple[bytes, int]], dropped: Counter[Reason]
) -> Tally:
    """The tally of reports that occur several times: one pass for each binary digit of their counts."""
    contents, times = zip(*reports, strict=True)
    rows = np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, mechanism.size)
    counts = np.array(times, dtype=np.int64)
    right = mechanism.valid(rows)
    dropped[Reason.OUT_OF_RANGE] += int(counts[~right].sum())
    rows, counts = rows[right], counts[right]
    tally = np.zeros(mechanism.cells, dtype=np.int64)
    for digit in range(int(counts.max(initial=0)).bit_length()):
        tally += mechanism.tally(rows[counts >> digit & 1 == 1]) << digit
    return tally
