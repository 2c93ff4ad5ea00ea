"""An answer as people use it in Python: rows, columns, files, pictures, other libraries."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from discreet.answers.answer import Answer
from discreet.answers.json_reading import read_answer
from discreet.errors import InvalidInput
from tests.answers.examples import answer_of, by_ward

KEYS = ["north", None, "=cmd()"]


def small():
    ends = ([3.0, 5.0, 7.0], [7.0, 9.0, np.inf])
    return answer_of({"ward": KEYS}, {"n": (np.array([5, 7, 9]), ends)})


def test_rows_are_dicts():
    answer = small()
    rows = [{"ward": ward, "n": n} for ward, n in zip(KEYS, [5, 7, 9], strict=True)]
    assert list(answer) == answer.rows() == rows
    assert answer[0] == {"ward": "north", "n": 5}
    assert answer[-1] == answer[np.int64(2)] == {"ward": "=cmd()", "n": 9}
    assert answer[1:] == answer.rows()[1:]
    assert len(answer) == 3
    assert type(answer[0]["n"]) is int


@pytest.mark.parametrize("number", [3, -4, 10**30])
def test_a_row_that_is_not_there(number):
    with pytest.raises(IndexError, match="3 rows"):
        small()[number]


@pytest.mark.parametrize("odd", [1.5, None, ("ward", "n")])
def test_what_is_neither_a_row_nor_a_column(odd):
    with pytest.raises(InvalidInput, match="a row by its number"):
        small()[odd]


def test_some_columns_are_an_answer():
    answer = small()
    some = answer[["n"]]
    assert isinstance(some, Answer)
    assert some.columns == ("n",)
    assert some.interval("n")[0].tolist() == [3.0, 5.0, 7.0]
    assert some.receipt == answer.receipt
    assert answer[["n", "ward"]].columns == ("n", "ward")
    assert list(answer[["ward"]]) == [{"ward": "north"}, {"ward": None}, {"ward": "=cmd()"}]
    with pytest.raises(InvalidInput, match="no column “m”"):
        answer[["ward", "m"]]


def test_pandas_takes_it_as_it_is():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(small())
    assert list(frame.columns) == ["ward", "n"]
    assert frame["n"].tolist() == [5, 7, 9]


def test_csv_is_returned_and_written(tmp_path):
    text = small().to_csv(tmp_path / "wards.csv")
    assert (tmp_path / "wards.csv").read_text() == text == small().to_csv()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["n"] for row in rows] == ["5", "7", "9"]
    assert rows[2]["ward"] == "'=cmd()"


def test_json_is_returned_and_written(tmp_path):
    text = small().to_json(str(tmp_path / "wards.json"))
    assert (tmp_path / "wards.json").read_text() == text
    assert read_answer(json.loads(text)).rows() == small().rows()


def test_a_plot_has_a_dot_for_each_row(tmp_path):
    plot = small().plot()
    tree = ET.fromstring(plot._repr_svg_())  # noqa: S314
    circles = list(tree.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 3
    assert sorted(float(each.get("cx")) for each in circles) == [float(each.get("cx")) for each in circles]
    assert "north" in plot.svg
    assert "5 ± 2" in plot.svg
    assert plot.save(tmp_path / "n.svg").read_text() == plot.svg
    assert plot.svg in plot.save(str(tmp_path / "n.html")).read_text()
    with pytest.raises(InvalidInput, match="SVG or HTML"):
        plot.save(tmp_path / "n.png")
    assert "notebook" in repr(plot)


def test_a_plot_is_of_a_measure():
    assert small().plot("n").svg == small().plot().svg
    with pytest.raises(InvalidInput, match="not measured"):
        small().plot("ward")
    with pytest.raises(InvalidInput, match="no measured column"):
        small()[["ward"]].plot()


def test_a_plot_of_anything_is_well_formed():
    odd = answer_of({"k": ["<&\x1b"] * 100}, {"n": (np.full(100, np.nan), (np.full(100, np.nan),) * 2)})
    for answer in (by_ward(), odd, answer_of({}, {"n": (np.array([5]), 2)})):
        for name in answer.released.measured:
            ET.fromstring(answer.plot(name).svg)  # noqa: S314
