"""Everything about a release is an output: its kind, its length, whether it is refused."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.entropy import SYSTEM, SystemEntropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import QuantileTree
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.selection import PermuteAndFlip
from discreet.noise.threshold import StabilityThreshold

LAPLACE = DiscreteLaplace(scale=Fraction(10))


def test_no_keys_are_answered_like_one_key():
    mechanism = StabilityThreshold(noise=LAPLACE, threshold=1000)
    for counts in (np.array([], dtype=np.int64), np.array([1]), [], [1]):
        named, noisy = mechanism.release(counts)
        assert (len(named), len(noisy)) == (0, 0)


@pytest.mark.parametrize("size", [0, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
def test_the_kind_of_a_result_depends_on_the_declared_type_alone(size):
    assert LAPLACE.release(np.array([size], dtype=np.uint64)).dtype == object
    assert LAPLACE.release([size, 0]).dtype == object
    assert LAPLACE.release(np.array([min(size, 2**63 - 1)])).dtype == np.int64
    assert PermuteAndFlip(temperature=Fraction(1)).release([size, -1]) in (0, 1)


def test_python_integers_never_saturate():
    """At 2⁶³ − 1, half of the noise is above it; 200 draws all below have probability 2⁻²⁰⁰."""
    assert max(LAPLACE.release(2**63 - 1) for _ in range(200)) > 2**63 - 1


@pytest.mark.parametrize("largest", [1, 2**52 - 1, 2**52, 2**62])
def test_the_kind_of_a_tree_does_not_tell_its_largest_leaf(largest):
    histogram = np.zeros(1024, dtype=np.int64)
    histogram[3] = largest
    tree = QuantileTree(noise=LAPLACE, leaves=1024, branching=16).release(histogram)
    assert tree.noisy.dtype == np.int64


def test_a_draw_inside_of_a_draw_sees_words_of_its_own(monkeypatch):
    """A signal handler may draw at any point: here, whenever the block of small words is renewed."""
    source = SystemEntropy()
    honest, drawn, pending = source._fresh, [], [1, 2, 3]

    def interrupted(count):
        if pending:
            pending.pop()
            drawn.extend(source.words(8).tolist())
        return honest(count)

    monkeypatch.setattr(source, "_fresh", interrupted)
    drawn.extend(source.words(8).tolist())
    assert 0 not in drawn
    assert len(set(drawn)) == len(drawn)


def test_many_small_draws_never_repeat():
    """64-bit words: a repetition among 10,000 has probability 3·10⁻¹²."""
    drawn = np.concatenate([SYSTEM.words(count) for count in (1, 3, 64, 7) * 134])
    assert len(np.unique(drawn)) == len(drawn)


def test_the_source_cannot_be_copied_into_a_second_one_with_the_same_bits():
    assert copy.copy(SYSTEM) is SYSTEM
    assert copy.deepcopy(SYSTEM) is SYSTEM
    assert pickle.loads(pickle.dumps(SYSTEM)) is SYSTEM  # noqa: S301


def test_a_masked_array_is_refused():
    with pytest.raises(InvalidInput):
        LAPLACE.release(np.ma.array([1, 2], mask=[True, False]))


def test_an_integer_of_ones_own_kind_is_still_noised():
    class Stubborn(int):
        def __add__(self, other):
            return 5

        __radd__ = __add__

    assert len({LAPLACE.release([Stubborn(5)])[0] for _ in range(100)}) > 10


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8])
def test_numpy_integers_do_not_overflow_in_formulas(kind):
    score = ScoreSensitivity(neighbours=Neighbours.ADD_REMOVE, range=kind(100))
    assert PermuteAndFlip(temperature=Fraction(100)).loss(score, picks=3).epsilon == 3
    vector = Sensitivity(
        neighbours=Neighbours.ADD_REMOVE, l0=kind(1), linf=kind(100), l1=kind(100), l2_squared=10_000
    )
    assert all(type(getattr(vector, norm)) is int for norm in ("l0", "linf", "l1", "l2_squared"))
    assert RandomizedResponse(categories=kind(5), keep=Fraction(1, 2)).release([4, 0]).dtype == np.int64
    assert type(StabilityThreshold(noise=LAPLACE, threshold=kind(100)).threshold) is int
