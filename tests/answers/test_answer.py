"""What an analyst does with an answer."""

import json
import sys
from datetime import date, datetime

import numpy as np
import pytest

from discreet.errors import InvalidInput, MissingExtra
from tests.answers.examples import answer_of, by_cost, by_ward

STAMP = datetime(2020, 2, 29, 1, 2, 3, 4)


def of_every_kind():
    return answer_of(
        {
            "text": ["a\0b", None, ""],
            "whole": [2**60 + 1, None, -1],
            "truth": [True, None, False],
            "day": [date(2020, 2, 29), None, date(9999, 12, 31)],
            "stamp": [STAMP, None, STAMP],
        },
        {"n": (np.array([1.5, np.nan, 3.0]), 1.0)},
    )


def test_columns_intervals_and_raw_values():
    answer = by_ward()
    assert answer.columns == ("ward", "n", "mean")
    assert len(answer) == 3
    assert answer["n"].tolist() == [1043, 96, -4]
    assert np.ma.is_masked(answer["ward"][1])
    low, high = answer.interval("n")
    assert low.tolist() == pytest.approx([1036.8, 89.8, -10.2])
    assert high.tolist() == pytest.approx([1049.2, 102.2, 2.2])
    assert answer.raw("n").dtype == np.float64
    assert answer.rows()[1] == {"ward": None, "n": 96, "mean": 61.0}
    assert answer.rows()[2]["mean"] is None
    assert [type(value) for value in answer.rows()[0].values()] == [str, int, float]


def test_one_value():
    assert answer_of({}, {"n": (np.array([5]), 1.0)}).scalar() == 5
    with pytest.raises(InvalidInput, match="3 rows and 3 columns"):
        by_ward().scalar()


def test_mistakes_are_helped_with():
    answer = by_ward()
    with pytest.raises(InvalidInput, match="Did you mean “ward”"):
        answer["wards"]
    with pytest.raises(InvalidInput, match="It has: ward, n, mean"):
        answer.raw("zzzz")
    with pytest.raises(InvalidInput, match="Measured columns: n, mean"):
        answer.interval("ward")
    with pytest.raises(InvalidInput, match=r"answer\[0\]"):
        answer[1.5]


def test_pandas_gets_every_kind():
    frame = of_every_kind().to_pandas()
    assert list(frame.columns) == ["text", "whole", "truth", "day", "stamp", "n", "n_low", "n_high"]
    assert frame.isna().iloc[1].all()
    assert not frame.isna().iloc[[0, 2]].any(axis=None)
    assert frame["whole"][0] == 2**60 + 1
    assert str(frame["whole"].dtype) == "Int64"
    assert str(frame["truth"].dtype) == "boolean"
    assert frame["day"][2] == datetime(9999, 12, 31)
    assert frame["stamp"][0] == STAMP
    assert frame["text"][0] == "a\0b"
    assert frame["n_high"][0] == 2.5
    frame.loc[0, "n"] = 7.0  # a frame is the analyst's own


def test_polars_and_arrow_get_every_kind():
    expected = {
        "text": ["a\0b", None, ""],
        "whole": [2**60 + 1, None, -1],
        "truth": [True, None, False],
        "day": [date(2020, 2, 29), None, date(9999, 12, 31)],
        "stamp": [STAMP, None, STAMP],
        "n": [1.5, None, 3.0],
        "n_low": [0.5, None, 2.0],
        "n_high": [2.5, None, 4.0],
    }
    assert of_every_kind().to_polars().to_dict(as_series=False) == expected
    assert of_every_kind().to_arrow().to_pydict() == expected


def test_arrow_needs_no_library_of_its_own(monkeypatch):
    import polars

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert polars.DataFrame(by_ward())["n"].to_list() == [1043, 96, -4]


@pytest.mark.parametrize("rows", [0, 1, 300_000])
def test_the_stream_outlives_the_answer_and_has_all_rows(rows):
    """More rows than a database hands out in one piece."""
    import pyarrow

    answer = answer_of({"k": [None] * rows}, {'n "quoted"': (np.arange(rows), 1.0)})
    reader = pyarrow.RecordBatchReader.from_stream(answer)
    del answer
    table = reader.read_all()
    assert table.schema.names == ["k", 'n "quoted"', 'n "quoted"_low', 'n "quoted"_high']
    assert [str(field.type) for field in table.schema] == ["string", "int64", "double", "double"]
    assert table.column(1).to_pylist() == list(range(rows))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_missing_is_named(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    method = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow"}[library]
    with pytest.raises(MissingExtra, match=f"pip install {library}"):
        getattr(by_ward(), method)()


def test_a_prompt_shows_a_short_table():
    shown = repr(by_ward())
    assert shown.splitlines() == [
        "ward                           n      mean",
        "north                      1,043 ± 6  49.3 ± 1.5",
        "∅                             96 ± 6  61.0 ± 1.5",
        "<script>alert(1)</script>     −4 ± 6     –",
        "Each error holds at 95 % confidence. Cost ε = 0.5; ε = 0.5 left. Receipt 7.",
    ]
    assert "free" in repr(by_ward(repeated=True))


def test_a_prompt_shows_every_note_and_what_the_last_group_stands_for():
    assert repr(by_cost()).splitlines() == [
        "cost     code        n",
        "0        0           5 ± 3",
        "10000    10000  20,000 ± 3",
        "≥ 20000  20000      54 ± 3",
        "∅        1           9 ± 3",
        "Each error holds at 95 % confidence. Cost ε = 0.5; ε = 0.5 left. Receipt 7.",
        "cost: 20000 means 20000 or more.",
        "Rows without \\x1b are in no group.",
    ]


def test_frames_have_plain_keys_and_the_notes():
    frame, table = by_cost().to_pandas(), by_cost().to_arrow()
    assert frame["cost"].tolist()[2] == 20000
    assert table["cost"].to_pylist() == by_cost().to_polars()["cost"].to_list() == [0, 10000, 20000, None]
    assert frame.attrs["notes"] == list(by_cost().released.notes)
    assert json.loads(table.schema.metadata[b"notes"]) == list(by_cost().released.notes)


def test_both_ends_are_named_and_nothing_between():
    answer = answer_of({"k": [-3, 0, 5]}, {"n": (np.arange(3), 1.0)}, ends={"k": (-3, 5)})
    assert [answer.released.key_label("k", cell) for cell in (-3, 0, 5, None)] == ["≤ -3", "0", "≥ 5", "∅"]
    assert answer.released.key_label("n", 5) == "5"


def test_a_prompt_shows_no_more_than_fits():
    shown = repr(answer_of({"k": ["x" * 500] * 1000}, {"n": (np.arange(1000), 1.0)}))
    assert "… and 980 rows more" in shown
    assert len(shown.splitlines()) == 23
    assert max(map(len, shown.splitlines())) < 100
