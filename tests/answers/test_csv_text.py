"""Answers as CSV."""

import csv
import io

import pytest

from discreet.answers.csv_text import to_csv

from .examples import answer_of, by_ward


def test_csv_has_each_measure_with_its_interval():
    rows = list(csv.DictReader(io.StringIO(to_csv(by_ward().released))))
    assert list(rows[0]) == ["ward", "n", "n_low", "n_high", "mean", "mean_low", "mean_high"]
    assert rows[0]["n"] == "1043"
    assert float(rows[0]["mean_low"]) == pytest.approx(47.81)
    assert rows[1]["ward"] == rows[2]["mean"] == rows[2]["mean_high"] == ""
    assert rows[2]["ward"] == "<script>alert(1)</script>"


def test_no_cell_is_run_and_none_steers_a_terminal():
    keys = ["=1+1", "＠a", "\x1b[31m", "a;b", 'say "x"', "-5"]
    lines = to_csv(answer_of({"=k": keys}, {}).released).splitlines()
    assert lines == ["'=k", "'=1+1", "'＠a", "\\x1b[31m", '"a;b"', '"say ""x"""', "'-5"]
