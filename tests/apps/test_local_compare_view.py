"""The comparison on the terminal."""

import io

import pytest
from rich.console import Console

from discreet.apps.views.local_compare import show_comparison


def shown(width=100, **arguments):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    show_comparison(console, **arguments)
    return console.file.getvalue()


def test_the_errors_stand_side_by_side():
    text = shown(people=10**5, options=2, epsilon=1)
    assert "± 0.59 points" in text
    assert "± 0.003 points" in text
    assert "100,000 people answer yes or no at ε = 1" in text
    assert "subset selection ← chosen" in text
    assert "99.6%" in text  # after thirty days
    assert "73.1%" in text


def test_bars_are_longer_for_larger_errors():
    lines = shown(people=10**5, options=2, epsilon=1).splitlines()
    local, shuffled = (next(line for line in lines if name in line) for name in ("nobody", "shuffler"))
    assert local.count("█") > 5 * shuffled.count("█")


@pytest.mark.parametrize(
    ("people", "options", "epsilon", "expected"),
    [
        (10**6, 10**4, 1, "projective geometry ← chosen"),
        (50, 5, 0.1, "> 100 points"),
        (10**9, 10**6, 16, "more people than there are"),
        (10**6, 2**25, 1, "Hadamard response ← chosen"),
        (1, 2, 0.000001, "> 100 points"),
    ],
)
def test_extremes_are_shown_too(people, options, epsilon, expected):
    assert expected in shown(people=people, options=options, epsilon=epsilon)


def test_a_given_delta_is_stated():
    assert "δ of 1e-9" in shown(people=10**5, options=3, epsilon=1, delta=1e-9)


def test_nothing_is_cut_off_at_eighty_columns():
    assert "…" not in shown(width=80, people=10**6, options=10**4, epsilon=1)
