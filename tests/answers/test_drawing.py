"""Round numbers on axes, and pictures that say what they show."""

from discreet.answers.drawing import decades, picture, ticks


def test_round_numbers():
    assert ticks(0, 1) == (0, 0.5, 1)
    assert ticks(0, 1, steps=7) == (0, 0.2, 0.4, 0.6, 0.8, 1)
    assert ticks(-3, 9) == (0, 5)


def test_round_numbers_between_powers_of_ten():
    assert decades(-1.05, 1.05) == [0.1, 0.2, 0.5, 1, 2, 5, 10]
    assert decades(-3.5, 0.5) == [0.001, 0.01, 0.1, 1]


def test_a_label_is_escaped():
    assert 'aria-label="a &lt; b &amp; &quot;c&quot;"' in picture(1, 2, 'a < b & "c"', "")
