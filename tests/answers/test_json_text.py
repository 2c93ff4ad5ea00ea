"""Answers and losses as JSON."""

import json
from datetime import date, datetime
from fractions import Fraction
from math import isfinite

import numpy as np
import pytest

from discreet.answers.columns import iso_cells
from discreet.answers.json_text import (
    answer_facts,
    charge_json,
    escaped_json,
    json_lines,
    json_pieces,
    to_json,
)
from discreet.model.privacy import ConcentratedLoss, PureLoss

from .examples import answer_of, by_ward


def test_a_loss_is_an_object_and_all_zero_if_it_was_free():
    pure, concentrated = PureLoss(epsilon=Fraction(1, 2)), ConcentratedLoss(rho=Fraction(1, 4), delta=0)
    assert charge_json(pure) == {"epsilon": 0.5}
    assert charge_json(concentrated) == {"rho": 0.25, "delta": 0.0}
    assert charge_json(pure, free=True) == {"epsilon": 0.0}
    assert charge_json(concentrated, free=True) == {"rho": 0.0, "delta": 0.0}


def test_a_repeated_answer_was_free():
    assert json_of(by_ward(repeated=True))["charged"] == {"epsilon": 0.0}


def test_nothing_in_it_steers_a_terminal():
    answer = answer_of({"k": ["\x1b[31m\x9b\u202e\u2028", "é"]}, {})
    written = "".join(to_json(answer))
    assert written.isprintable()
    assert json.loads(written)["rows"][0] == {"k": "\x1b[31m\x9b\u202e\u2028"}
    assert "é" in written
    assert list(json_lines({"a": ["\x9b", Fraction(1, 2)]})) == ['{"a": ["\\u009b", 0.5]}\n']
    assert escaped_json('"\x7f"') == '"\\u007f"'


def json_of(answer):
    return json.loads("".join(to_json(answer)))


def test_json_of_keys_alone_and_of_dates():
    stamp = datetime(2020, 2, 29, 1, 2, 3)
    found = json_of(answer_of({"d": [date(2020, 2, 29), None], "t": [stamp, stamp]}, {}))
    assert found["rows"][0] == {"d": "2020-02-29", "t": "2020-02-29T01:02:03"}
    assert found["intervals"] == [{}, {}]


def objects_of(answer):
    """The same with an object for each row."""
    released, rows = answer.released, range(len(answer))
    columns = {name: iso_cells(released.values[name]) for name in released.columns}
    low, high, raw = (
        {name: [x if isfinite(x) else None for x in part[name].tolist()] for name in released.measured}
        for part in (released.low, released.high, released.raw)
    )
    return answer_facts(answer) | {
        "rows": [{name: cells[i] for name, cells in columns.items()} for i in rows],
        "intervals": [{name: [low[name][i], high[name][i]] for name in low} for i in rows],
        "noise_intervals": [{} for _ in rows],
        "raw": [{name: cells[i] for name, cells in raw.items()} for i in rows],
    }


@pytest.mark.parametrize(
    "answer",
    [
        by_ward(),
        answer_of({"50%, s": ['a, "b"\n%s\u2028', None], "d": [date(2020, 2, 29), None]}, {}),
        answer_of(
            {"é": [True, None]}, {"n": (np.array([2**60, -1]), 0.5), "x": (np.array([1e-7, np.nan]), 1.0)}
        ),
        answer_of({"none": [None, None]}, {}),
        answer_of({"k": []}, {"n": (np.array([], dtype=np.int64), 1.0)}),
        answer_of({}, {"n": (np.arange(3), np.inf)}),
    ],
)
def test_json_is_written_as_the_objects_would_be(answer):
    written = "".join(json_pieces(answer))
    assert written == json.dumps(objects_of(answer), ensure_ascii=False, allow_nan=False)
