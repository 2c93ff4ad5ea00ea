"""Answers on the terminal, as JSON and as CSV."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from discreet.apps.views.answer import show_answer, show_table
from discreet.apps.views.bars import axis_of, bar
from tests.answers.examples import answer_of, by_cost, by_ward


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


def test_the_last_group_of_a_clamped_number_is_named_and_data_is_not(capsys):
    lines = shown(by_cost(), 120).splitlines()
    assert [line.split("  ")[0] for line in lines[2:6]] == ["0", "10000", "≥ 20000", "∅"]
    assert lines[4].split()[2] == "20000"
    assert lines[-2:] == ["cost: 20000 means 20000 or more.", "Rows without \\x1b are in no group."]
    show_answer(by_cost(), "csv")
    assert capsys.readouterr().out.splitlines()[3].startswith("20000,20000,54,")
    show_answer(by_cost(), "json")
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][2]["cost"] == 20000
    assert found["notes"] == list(by_cost().released.notes)


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
