"""The samplers follow their laws exactly, for every scale; the audit bisects them word by word."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.noise import sampling
from discreet.noise.entropy import SYSTEM, ScriptedEntropy
from discreet.noise.uniform import LazyUniform, exponentials

STRATA = (np.arange(2**14, dtype=np.uint64) << np.uint64(50)) + np.uint64(2**49)

scales = st.one_of(
    st.fractions(min_value=Fraction(1, 2**20), max_value=2),
    st.fractions(min_value=1, max_value=2**30),
    st.integers(-20, 100).map(lambda power: Fraction(2) ** power),
)
words = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20)


@given(drawn=words)
def test_the_filter_encloses_the_exact_logarithm(drawn):
    value, error = exponentials(np.array(drawn, dtype=np.uint64))
    for i, word in enumerate(drawn):
        low, high = LazyUniform(word, ScriptedEntropy()).exponential()
        if high is None:
            assert error[i] == np.inf
        else:
            assert Fraction(value[i] - error[i]) <= low
            assert Fraction(value[i] + error[i]) >= high


@given(scale=scales, drawn=words)
def test_the_fast_path_agrees_with_exact_arithmetic(scale, drawn):
    """The words of the fast path, resolved one by one in decimals, are the same geometric draws."""
    if scale >= 2**31:
        scale = scale / 2 ** (int(scale).bit_length() - 30)
    fast = sampling.geometric(scale, len(drawn), ScriptedEntropy(drawn))
    slow = [LazyUniform(word, ScriptedEntropy()).floor_exponential(scale) for word in drawn]
    assert fast.tolist() == slow


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(1000)])
def test_a_stratified_grid_gives_the_survival_function(scale):
    """No false alarms: the grid is off by at most half a stratum."""
    drawn = sampling.geometric(scale, len(STRATA), ScriptedEntropy(STRATA))
    for k in range(1, int(8 * scale) + 2, max(1, int(scale) // 20)):
        assert abs((drawn >= k).mean() - exp(-k / scale)) <= 0.5 / len(STRATA) + 1e-12


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(9, 2), Fraction(40)])
def test_exponential_coins_on_the_grid(gamma):
    near = np.full(len(STRATA), float(gamma))
    heads = sampling.exponential_coins(near, near * 2.0**-52, lambda _: gamma, ScriptedEntropy(STRATA))
    assert abs(heads.mean() - exp(-gamma)) <= 0.5 / len(STRATA) + 1e-12


@pytest.mark.parametrize(
    "p", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(2**64 - 1, 2**64), Fraction(1)]
)
def test_rational_coins_flip_at_the_right_word(p):
    edge = int(p * 2**64)
    around = [word for word in (0, edge - 2, edge - 1, edge + 1, 2**64 - 1) if 0 <= word < 2**64]
    heads = sampling.bernoulli(p, len(around), ScriptedEntropy(around))
    assert heads.tolist() == [word < edge for word in around]


def test_more_bits_decide_on_the_edge():
    third = Fraction(1, 3)
    edge = 2**64 // 3  # 1/3 = edge/2⁶⁴ + (1/3)/2⁶⁴: the next word decides at the same edge
    assert sampling.bernoulli(third, 1, ScriptedEntropy([edge], [edge - 1])).tolist() == [True]
    assert sampling.bernoulli(third, 1, ScriptedEntropy([edge], [edge + 1])).tolist() == [False]
    assert sampling.bernoulli(third, 1, ScriptedEntropy([edge], [edge], [0])).tolist() == [True]


def test_a_word_of_zeros_is_extended_not_truncated():
    """U below 2⁻⁶⁴ happens; its logarithm is then found from the next words."""
    drawn = sampling.geometric(Fraction(5), 1, ScriptedEntropy([0], [0], [2**40]))
    assert drawn.tolist() == [int(5 * np.log(2) * (192 - 40))]


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**31, 2**63 - 1, 2**63])
def test_uniform_integers_reject_words_that_would_favour_some(bound):
    limit = 2**64 // bound * bound
    script = [word for word in (0, bound - 1, limit - 1, limit) if word < 2**64]
    drawn = sampling.uniform_integers(bound, len(script), ScriptedEntropy(script, [5]))
    expected = [word % bound if word < limit else 5 % bound for word in script]
    assert drawn.tolist() == expected


@pytest.mark.parametrize("power", [-40, -20, 0, 20, 30, 31, 32, 45, 57, 58, 62, 63, 90])
def test_scales_from_tiny_to_huge(power):
    """The mean magnitude is that of the law within 8 standard errors: false alarm below 10⁻¹⁴."""
    scale, count = Fraction(2) ** power, 20_000
    drawn = np.abs(sampling.discrete_laplace(scale, count, SYSTEM)).astype(float)
    q = exp(-1 / scale)
    mean = 2 * q / (1 - q) / (1 + q) if power < 30 else float(scale)
    deviation = max(float(scale) * 1.2, 1e-9)
    assert abs(drawn.mean() - mean) <= 8 * deviation / count**0.5
    assert drawn.any() or power < 0


@pytest.mark.parametrize("power", [-20, -1, 0, 10, 31, 62, 90])
def test_gaussians_from_tiny_to_huge(power):
    """The variance is that of the law within 8 standard errors: false alarm below 10⁻¹⁴."""
    sigma, count = Fraction(2) ** power, 20_000
    drawn = sampling.discrete_gaussian(sigma**2, count, SYSTEM).astype(float) / float(sigma)
    if power < -2:
        assert not drawn.any()
    elif power >= 0:
        assert abs((drawn**2).mean() - 1) <= 8 * (2 / count) ** 0.5


def test_the_parts_of_a_large_scale_are_joined_without_gaps():
    """All residues modulo 16 occur at scale 2⁴⁰, alike: χ² with 15 degrees of freedom, alarm 10⁻⁹."""
    drawn = sampling.geometric(Fraction(2**40), 2**16, SYSTEM)
    counts = np.bincount((drawn % 16).astype(int), minlength=16)
    assert stats.chisquare(counts).pvalue > 1e-9


def test_a_large_scale_follows_the_exponential():
    """Kolmogorov-Smirnov at scale 2⁶⁰ against the continuous limit, alarm 10⁻⁹."""
    drawn = sampling.geometric(Fraction(2**60), 2**16, SYSTEM).astype(float) / 2**60
    assert stats.kstest(drawn, "expon").pvalue > 1e-9


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(40)])
def test_the_laplace_agrees_with_another_library(scale):
    """χ² against scipy's dlaplace, alarm 10⁻⁹."""
    count, reach = 2**18, int(6 * scale) + 1
    drawn = np.clip(sampling.discrete_laplace(scale, count, SYSTEM), -reach, reach)
    law = stats.dlaplace(float(1 / scale))
    expected = law.pmf(np.arange(-reach, reach + 1))
    expected[0], expected[-1] = law.cdf(-reach), law.sf(reach - 1)
    observed = np.bincount((drawn + reach).astype(int), minlength=2 * reach + 1)
    assert stats.chisquare(observed, expected * count).pvalue > 1e-9


@settings(deadline=None)
@given(scale=scales, count=st.integers(1, 50))
def test_any_scale_yields_integers_in_the_number_asked_for(scale, count):
    for drawn in (
        sampling.discrete_laplace(scale, count, SYSTEM),
        sampling.discrete_gaussian(scale**2, count, SYSTEM),
    ):
        assert len(drawn) == count
        assert drawn.dtype == np.int64 or all(isinstance(x, int) for x in drawn)
