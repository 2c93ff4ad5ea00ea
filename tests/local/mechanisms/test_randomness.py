"""Random integers on a device. No false alarms: the bytes are scripted."""

from fractions import Fraction

import pytest

from discreet.local.mechanisms.randomness import RANGE, Draws
from tests.local.mechanisms.instances import ALL


class Script:
    """Six bytes for each of these integers; then none are left."""

    def __init__(self, *integers):
        self.left = [integer.to_bytes(6, "little") for integer in integers]

    def __call__(self, size):
        assert size == 6
        return self.left.pop(0)


def test_the_lowest_byte_comes_first():
    assert Draws(lambda size: bytes(range(1, size + 1))).integer() == 0x060504030201


def test_an_integer_is_six_bytes():
    assert [Draws(Script(value)).integer() for value in (0, 1, RANGE - 1)] == [0, 1, RANGE - 1]


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 1000, 19683, 2**20 - 1, 2**47 + 1, RANGE])
def test_what_would_favour_small_integers_is_drawn_again(bound):
    limit = RANGE // bound * bound
    assert Draws(Script(limit - 1)).below(bound) == bound - 1
    assert Draws(Script(0)).below(bound) == 0
    for refused in {limit, RANGE - 1} - {RANGE}:
        if refused >= limit:
            script = Script(refused, refused, bound // 2)
            assert Draws(script).below(bound) == bound // 2
            assert script.left == []


@pytest.mark.parametrize("bound", [3, 5, 6, 7, 100])
def test_each_remainder_is_as_likely_as_any_other(bound):
    """Below the limit each remainder comes up as often: the limit is a multiple of the bound."""
    limit = RANGE - RANGE % bound
    assert limit % bound == 0
    assert limit > RANGE - bound
    assert [Draws(Script(limit - bound + i)).below(bound) for i in range(bound)] == list(range(bound))


def test_the_system_s_own_bytes_are_the_default():
    drawn = {Draws().integer() for _ in range(100)}
    assert len(drawn) == 100  # two alike: once in 5·10¹⁰ runs


class Recorded(Draws):
    """Every integer is this one; every choice the first. It knows what it was asked."""

    def __init__(self, value):
        self.value, self.asked = value, []

    def integer(self):
        self.asked.append("integer")
        return self.value

    def below(self, bound):
        self.asked.append(bound)
        return 0


@pytest.mark.parametrize("name", [name for name in ALL if "keep" in ALL[name].parameters])
def test_the_threshold_itself_is_the_first_draw_that_is_not_kept(name):
    """One below the threshold behaves like 0, the threshold like 2⁴⁸ − 1."""
    mechanism = ALL[name]
    if "mix" in mechanism.parameters:
        edges = [mechanism.low + mechanism.rise] if mechanism.mix == 0 else []
    else:
        edges = [mechanism.keep]
    for edge in edges:
        kept = [mechanism.randomise(1, Recorded(value)) for value in (0, edge - 1)]
        others = [mechanism.randomise(1, Recorded(value)) for value in (edge, RANGE - 1)]
        assert kept[0] == kept[1] != others[0] == others[1]
        assert mechanism.probability(kept[0], 1) != mechanism.probability(others[0], 1)
    assert edges or mechanism.mix


def test_mix_decides_first_and_keep_second():
    mechanism = ALL["number, hybrid, 4 steps"]
    ends = {mechanism.randomise(2, Draws(Script(mechanism.mix, other)))[0] for other in (0, RANGE - 1)}
    assert ends == {0, 1}
    inside = mechanism.randomise(2, Draws(Script(mechanism.mix - 1, mechanism.keep - 1, 0)))
    outside = mechanism.randomise(2, Draws(Script(mechanism.mix - 1, mechanism.keep, 0)))
    share = Fraction(mechanism.mix, RANGE)
    assert mechanism.probability(inside, 2) == share * Fraction(mechanism.keep, RANGE * mechanism.window)
    assert mechanism.probability(outside, 2) == share * Fraction(
        RANGE - mechanism.keep, RANGE * mechanism.steps * mechanism.stride
    )


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith("number")])
def test_the_draws_do_not_depend_on_the_answer(name):
    """So how long a device takes, and which bytes it uses, says nothing about what is kept secret."""
    mechanism = ALL[name]
    for value in (0, RANGE - 1):
        asked = set()
        for answer in range(mechanism.answers):
            draws = Recorded(value)
            mechanism.randomise(answer, draws)
            asked.add(tuple(draws.asked))
        assert len(asked) == 1
