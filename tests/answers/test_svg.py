"""Round numbers on axes, and pictures that say what they show."""

from discreet.answers.svg import Scale, as_file, decades, picture, ticks, titled_file


def test_round_numbers():
    assert ticks(0, 1) == (0, 0.5, 1)
    assert ticks(0, 1, steps=7) == (0, 0.2, 0.4, 0.6, 0.8, 1)
    assert ticks(-3, 9) == (0, 5)


def test_round_numbers_between_powers_of_ten():
    assert decades(-1.05, 1.05) == [0.1, 0.2, 0.5, 1, 2, 5, 10]
    assert decades(-3.5, 0.5) == [0.001, 0.01, 0.1, 1]


def test_a_label_is_escaped():
    assert 'aria-label="a &lt; b &amp; &quot;c&quot;"' in picture(1, 2, 'a < b & "c"', "")


def test_a_scale_leads_from_values_to_places():
    up = Scale(low=0, high=4, start=100, end=20)
    assert [up.at(value) for value in (0, 1, 4, 5)] == [100, 80, 20, 0]
    assert [up.inside(value) for value in (-1, 1, 5)] == [100, 80, 20]
    assert Scale(low=-1, high=2, end=10).at(0) == 3.3


def test_a_file_says_what_it_is():
    assert as_file(picture(1, 2, "a", "")).startswith(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 2"'
    )
    drawn = titled_file(3, 4, "a < b", ["<g/>"])
    assert "<title>a &lt; b</title>" in drawn
    assert drawn.endswith("<g/>\n</svg>\n")
