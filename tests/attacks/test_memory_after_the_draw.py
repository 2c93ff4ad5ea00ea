"""G4: memory for the intervals of an answer, which are computed after the charge."""

import numpy as np
import pytest

from discreet.model.expression import size_of
from discreet.release import intervals, outputs

CHOICE = " ".join(f"WHEN n > {i} THEN {i}" for i in range(100))
SELECT = "SELECT floor(cost) AS g, age, count(*) AS n, {} AS x FROM visits GROUP BY g, age"
QUESTIONS = {
    "constants": SELECT.format(f"CASE {CHOICE} END"),
    "keys": SELECT.format("CASE WHEN n > g THEN n * age ELSE abs(n) END"),
    "ratios": SELECT.format("abs(sum(cost) / n - 3 * n)"),
    "limits": f"{SELECT.format('abs(n - 5) * 2')} ORDER BY x LIMIT 9",
}
"""12,120 groups each."""


def ends(clinic, name):
    released = clinic.ask(QUESTIONS[name]).released
    return [column for each in (released.low, released.high) for column in each.values()]


@pytest.mark.parametrize("name", QUESTIONS)
def test_g4_so_many_numbers_are_in_memory_at_once(clinic, monkeypatch, name):
    """With 720,000 groups and a choice of 200 constants it took 3.3 GB and 47 seconds."""
    at_once, push = [], intervals.push

    def pushing(expression, known, groups):
        at_once.append(groups * size_of(expression).nodes)
        return push(expression, known, groups)

    monkeypatch.setattr(intervals, "push", pushing)
    whole = ends(clinic, name)
    assert max(at_once) <= intervals.NUMBERS_AT_ONCE
    at_once.clear()
    monkeypatch.setattr(intervals, "NUMBERS_AT_ONCE", 50_000)
    for again, before in zip(ends(clinic, name), whole, strict=True):  # from what is stored
        np.testing.assert_array_equal(again, before)
    assert max(at_once) <= 50_000


def test_g4_a_constant_is_one_number_for_all_groups(clinic, monkeypatch):
    """There was a column of them for each constant."""
    rows, evaluate = [], outputs.evaluate

    def evaluating(expression, positive, columns, count, deadline):
        rows.append(count)
        return evaluate(expression, positive, columns, count, deadline)

    monkeypatch.setattr(outputs, "evaluate", evaluating)
    clinic.ask(QUESTIONS["constants"])
    assert rows
    assert set(rows) == {1}
    assert len(rows) <= 4 * 100


def test_g4_an_answer_is_simulated_with_so_many_draws_in_all(clinic, monkeypatch):
    """It was so many for each part: 1,000 characters of SQL took a minute, whenever they were asked again."""
    ratios = ", ".join(f"(sum(cost) + {i}) / count(*) AS r{i}" for i in range(6))
    sql = f"SELECT age, {ratios} FROM visits GROUP BY age"
    drawn, middle = [], intervals.OutputIntervals._middle

    def counting(self, part, kept, miss, draws):
        drawn.append(len(kept) * draws)
        return middle(self, part, kept, miss, draws)

    monkeypatch.setattr(intervals.OutputIntervals, "_middle", counting)
    clinic.ask(sql)
    most = sum(drawn) // 2
    drawn.clear()
    monkeypatch.setattr(intervals, "MOST_DRAWS_OF_AN_ANSWER", most)
    found = clinic.ask(sql).released
    assert 0 < sum(drawn) <= most
    assert all((found.low[name] <= found.raw[name]).all() for name in found.raw)
