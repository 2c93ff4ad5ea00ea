"""The tallies of what is committed, in memory: for each question, a tally and the reports since.

A tally can be far larger than a batch, so reports wait until there are enough of them to be tallied at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from discreet.local.mechanisms.mechanism import Reports, Tally
from discreet.local.survey import Survey

_FEWEST, _MOST = 2**12, 2**22
"""Reports that are tallied at once: as many as a tally has cells, within these bounds."""


class RunningTallies:
    """Safe to add to and to read from several threads."""

    def __init__(self, survey: Survey, tallies: Sequence[Tally] | None = None) -> None:
        self._mechanisms = [question.mechanism for question in survey.questions]
        self._tallies = list(tallies or [np.zeros(m.cells, dtype=np.int64) for m in self._mechanisms])
        self._waiting = [bytearray() for _ in self._mechanisms]
        self._enough = [min(max(m.cells, _FEWEST), _MOST) * m.size for m in self._mechanisms]
        self._lock = Lock()

    def add(self, reports: Mapping[int, Reports]) -> None:
        with self._lock:
            for place, some in reports.items():
                self._waiting[place] += some.tobytes()
                if len(self._waiting[place]) >= self._enough[place]:
                    self._fold(place)

    def counts(self) -> Counter[int]:
        """How many reports each question has, by its place."""
        with self._lock:
            return Counter(
                {
                    place: mechanism.reports_in(self._tallies[place])
                    + len(self._waiting[place]) // mechanism.size
                    for place, mechanism in enumerate(self._mechanisms)
                }
            )

    def tallies(self) -> tuple[Tally, ...]:
        """A copy, of all reports so far."""
        with self._lock:
            for place in range(len(self._mechanisms)):
                self._fold(place)
            return tuple(tally.copy() for tally in self._tallies)

    def _fold(self, place: int) -> None:
        if self._waiting[place]:
            mechanism = self._mechanisms[place]
            reports = np.frombuffer(bytes(self._waiting[place]), dtype=np.uint8).reshape(-1, mechanism.size)
            self._tallies[place] += mechanism.tally(reports)
            self._waiting[place].clear()
