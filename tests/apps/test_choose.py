"""`discreet choose`: odds, rewards and households, to ε and back."""

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from discreet.apps.views.plot import PlottedCurve, braille, steps
from tests.apps.clinic import run


def report(*arguments):
    result = run("choose", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_what_an_epsilon_means():
    found = report("--epsilon", "0.5", "--prior", "0.1", "--harm", "100")
    assert found["rises_to"] == pytest.approx(0.1 * math.exp(0.5) / (0.9 + 0.1 * math.exp(0.5)))
    assert found["falls_to"] == pytest.approx(0.1 * math.exp(-0.5) / (0.9 + 0.1 * math.exp(-0.5)))
    assert found["value_rises_to"] == pytest.approx(0.1 * math.e / (0.9 + 0.1 * math.e))
    assert found["extra_harm"] == pytest.approx(100 * math.expm1(0.5))


def test_which_epsilon_keeps_a_suspicion():
    found = report("--posterior", "0.6")
    assert found["epsilon"] == 0.4054  # ln 1.5 = 0.40546…, cut
    assert found["rises_to"] <= 0.6


def test_which_epsilon_a_reward_makes_up_for():
    found = report("--reward", "10", "--harm", "1000")
    assert found["epsilon"] == 0.00995  # ln 1.01 = 0.0099503…, cut
    assert found["extra_harm"] <= 10


def test_a_household_is_protected_together():
    found = report("--posterior", "0.6", "--household", "4")
    assert found["epsilon"] == 0.1013  # a quarter of ln 1.5 = 0.101366…, cut
    assert found["epsilon_together"] == pytest.approx(0.4052)
    assert found["rises_to"] <= 0.6
    delta = report("--epsilon", "0.5", "--delta", "1e-6", "--household", "3")
    assert delta["delta_together"] == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.e))


def test_with_a_delta_what_is_said_holds_but_for_rare_cases():
    """Odds rise by more than e^c with a probability of at most δ/(1 − e^(ε−c))."""
    found = report("--epsilon", "0.1", "--delta", "1e-6", "--harm", "100")
    moved = math.log(found["rises_to"] / (1 - found["rises_to"]))
    assert 1e-6 / -math.expm1(0.1 - moved) == pytest.approx(found["but_for_a_chance_of"])
    assert found["but_for_a_chance_of"] == pytest.approx(1e-4)
    assert found["falls_to"] == pytest.approx(1 - found["rises_to"])
    assert found["value_but_for_a_chance_of"] == pytest.approx(1e-4 * (1 + math.exp(0.1)))
    assert found["share_of_worst_harm"] == 1e-6
    words = " ".join(run("choose", "--epsilon", "0.1", "--delta", "1e-6", "--harm", "100").output.split())
    assert "lets a suspicion move further in rare cases: in one case in 10,000 at most" in words
    assert "10.52 more by taking part, and 0.000001 (δ) of the worst that can happen." in words
    assert "rare" not in run("choose", "--epsilon", "0.1", "--harm", "100").output
    hopeless = report("--epsilon", "900", "--delta", "1e-6")
    assert (hopeless["value_rises_to"], hopeless["value_but_for_a_chance_of"]) == (1, 1)


def test_an_epsilon_that_keeps_a_suspicion_leaves_room_for_delta():
    for more in ((), ("--household", "4")):
        found = report("--posterior", "0.6", "--delta", "1e-6", *more)
        assert 0.59 < found["rises_to"] <= 0.6
    assert run("choose", "--posterior", "0.51", "--delta", "0.01").exit_code == 2


def test_delta_is_judged_by_the_number_of_people():
    assert report("--epsilon", "1", "--delta", "0.001", "--people", "1000")["delta_fits"] is False
    assert report("--epsilon", "1", "--delta", "0.0009", "--people", "1000")["delta_fits"] is True
    too_large = run("choose", "--epsilon", "1", "--delta", "0.01", "--people", "500").output
    assert "too large" in too_large
    assert "below 1/500 = 0.002" in too_large
    assert "--people" in run("choose", "--epsilon", "1", "--delta", "1e-6").output


def test_shares_are_shown_rounded_away_from_the_promise():
    output = run("choose", "--epsilon", "0.5").output
    assert "62.3 %" in output  # 62.2459…: up
    assert "37.7 %" in output  # 37.7540…: down


def test_the_plot_is_drawn_and_written(tmp_path):
    path = tmp_path / "odds.svg"
    result = run("choose", "--epsilon", "1", "--household", "2", "--plot", path)
    assert result.exit_code == 0
    assert "⡠" in result.output
    tree = ET.fromstring(path.read_text())  # noqa: S314
    curves = [element for element in tree.iter() if element.tag.endswith("polyline")]
    assert len(curves) == 2
    points = [tuple(map(float, point.split(","))) for point in curves[0].get("points").split()]
    middle = next(y for x, y in points if x == 264)  # a prior of one half
    assert (448 - middle) / 400 == pytest.approx(math.e / (1 + math.e), abs=1e-4)
    assert run("choose", "--epsilon", "1", "--plot", tmp_path / "no" / "way.svg").exit_code == 2


def test_a_curve_goes_where_it_should():
    lines = braille([PlottedCurve(name="all", at=lambda _: 1.0)], width=4, height=2)
    assert lines[0] == "⠉⠉⡉⠉"  # the top row of dots, and one of the diagonal below it
    assert steps([0, 0.5, 1, 1e-9], height=2) == ["  █ ", " ██▁"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--epsilon", "1", "--posterior", "0.6"],
        ["--reward", "10"],
        ["--epsilon", "0"],
        ["--epsilon", "nan"],
        ["--epsilon", "1", "--prior", "1"],
        ["--epsilon", "1", "--household", "0"],
        ["--epsilon", "500", "--household", "3"],
        ["--epsilon", "1", "--delta", "2"],
        ["--epsilon", "1", "--people", "0"],
        ["--posterior", "0.4"],
        ["--reward", "10", "--harm", "-1"],
    ],
)
def test_mistakes_exit_with_2(arguments):
    result = run("choose", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_the_documentation_shows_what_is_shown():
    page = (Path(__file__).parents[2] / "docs/how-to/choose-epsilon.md").read_text()
    examples = re.findall(r"```console\n\$ discreet choose (.*?)\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 5
    for arguments, shown in examples:
        output = [line.rstrip() for line in run("choose", *arguments.split()).output.rstrip().split("\n")]
        lines = shown.rstrip().split("\n")
        complete = lines[-1] != "…"
        assert lines == output if complete else lines[:-1] == output[: len(lines) - 1]
