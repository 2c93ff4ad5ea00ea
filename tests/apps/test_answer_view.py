"""Answers on the terminal, as JSON and as CSV."""

import csv
import io
import json
from datetime import date, datetime
from math import isfinite

import numpy as np
import pytest
from rich.console import Console

from discreet.apps.views.answer import answer_csv, answer_facts, json_pieces, show_answer, show_table
from discreet.apps.views.bars import axis_of, bar
from discreet.apps.views.escape import iso_cells
from tests.answers.examples import answer_of, by_ward


def shown(answer, width):
    text = io.StringIO()
    show_table(answer, Console(file=text, width=width))
    return text.getvalue()


def test_the_table_shows_numbers_errors_bars_and_price():
    lines = shown(by_ward(), 120).splitlines()
    assert "1,043 ± 6" in lines[2]
    assert lines[2].count("█") > 20
    assert lines[3].startswith("∅")
    assert "Cost ε = 0.5; ε = 0.5 left. Receipt 7." in lines[-1]


@pytest.mark.parametrize(("width", "bars"), [(200, 3), (110, 3), (90, 3), (70, 2), (60, 1), (40, 0)])
def test_each_measure_has_bars_if_there_is_room(width, bars):
    numbers = np.array([1000, 2000])
    answer = answer_of({"k": ["a", "b"]}, dict.fromkeys(("x", "y", "z"), (numbers, 100.0)))
    drawn = shown(answer, width).splitlines()[3]
    assert sum(part.startswith("█") for part in drawn.split()) == bars
    assert len(drawn) <= width


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_number_is_never_cut(width):
    answer = answer_of(
        {"k": ["x" * 300, "y"]}, {"n": (np.array([123456, -5]), 40.0), "m": (np.array([1.25, 2.0]), 0.1)}
    )
    text = shown(answer, width)
    for number in ("123,456 ± 40", "−5 ± 40", "1.25 ± 0.10"):
        assert number in text


def test_keys_are_text_and_nothing_else():
    answer = answer_of({"[red]k[/]": ["[/]", "[bold]x", "\x1b[31m", ""]}, {"n": (np.arange(4), 1.0)})
    text = shown(answer, 100)
    for key in ("[red]k[/]", "[/]", "[bold]x", "\\x1b[31m", '""'):
        assert key in text
    assert "\x1b" not in text


def test_a_long_table_says_what_is_left_out():
    text = shown(answer_of({}, {"n": (np.arange(1000), 1.0)}), 80)
    assert "… and 800 rows more" in text


def drawn(value, low, high, *, axis=(-100.0, 100.0), width=20):
    scale = axis_of([(0.0, *axis)], width)
    return bar(scale, value, low, high).plain


def test_bars_grow_from_zero_to_both_sides():
    assert drawn(50, 40, 60) == "          │████▒▒    "
    assert drawn(-50, -60, -40) == "    ▒▒████│          "
    assert drawn(0, -20, 20) == "        ▒▒│▒▒        "
    assert drawn(100, 100, 100) == "          │█████████▒"
    assert drawn(-100, -100, -100) == "▒█████████│          "
    assert drawn(float("nan"), float("nan"), float("nan")) == "          │          "
    assert drawn(50, float("nan"), float("nan")) == "          │█████▒    "
    assert drawn(50, 40, float("inf")) == "          │████▒▒▒▒▒▒"


def test_without_negative_numbers_there_is_no_zero_line():
    assert drawn(50, 40, 60, axis=(0.0, 100.0)) == "████████▒▒▒▒        "
    assert axis_of([(0.0, 0.0, 0.0)], 20) is None
    assert axis_of([(float("nan"),) * 3], 20) is None


def test_json_is_one_object_without_nan(capsys):
    show_answer(by_ward(), "json")
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["columns"] == ["ward", "n", "mean"]
    assert found["rows"][1] == {"ward": None, "n": 96, "mean": 61.0}
    assert found["rows"][2]["mean"] is None
    assert found["intervals"][0] == {"n": [1036.8, 1049.2], "mean": [47.81, 50.81]}
    assert found["intervals"][2]["mean"] == [None, None]
    assert found["raw"][0] == {"n": 1043.0, "mean": 49.31}
    assert (found["charged"], found["left"]) == ({"epsilon": 0.5}, {"epsilon": 0.5})
    assert found["receipt"]["number"] == 7
    assert json_of(by_ward(repeated=True))["charged"] == {"epsilon": 0.0}


def json_of(answer):
    return json.loads("".join(json_pieces(answer)))


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


def test_csv_has_each_measure_with_its_interval():
    rows = list(csv.DictReader(io.StringIO(answer_csv(by_ward().released))))
    assert list(rows[0]) == ["ward", "n", "n_low", "n_high", "mean", "mean_low", "mean_high"]
    assert rows[0]["n"] == "1043"
    assert float(rows[0]["mean_low"]) == pytest.approx(47.81)
    assert rows[1]["ward"] == rows[2]["mean"] == rows[2]["mean_high"] == ""
    assert rows[2]["ward"] == "<script>alert(1)</script>"
