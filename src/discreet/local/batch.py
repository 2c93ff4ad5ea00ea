"""What travels from devices to a collector.

A batch is a format byte, the survey's digest (16 bytes), a random number of this batch (16 bytes, so that a
batch sent twice counts once), and then reports: the number of the question (one byte) and the report itself,
whose length the survey fixes. Nothing in it says who sent it, or when.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import InvalidInput
from discreet.local.mechanisms.mechanism import Reports
from discreet.local.survey import Survey

FORMAT = 1
HEADER = 1 + 16 + 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Reports by the question's place in the survey. They are not checked: no client may have sent them."""

    digest: bytes
    nonce: bytes
    reports: Mapping[int, Reports]


def write_batch(survey: Survey, reports: Iterable[tuple[int, bytes]], *, nonce: bytes | None = None) -> bytes:
    """Reports, each with its question's place in the survey."""
    body = b"".join(bytes([place]) + report for place, report in reports)
    return bytes([FORMAT]) + survey.digest + (nonce or os.urandom(16)) + body


def read_batch(data: bytes, survey: Survey) -> Batch:
    """Refused as a whole if it is cut short, of another survey, or names a question that does not exist."""
    return BatchLayout.of(survey).read(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLayout:
    """What batches of a survey look like: for whoever reads many."""

    digest: bytes
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, survey: Survey) -> "BatchLayout":
        return cls(digest=survey.digest, sizes=tuple(q.mechanism.size for q in survey.questions))

    def read(self, data: bytes) -> Batch:
        if len(data) < HEADER or data[0] != FORMAT:
            raise _malformed("The batch is too short, or has another format.")
        if data[1:17] != self.digest:
            raise OtherSurvey(
                "The batch is of another survey, or of another epoch of it.",
                remedy="Load the present survey, and answer that.",
            )
        return Batch(digest=self.digest, nonce=data[17:33], reports=_reports(data, self.sizes))


class OtherSurvey(InvalidInput):
    """A batch of reports about other questions."""


def _reports(data: bytes, sizes: Sequence[int]) -> Mapping[int, Reports]:
    found: dict[int, list[bytes]] = {}
    at = HEADER
    while at < len(data):
        place = data[at]
        if place >= len(sizes) or at + 1 + sizes[place] > len(data):
            raise _malformed("The batch names a question that there is not, or is cut short.")
        found.setdefault(place, []).append(data[at + 1 : at + 1 + sizes[place]])
        at += 1 + sizes[place]
    return {
        place: np.frombuffer(b"".join(each), dtype=np.uint8).reshape(-1, sizes[place])
        for place, each in found.items()
    }


def _malformed(problem: str) -> InvalidInput:
    return InvalidInput(problem, remedy="Send what the survey's own client wrote.")
