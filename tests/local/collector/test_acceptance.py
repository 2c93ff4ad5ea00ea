"""Whatever bytes come, a batch is judged: refused, or some of its reports dropped, and the others right."""

from collections import Counter
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.local.batch import FORMAT
from discreet.local.collector import acceptance as judging
from discreet.local.collector.acceptance import Judge, Reason, Refused
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.survey import NumberBetween, OneOf, Survey
from tests.local.collector.surveys import TODAY

QUESTIONS = (
    OneOf.ask("coin", "?", 2, epsilon=1),
    OneOf.ask("few", "?", 100, epsilon=1),
    OneOf.ask("many", "?", 5000, epsilon=3),
    OneOf(
        name="masks",
        text="?",
        options=300,
        epsilon=OneOf.ask("masks", "?", 300, epsilon=1).epsilon,
        mechanism=HadamardResponse.for_loss(OneOf.ask("masks", "?", 300, epsilon=1).epsilon, 300),
    ),
    NumberBetween.ask("duchi", "?", 0, 1, epsilon=0.5),
    NumberBetween.ask("hybrid", "?", 0, 1, epsilon=2),
)
ASKED = Survey(name="all", epoch=1, expires=date(2026, 12, 31), questions=QUESTIONS)
HEAD = bytes([FORMAT]) + ASKED.digest
JUDGE = Judge(ASKED, cap=5, today=TODAY)


@given(st.binary(max_size=60))
def test_any_bytes_are_judged(data):
    with pytest.raises(Refused) as refused:
        JUDGE.judge(data, Counter())
    assert refused.value.reason in (Reason.MALFORMED, Reason.OTHER_SURVEY)


reports = st.integers(0, len(QUESTIONS) - 1).flatmap(
    lambda place: st.tuples(
        st.just(place),
        st.binary(min_size=QUESTIONS[place].mechanism.size, max_size=QUESTIONS[place].mechanism.size),
    )
)


@given(st.lists(reports, max_size=30), st.binary(min_size=16, max_size=16))
def test_any_reports_are_counted_or_dropped(sent, nonce):
    body = b"".join(bytes([place]) + report for place, report in sent)
    judged = JUDGE.judge(HEAD + nonce + body, Counter({0: 3}))
    assert judged.nonce == nonce
    assert judged.count + judged.dropped.total() == len(sent)
    for place, rows in judged.accepted.items():
        mechanism = QUESTIONS[place].mechanism
        assert 0 < len(rows) <= (2 if place == 0 else 5)
        assert mechanism.valid(rows).all()
        assert mechanism.reports_in(mechanism.tally(rows)) == len(rows)
        assert set(map(bytes, rows)) <= {report for other, report in sent if other == place}


def test_reports_out_of_range_do_not_use_up_the_cap():
    bad, good = np.full(10, 3), np.full(10, 1)
    body = b"".join(bytes([0, value]) for value in [*bad, *good])
    judged = JUDGE.judge(HEAD + bytes(16) + body, Counter())
    assert judged.dropped == {Reason.OUT_OF_RANGE: 10, Reason.OVER_THE_CAP: 5}
    assert judged.count == 5


def test_a_survey_lasts_until_its_day_is_over_everywhere(monkeypatch):
    class Clock(datetime):
        @classmethod
        def now(cls, _):
            return moment

    monkeypatch.setattr(judging, "datetime", Clock)
    judge = Judge(ASKED, cap=5)
    moment = datetime(2027, 1, 1, 11, 59, tzinfo=UTC)
    judge.judge(HEAD + bytes(16), Counter())
    moment = datetime(2027, 1, 1, 12, 1, tzinfo=UTC)
    with pytest.raises(Refused):
        judge.judge(HEAD + bytes(16), Counter())
