"""Answers as a curator would give them, made without one."""

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.released import Released
from discreet.model.privacy import PureLoss
from discreet.model.receipt import Receipt


def released_of(keys, measures, *, confidence=0.95, notes=(), ends=None):
    """Keys by name; for each measure its values, and half the width of its intervals or (lows, highs)."""
    values, low, high = dict(keys), {}, {}
    for name, (numbers, reach) in measures.items():
        values[name] = np.asarray(numbers)
        span = reach if isinstance(reach, tuple) else (values[name] - reach, values[name] + reach)
        low[name], high[name] = (np.asarray(end, dtype=float) for end in span)
    return Released(
        columns=tuple(values),
        values=values,
        raw={name: values[name].astype(float) for name in measures},
        low=low,
        high=high,
        confidence=confidence,
        notes=notes,
        ends=ends or {},
    )


def answer_of(keys, measures, *, repeated=False, **others):
    loss = PureLoss(epsilon=Fraction(1, 2))
    receipt = Receipt(
        number=7,
        dataset="clinic",
        version=1,
        analyst="ann",
        question="SELECT 1",
        key="k",
        charged=loss,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        digest="d1",
    )
    return Answer(
        released=released_of(keys, measures, **others),
        charged=loss,
        left=loss,
        receipt=receipt,
        repeated=repeated,
    )


def by_ward(**others):
    return answer_of(
        {"ward": ["north", None, "<script>alert(1)</script>"]},
        {"n": (np.array([1043, 96, -4]), 6.2), "mean": (np.array([49.31, 61.0, np.nan]), 1.5)},
        **others,
    )


def by_cost(**others):
    """Groups of a number that was clamped to 0 … 20000, beside one that was not."""
    return answer_of(
        {"cost": [0, 10000, 20000, None], "code": [0, 10000, 20000, 1]},
        {"n": (np.array([5, 20000, 54, 9]), 3.0)},
        notes=("cost: 20000 means 20000 or more.", "Rows without \x1b are in no group."),
        ends={"cost": (None, 20000)},
        **others,
    )
