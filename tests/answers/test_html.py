"""The table of a notebook: true to the numbers, and safe whatever the keys are."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.answers.examples import answer_of, by_cost, by_ward

NASTY = '"><script>alert(1)</script><img src=x onerror=alert(1)>\' onload=\'x" onclick="y'


class Parsed(HTMLParser):
    """Elements, attributes and text; fails if elements are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def test_numbers_errors_price_and_notes_are_shown():
    parsed = Parsed(by_ward(notes=("A person counts as 3.",))._repr_html_())
    for shown in ("1,043", "± 6", "49.3", "± 1.5", "∅", "95 %", "ε = 0.5 left", "Receipt 7", "counts as 3"):
        assert shown in parsed.text


def test_the_last_group_of_a_clamped_number_is_named_for_all_that_it_holds():
    text = by_cost()._repr_html_()
    assert text.count("≥ 20000</td>") == 1
    assert "≤" not in text
    assert "20000 means 20000 or more" in text


@pytest.mark.parametrize("place", ["key", "column", "measure", "note"])
def test_nothing_that_is_shown_becomes_markup(place):
    answer = answer_of(
        {NASTY if place == "column" else "k": [NASTY if place == "key" else "a", "b"]},
        {NASTY if place == "measure" else "n": (np.array([1, 2]), 1.0)},
        notes=(NASTY,) if place == "note" else (),
    )
    parsed = Parsed(answer._repr_html_())
    assert {tag for tag, _ in parsed.found} <= {
        *("div", "style", "table", "thead", "tbody", "tr", "th", "td", "p"),
        *("svg", "path", "circle", "text", "title"),
    }
    assert not any(
        name.startswith("on") or name in ("src", "href") for _, found in parsed.found for name in found
    )
    assert "onerror=alert(1)" in parsed.text


def test_it_needs_nothing_from_elsewhere():
    assert not re.search(r"https?:|url\(|@import|src=|href=", by_ward()._repr_html_())


def test_every_picture_says_what_it_shows():
    pictures = [each for each in Parsed(by_ward()._repr_html_()).all("svg") if "aria-hidden" not in each]
    assert [each["aria-label"] for each in pictures][:2] == ["n: 1,043 ± 6", "mean: 49.3 ± 1.5"]
    assert all(each["role"] == "img" for each in pictures)


def positions(answer):
    """For each row: the left end, the dot and the right end."""
    parsed = Parsed(answer._repr_html_())
    dots = [float(each["cx"]) for each in parsed.all("circle")]
    lines = [re.match(r"M([\d.]+) [\d.]+H([\d.]+)", each["d"]) for each in parsed.all("path")]
    return [
        (float(line[1]), dot, float(line[2])) for line, dot in zip(filter(None, lines), dots, strict=True)
    ]


def test_all_rows_share_one_axis():
    first, second, third = positions(answer_of({}, {"n": (np.array([0.0, 50.0, 100.0]), 10.0)}))
    assert first[2] - first[1] == pytest.approx(second[2] - second[1], abs=0.2)
    assert third[1] - second[1] == pytest.approx(second[1] - first[1], abs=0.2)
    assert third[1] - first[1] == pytest.approx(10 * (third[2] - third[1]), abs=2)
    assert all(0 <= place <= 150 for row in (first, second, third) for place in row)


def test_zero_is_a_line_of_its_own_unless_it_is_far_away():
    strong = 'stroke-opacity="0.55"'
    assert strong in answer_of({}, {"n": (np.array([-3.0, 5.0]), 1.0)})._repr_html_()
    assert strong in answer_of({}, {"n": (np.array([30.0, 50.0]), 1.0)})._repr_html_()
    assert strong not in answer_of({}, {"n": (np.array([1000.0, 1001.0]), 1.0)})._repr_html_()


def test_long_answers_are_cut_and_single_ones_have_no_axis():
    long = Parsed(answer_of({}, {"n": (np.arange(10**6), 2.0)})._repr_html_())
    assert len(long.all("tr")) == 51
    assert "… and 999,950 more" in long.text
    assert Parsed(answer_of({}, {"n": (np.array([5]), 2.0)})._repr_html_()).all("svg") == []


@pytest.mark.parametrize(
    ("numbers", "reach"),
    [
        ([np.nan, np.nan], 1.0),
        ([0.0, 0.0], 0.0),
        ([1e308, -1e308], 1e308),
        ([5e-324, 0.0], 5e-324),
        ([1e300, 1e300 + 1e284], 1.0),
        ([1.0, 2.0], ([-np.inf, 1.0], [np.inf, np.inf])),
        ([1.0, 2.0], ([np.nan, np.nan], [np.nan, np.nan])),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of making the example
def test_no_numbers_break_the_picture(numbers, reach):
    html = answer_of({}, {"n": (np.array(numbers), reach)})._repr_html_()
    Parsed(html)
    assert "nan" not in html
    assert "inf" not in html
