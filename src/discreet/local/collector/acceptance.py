"""Which reports of a batch count.

A batch that is not of this survey, or not a batch, is refused as a whole. In one that is, reports that no
client could have sent, and those beyond the cap of their question, are dropped one by one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from discreet.errors import DiscreetError, InvalidInput
from discreet.local.batch import BatchLayout, OtherSurvey
from discreet.local.mechanisms.mechanism import Reports
from discreet.local.survey import Survey


class Reason(StrEnum):
    """Why reports, or whole batches, do not count."""

    MALFORMED = "malformed"
    OTHER_SURVEY = "other survey"
    EXPIRED = "expired"
    REPEATED = "repeated"
    OUT_OF_RANGE = "out of range"
    OVER_THE_CAP = "over the cap"
    TOO_LARGE = "too large"
    TOO_SLOW = "too slow"


class Refused(Exception):
    """A whole batch does not count."""

    def __init__(self, reason: Reason, error: DiscreetError) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What of a batch counts, by the question's place, and how many reports do not."""

    nonce: bytes
    accepted: Mapping[int, Reports]
    dropped: Counter[Reason]

    @property
    def count(self) -> int:
        return sum(len(reports) for reports in self.accepted.values())


class Judge:
    """Knows the survey and its cap; how many reports each question has is told with every batch."""

    def __init__(self, survey: Survey, *, cap: int, today: date | None = None) -> None:
        self._survey = survey
        self._layout = BatchLayout.of(survey)
        self._cap = cap
        self._today = today

    def judge(self, data: bytes, taken: Counter[int]) -> Judged:
        try:
            batch = self._layout.read(data)
        except OtherSurvey as error:
            raise Refused(Reason.OTHER_SURVEY, error) from None
        except InvalidInput as error:
            raise Refused(Reason.MALFORMED, error) from None
        if self._survey.expires < (self._today or last_day_on_earth()):
            raise Refused(
                Reason.EXPIRED,
                InvalidInput("The survey has ended.", remedy="Ask whoever runs it for the present one."),
            )
        dropped: Counter[Reason] = Counter()
        accepted = {}
        for place, reports in batch.reports.items():
            right = reports[self._survey.questions[place].mechanism.valid(reports)]
            room = max(0, self._cap - taken[place])
            dropped[Reason.OUT_OF_RANGE] += len(reports) - len(right)
            dropped[Reason.OVER_THE_CAP] += max(0, len(right) - room)
            if len(right[:room]):
                accepted[place] = right[:room]
        return Judged(nonce=batch.nonce, accepted=accepted, dropped=+dropped)


def last_day_on_earth() -> date:
    """The earliest date anywhere on earth (UTC − 12): a device there may still answer."""
    return (datetime.now(UTC) - timedelta(hours=12)).date()
