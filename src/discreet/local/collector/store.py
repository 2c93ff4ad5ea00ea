"""A collector: it acknowledges a batch once it is on the disk, and counts it once however often it is sent.

One thread writes. Batches that wait together are committed together, so that many senders share the one wait
for the disk. What is rejected is counted by its reason; the counts go to the disk with the next commit.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Self

from discreet.errors import CollectorClosed, DiscreetError, InvalidInput
from discreet.local.collector.acceptance import Judge, Judged, Reason, Refused
from discreet.local.collector.counts import SurveyCounts
from discreet.local.collector.database import CollectorFile, read_folder, told
from discreet.local.survey import Survey
from discreet.model.exact import positive_count

DEFAULT_CAP = 10_000_000
LARGEST_BATCH = 2**20
_LARGEST_GROUP = 1000
_MOST_WAITING = 64 * LARGEST_BATCH
_TALLIES_AFTER = 100_000  # batches; or as many as the tallies have cells, if they have more
_IDLE_SECONDS = 1.0

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReceipt:
    """What became of a batch: it is on the disk."""

    accepted: int
    rejected: int
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    data: bytes
    receipt: "Future[BatchReceipt]"


class Collector:
    """The collector of one survey, in one folder. Safe to use from several threads."""

    def __init__(
        self, folder: str | Path, survey: Survey, *, cap: int = DEFAULT_CAP, today: date | None = None
    ) -> None:
        """At most `cap` reports count for each question: what a flood sends beyond is rejected."""
        self.survey = survey
        self._judge = Judge(survey, cap=positive_count(cap, "cap"), today=today)
        self._file = CollectorFile(Path(folder), survey)
        try:
            self._running = self._file.load(survey)
            self._rejected_on_disk = self._file.rejected()
        except BaseException:
            self._file.close()
            raise
        self._rejected: Counter[Reason] = Counter()
        self._taken = self._running.counts()
        cells = sum(question.mechanism.cells for question in survey.questions)
        self._since_tallies, self._tallies_after = 0, max(_TALLIES_AFTER, cells)
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._waiting_bytes, self._lock, self._open = 0, Lock(), True
        self._writer = Thread(target=self._write, name="collector", daemon=True)
        self._writer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close, once all that waits is committed."""
        with self._lock:
            was_open, self._open = self._open, False
        if was_open:
            self._queue.put(None)
            self._writer.join()
            self._file.close()

    def add(self, data: bytes) -> BatchReceipt:
        """Wait until a batch is on the disk."""
        return self._submitted(data).result()

    async def add_soon(self, data: bytes) -> BatchReceipt:
        """The same, without blocking a thread."""
        return await asyncio.wrap_future(self._submitted(data))

    def note_rejected(self, reason: Reason) -> None:
        """Count something that was not even a batch."""
        _log_rejected({reason: 1})
        with self._lock:
            self._rejected[reason] += 1

    def rejected(self) -> Counter[Reason]:
        """Reports that were out of range or over the cap; and whole batches, for all other reasons."""
        with self._lock:
            return self._rejected_on_disk + self._rejected

    def counts(self) -> SurveyCounts:
        """The tallies of all that is acknowledged."""
        return SurveyCounts(
            digest=self.survey.digest,
            collectors=frozenset([self._file.id]),
            tallies=self._running.tallies(),
        )

    def reports(self) -> Mapping[str, int]:
        """How many reports each question has."""
        counted = self._taken
        return {question.name: counted[place] for place, question in enumerate(self.survey.questions)}

    def _submitted(self, data: bytes) -> "Future[BatchReceipt]":
        if len(data) > LARGEST_BATCH:
            self.note_rejected(Reason.TOO_LARGE)
            raise too_large()
        waiting = _Waiting(data=data, receipt=Future())
        with self._lock:
            if not self._open:
                raise CollectorClosed("The collector is closed.", remedy="Send the batch again later.")
            if self._waiting_bytes + len(data) > _MOST_WAITING:
                raise CollectorClosed("The collector is busy.", remedy="Send the batch again later.")
            self._waiting_bytes += len(data)
            self._queue.put(waiting)
        return waiting.receipt

    def _write(self) -> None:
        """The writer's thread."""
        going_on = True
        while going_on:
            group, going_on = self._next_group()
            try:
                with told():
                    outcomes = self._committed(group)
            except Exception as error:
                outcomes = [_failure(error) for _ in group]
            self._tell(group, outcomes)
            if self._since_tallies >= (self._tallies_after if going_on else 1):
                self._keep_tallies()

    def _next_group(self) -> tuple[list[_Waiting], bool]:
        """The batches that wait, none if nothing comes for a while; and whether more may come."""
        group: list[_Waiting] = []
        while len(group) < _LARGEST_GROUP:
            try:
                item = self._queue.get_nowait() if group else self._queue.get(timeout=_IDLE_SECONDS)
            except Empty:
                break
            if item is None:
                return group, False
            group.append(item)
        return group, True

    def _committed(self, group: Sequence[_Waiting]) -> "list[BatchReceipt | DiscreetError]":
        """What becomes of each batch, once all of it is on the disk. Nothing counts before."""
        with self._lock:
            noted = self._rejected.copy()
        if not group and not noted:
            return []
        taken, fresh, reasons = self._taken.copy(), list[Judged](), Counter[Reason]()
        with self._file.transaction():
            outcomes = [self._judged(waiting.data, taken, fresh, reasons) for waiting in group]
            self._file.add_rejected(noted + reasons)
        self._taken = taken
        self._since_tallies += len(fresh)
        for judged in fresh:
            self._running.add(judged.accepted)
        with self._lock:
            self._rejected -= noted
            self._rejected_on_disk += noted + reasons
        _log_rejected(reasons)
        return outcomes

    def _judged(
        self, data: bytes, taken: Counter[int], fresh: list[Judged], reasons: Counter[Reason]
    ) -> "BatchReceipt | DiscreetError":
        try:
            judged = self._judge.judge(data, taken)
        except Refused as refused:
            reasons[refused.reason] += 1
            return refused.error
        content = hashlib.sha256(data).digest()[:16]
        if (earlier := self._file.earlier(judged.nonce)) is not None:
            reasons[Reason.REPEATED] += 1
            if earlier[0] != content:
                return InvalidInput(
                    "Another batch has this batch's number.", remedy="Draw a number for each batch at random."
                )
            return BatchReceipt(accepted=earlier[1], rejected=earlier[2], repeated=True)
        reasons.update(judged.dropped)
        if judged.accepted:  # a batch without any is not stored, so that floods do not fill the disk
            self._file.add(judged, content)
            taken.update({place: len(reports) for place, reports in judged.accepted.items()})
            fresh.append(judged)
        return BatchReceipt(accepted=judged.count, rejected=judged.dropped.total(), repeated=False)

    def _tell(self, group: Sequence[_Waiting], outcomes: "Sequence[BatchReceipt | DiscreetError]") -> None:
        with self._lock:
            self._waiting_bytes -= sum(len(waiting.data) for waiting in group)
        for waiting, outcome in zip(group, outcomes, strict=True):
            if not waiting.receipt.set_running_or_notify_cancel():
                continue  # whoever sent it is gone; it counts all the same
            if isinstance(outcome, BatchReceipt):
                waiting.receipt.set_result(outcome)
            else:
                waiting.receipt.set_exception(outcome)

    def _keep_tallies(self) -> None:
        """Only to open quickly: without them, all batches are read again."""
        try:
            with told(), self._file.transaction():
                self._file.keep_tallies(self._running.tallies())
            self._since_tallies = 0
        except CollectorClosed as error:
            _LOG.warning("the tallies were not kept: %s", error.problem)


def counts_of_folder(folder: Path) -> tuple[Survey, SurveyCounts, Counter[Reason]]:
    """What a folder has collected, also while its collector goes on."""
    survey, identity, running, rejected = read_folder(folder)
    counts = SurveyCounts(digest=survey.digest, collectors=frozenset([identity]), tallies=running.tallies())
    return survey, counts, rejected


def too_large() -> InvalidInput:
    return InvalidInput(
        f"A batch has at most {LARGEST_BATCH:,} bytes.", remedy="Send the reports in several batches."
    )


def _log_rejected(reasons: Mapping[Reason, int]) -> None:
    """Why and how many; never what."""
    for reason, count in reasons.items():
        _LOG.info("rejected: %s (%d)", reason.value, count)


def _failure(error: Exception) -> DiscreetError:
    if isinstance(error, DiscreetError):
        return error
    _LOG.error("the collector failed: %s", type(error).__name__)
    return CollectorClosed("The collector failed.", remedy="Send the batch again later.")
