"""What is read from the JSON of an answer is the answer."""

import copy
import json
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest

from discreet import InvalidInput
from discreet.answers.columns import DTYPES, kind_of, plain_cells
from discreet.answers.explanation import ErrorStatement, Explanation, PrivateGroups
from discreet.answers.json_reading import read_answer, read_charge, read_explanation
from discreet.answers.json_text import charge_json, to_json
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.release.explanation_json import explanation_json

from .examples import answer_of, by_cost, by_ward

FLOATS = ("raw", "low", "high", "noise_low", "noise_high")


def json_of(answer):
    return json.loads("".join(to_json(answer)))


def of_all_kinds():
    stamp = datetime(2020, 2, 29, 1, 2, 3, 4)
    return answer_of(
        {
            "t": ["a\x1b", None, "50 %"],
            "i": [2**62 + 1, None, -1],
            "b": [True, False, None],
            "d": [date(2020, 2, 29), None, date(1, 1, 1)],
            "s": [stamp, None, stamp],
            "x": [0.1, None, -1e300],
        },
        {"n": (np.array([1, 2, 3]), ([-np.inf, np.nan, 1], [np.inf, np.nan, np.inf]))},
    )


def with_noise(answer, **raw):
    released = replace(
        answer.released,
        raw=answer.released.raw | raw,
        noise_low={"n": answer.released.low["n"] + 1},
        noise_high={"n": np.where(np.arange(len(answer)) == 1, 7.5, np.inf)},
    )
    return replace(answer, released=released)


def empty_of_all_kinds():
    keys = {kind: np.zeros(0, dtype=dtype) for kind, dtype in DTYPES.items()}
    return answer_of(keys, {"n": (np.zeros(0), 1.0)})


def all_missing():
    keys = {
        kind: np.ma.MaskedArray(np.zeros(2, dtype=dtype), mask=True)
        for kind, dtype in DTYPES.items()
        if kind not in ("number", "text")
    }
    return answer_of(keys | {"text": [None, None]}, {})


@pytest.mark.parametrize(
    "answer",
    [
        by_ward(repeated=True),
        by_cost(confidence=0.99),
        of_all_kinds(),
        with_noise(of_all_kinds(), n=np.array([-np.inf, np.nan, np.inf])),
        with_noise(empty_of_all_kinds()),
        all_missing(),
        replace(by_ward(), cached=True, charged=PureLoss(epsilon=Fraction(1, 2))),
    ],
)
def test_all_of_an_answer_comes_back(answer):
    back = read_answer(json_of(answer), question="SELECT 1", analyst="ann")
    ours, read = answer.released, back.released
    assert read.columns == ours.columns
    for name in ours.columns:
        assert kind_of(read.values[name]) == kind_of(ours.values[name])
        assert plain_cells(read.values[name]) == plain_cells(ours.values[name])
    for part in FLOATS:
        assert getattr(read, part).keys() == getattr(ours, part).keys(), part
        for name, numbers in getattr(ours, part).items():
            np.testing.assert_array_equal(getattr(read, part)[name], numbers)
    assert (read.confidence, read.notes, dict(read.ends)) == (ours.confidence, ours.notes, dict(ours.ends))
    assert replace(back.receipt, key="k") == answer.receipt
    assert (back.charged, back.left, back.repeated) == (answer.charged, answer.left, answer.repeated)
    assert (back.cached, repr(back)) == (answer.cached, repr(answer))
    assert json_of(back) == json_of(answer)


@pytest.mark.parametrize(
    "loss",
    [PureLoss(epsilon=Fraction(1, 10)), ConcentratedLoss(rho=Fraction(1, 8), delta=Fraction(1, 10**6))],
)
def test_a_loss_comes_back(loss):
    assert read_charge(charge_json(loss)) == loss


@pytest.mark.parametrize("private", [None, PrivateGroups(people=12, chances={5: 0.0, 50: 0.98})])
def test_an_explanation_comes_back(private):
    found = Explanation(
        loss=PureLoss(epsilon=Fraction(1, 10)),
        epsilon=0.1,
        share=0.01,
        questions_left=None,
        groups=2,
        noise="discrete Laplace",
        weights="ℓ₁",
        shares={"n": 1.0},
        errors=(ErrorStatement(measure="n", each=30.0, all=37.0, of="value"),),
        private_groups=private,
        confidence=0.95,
        posterior=0.525,
        posterior_chance=0.0,
        alternatives=("Ask less.",),
        notes=("A note.",),
        way="From the cache.",
    )
    assert read_explanation(json.loads(json.dumps(explanation_json(found)))) == found


def damaged():
    """An answer with each of its fields missing, or of another kind."""
    whole = json_of(with_noise(by_ward()))
    for name in whole.keys() - {"charged"}:
        yield {key: value for key, value in whole.items() if key != name}
        yield whole | {name: 5 if name != "confidence" else "high"}
    for name in whole["receipt"].keys() - {"dearer"}:  # services keep answers from before it was said
        changed = copy.deepcopy(whole)
        del changed["receipt"][name]
        yield changed
    yield whole | {"infinite": {"low": {"n": [[99, 1]]}}}
    yield whole | {"types": dict.fromkeys(whole["columns"], "picture")}


def test_what_is_no_answer_is_refused():
    for found in damaged():
        with pytest.raises(InvalidInput, match="same version"):
            read_answer(found)
    with pytest.raises(InvalidInput):
        read_explanation({"cost": {"epsilon": 1}})
