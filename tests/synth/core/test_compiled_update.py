"""The compiled pass: the same as numpy but for rounding, used where it pays, and never needed.

The pass is tried as Python and, where numba is installed, compiled.
"""

import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import fsum
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core import cells as cells_module
from discreet.synth.core import compiled_update as compiled
from discreet.synth.core.cells import Cells
from discreet.synth.core.compiled_update import Passes, _pass, passes_for
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.fit import fit
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import shares
from discreet.synth.core.weight_array import Halves, scale, table
from discreet.synth.mwem.learner import Averaging, Fitting
from discreet.synth.mwem.mwem import mwem
from discreet.synth.mwem.workload import Workload

PEOPLE = 10_000.0
NONE = Marginal(attributes=(), codes=())


def kernels():
    """As Python, and compiled if it can be."""
    return [_pass] if compiled._compiled() is None else [_pass, compiled._compiled()]


def needs_numba():
    pytest.importorskip("numba")
    assert compiled._compiled() is not None
    return compiled._compiled()


def with_passes(domain, kernel):
    """All records, with weights that differ, and a pass for them whatever it is worth."""
    cells = Cells(domain)
    cells.weights = np.random.default_rng(1).random(domain.cells)
    cells._passes = Passes(domain, kernel)
    return cells


def agree(domain, marginal, following, kernel):
    """With products and sums by a list of places, and along axes: weights, and what is held."""
    cells = with_passes(domain, kernel)
    factors = np.random.default_rng(2).random(marginal.cells) + 0.5
    expected = cells.weights * factors[marginal.places(cells.columns)]
    along_axes = cells.weights.copy()
    scale(along_axes, domain, marginal, factors)
    held = cells.move(marginal, factors, following)
    np.testing.assert_allclose(cells.weights, expected, rtol=1e-12)
    np.testing.assert_allclose(cells.weights, along_axes, rtol=1e-12)
    np.testing.assert_allclose(held, shares(cells, following), rtol=1e-12)
    np.testing.assert_allclose(held, table(along_axes, domain, following), rtol=1e-12)


@st.composite
def tables(draw, domain):
    """Any attributes in any order, some in bins, perhaps as a question about the table."""
    several = st.lists(st.sampled_from(range(len(domain.sizes))), unique=True)
    attributes = draw(several)
    codes = []
    for attribute in attributes:
        size = domain.sizes[attribute]
        ends = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        ends[0] = False
        coarse = np.cumsum(ends) if draw(st.booleans()) else np.arange(len(ends))
        codes.append(coarse.astype(np.int32))
    whole = Marginal(attributes=tuple(attributes), codes=tuple(codes))
    if draw(st.booleans()):
        return whole
    mask = np.random.default_rng(draw(st.integers(0, 99))).random(whole.cells) < 0.4
    return Halves(attributes=whole.attributes, codes=whole.codes, table=whole, mask=mask)


@st.composite
def updates(draw):
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    domain = Domain(sizes=tuple(sizes))
    return domain, draw(tables(domain)), draw(tables(domain))


@given(update=updates(), run=st.sampled_from([1, 4, 32]), part=st.sampled_from([1, 16, 2**16]))
@example(update=(Domain(sizes=(1,)), NONE, NONE), run=32, part=1)
@example(update=(Domain(sizes=(1, 1)), *Domain(sizes=(1, 1)).marginals(1)), run=32, part=16)
def test_any_update_of_any_domain(update, run, part):
    with patch.object(compiled, "_RUN", run), patch.object(compiled, "_PART", part):
        for kernel in kernels():
            agree(*update, kernel)


@pytest.mark.parametrize("sizes", [(12, 9, 11, 8, 10), (2,) * 17, (300, 301), (7777, 9), (5000,), (1, 1)])
def test_large_domains(sizes):
    """One attribute, some, all and none, in order and not."""
    kernel, domain = needs_numba(), Domain(sizes=sizes)
    last = len(sizes) - 1
    chosen = {(), (0,), (last,), (0, last)[: len(sizes)], tuple(range(last + 1)), tuple(range(last, -1, -1))}
    marginals = [Marginal.full(domain, each) for each in sorted(chosen)]
    for marginal, following in product(marginals, repeat=2):
        agree(domain, marginal, following, kernel)


def test_a_value_that_was_dropped_has_an_empty_cell():
    """Tables of one attribute may have been measured with values that are in no record."""
    domain, codes = Domain(sizes=(40, 30, 40)), np.arange(42, dtype=np.int32)
    for codes in (np.arange(42, dtype=np.int32), np.arange(42, dtype=np.int32) // 5):
        for attributes in ((0,), (2,), (2, 0)):
            longer = Marginal(attributes=attributes, codes=(codes,) * len(attributes))
            for kernel in kernels():
                agree(domain, longer, longer, kernel)


def test_places_that_do_not_exist_are_refused():
    """Compiled code would write there."""
    domain = Domain(sizes=(40, 40, 40))
    whole = Marginal.full(domain, (0, 2))
    ones = np.ones(1600)
    for codes in (np.arange(39), np.array([*range(38), 70, 39]), np.array([*range(38), -1, 39])):
        codes = codes.astype(np.int32)
        for attribute in (0, 2):
            foreign = Marginal(attributes=(attribute,), codes=(codes,))
            for kernel in kernels():
                cells = with_passes(domain, kernel)
                with pytest.raises(InvalidInput, match="does not belong"):
                    cells.move(foreign, np.ones(foreign.cells), whole)
                with pytest.raises(InvalidInput, match="does not belong"):
                    cells.move(whole, ones, foreign)
    cells = with_passes(domain, kernels()[-1])
    with pytest.raises(InvalidInput, match="does not belong"):
        cells.move(whole, ones[1:], whole)
    cells.weights = cells.weights[1:]
    with pytest.raises(InvalidInput, match="does not belong"):
        cells.move(whole, ones, whole)


def test_sums_are_accurate():
    """The same number four million times, where roundings add up: 2 · 10⁻¹² if taken one after the other."""
    kernel, domain = needs_numba(), Domain(sizes=(64, 64, 32, 32))
    cells = with_passes(domain, kernel)
    cells.weights[:] = 0.1
    for following in (NONE, *domain.marginals(1)):
        held = cells.move(NONE, np.ones(1), following)
        np.testing.assert_allclose(held, fsum([0.1] * (domain.cells // following.cells)), rtol=2e-13)


def measured(domain, order, sigma, chance):
    law = chance.dirichlet(np.full(domain.cells, 0.3))
    for marginal in domain.marginals(order):
        exact = table(law, domain, marginal) * PEOPLE
        noisy = exact + chance.normal(0, sigma, marginal.cells)
        yield Measurement(marginal=marginal, counts=noisy, variance=sigma**2)


def forced(monkeypatch):
    """Compiled, as Python if numba is not there, whatever it is worth."""
    kernel = compiled._compiled() or _pass
    monkeypatch.setattr(cells_module, "passes_for", lambda domain, updates: Passes(domain, kernel))


def test_a_fit_comes_to_the_same(monkeypatch):
    domain = Domain(sizes=(7, 6, 9, 5))
    news = list(measured(domain, 2, 20.0, np.random.default_rng(1)))
    plain, passed = Cells(domain), Cells(domain)
    without = fit(plain, news, PEOPLE, random=np.random.default_rng(2))
    forced(monkeypatch)
    found = fit(passed, news, PEOPLE, random=np.random.default_rng(2))
    assert passed._passes is not None
    assert plain._passes is None
    assert found.sweeps == without.sweeps
    np.testing.assert_allclose(passed.weights, plain.weights, rtol=1e-9)
    for term, expected in zip(found.terms, without.terms, strict=True):
        np.testing.assert_allclose(term.exponents, expected.exponents, rtol=1e-9, atol=1e-9)


def test_a_fit_along_axes_comes_to_the_same_as_by_places(monkeypatch):
    domain = Domain(sizes=(7, 6, 9, 5))
    news = list(measured(domain, 2, 20.0, np.random.default_rng(1)))
    weights = []
    for few in (0, domain.cells):
        monkeypatch.setattr(cells_module, "FEW", few)
        cells = Cells(domain)
        fit(cells, news, PEOPLE, random=np.random.default_rng(2))
        weights.append(cells.weights)
        assert cells.weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(*weights, rtol=1e-9)


@pytest.mark.parametrize("kind", [Fitting, Averaging])
def test_weights_learn_the_same(monkeypatch, kind):
    """From whole tables and from questions, the same one twice as well."""
    domain, chance = Domain(sizes=(7, 6, 9, 5)), np.random.default_rng(3)
    news = list(measured(domain, 2, 20.0, chance))
    whole = Marginal.full(domain, (0, 1, 2, 3))
    mask = chance.random(domain.cells) < 0.2
    asked = Halves(attributes=whole.attributes, codes=whole.codes, table=whole, mask=mask)
    news.insert(2, Measurement(marginal=asked, counts=np.array([7000.0, 3000.0]), variance=400.0))

    def learnt():
        learner = kind(domain, PEOPLE)
        moved = [learner.learn(i, each) for i, each in [*enumerate(news), (2, news[2]), (0, news[0])]]
        return learner, moved

    def force(learner):
        learner.cells._passes = Passes(domain, compiled._compiled() or _pass)

    plain, moved = learnt()
    monkeypatch.setattr(kind, "__init__", _then(kind.__init__, force))
    passed, moved_again = learnt()
    assert passed.cells._passes is not None
    assert plain.cells._passes is None
    np.testing.assert_allclose(moved_again, moved, rtol=1e-9)
    np.testing.assert_allclose(passed.cells.weights, plain.cells.weights, rtol=1e-9)


def _then(first, second):
    def both(self, *arguments):
        first(self, *arguments)
        second(self)

    return both


class Repeatable:
    """The same words each time."""

    def __init__(self):
        self._chance = np.random.default_rng(7)

    def words(self, count):
        return self._chance.integers(0, 2**64, count, dtype=np.uint64)


def test_the_whole_loop_picks_and_learns_the_same(monkeypatch):
    domain = Domain(sizes=(6, 5, 8, 4))
    chance = np.random.default_rng(4)
    counts = chance.multinomial(20_000, chance.dirichlet(np.full(domain.cells, 0.2)))

    def exact(marginals):
        return [np.rint(table(counts.astype(float), domain, each)).astype(np.int64) for each in marginals]

    def learnt():
        return mwem(
            Workload.marginals(domain, 2) + Workload.ranges(domain, 1),
            exact,
            loss=ConcentratedLoss(rho=Fraction(1, 20), delta=Fraction(0)),
            sensitivity=Sensitivity.histogram(Neighbours.ADD_REMOVE),
            rounds=8,
            entropy=Repeatable(),
        )

    def picked(result):
        return [each.candidate for each in result.rounds]

    monkeypatch.setattr("discreet.synth.mwem.learner.MOST_FITTED", 0)  # the last passes, not another fit
    plain = learnt()
    forced(monkeypatch)
    passed = learnt()
    assert passed.synthetic.records._passes is not None
    assert picked(passed) == picked(plain)
    np.testing.assert_allclose(passed.synthetic.records.weights, plain.synthetic.records.weights, rtol=1e-9)


def test_it_is_compiled_only_where_that_pays():
    domain = Domain(sizes=(100, 100))
    with patch.object(compiled, "_compiled") as asked:
        assert passes_for(domain, compiled.WORTH // domain.cells) is None
        asked.assert_not_called()
        assert passes_for(domain, compiled.WORTH // domain.cells + 1) is not None


@pytest.fixture
def anew():
    """As if nothing had been compiled in this process."""
    compiled._compiled.cache_clear()
    yield
    compiled._compiled.cache_clear()


@pytest.mark.usefixtures("anew")
def test_without_numba_it_is_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # an import of it fails
    cells = Cells(Domain(sizes=(8, 9)))
    cells.expect(compiled.WORTH)
    assert cells._passes is None
    (marginal,) = cells.domain.marginals(2)
    held = cells.move(marginal, np.full(72, 2.0), marginal)
    np.testing.assert_allclose(held, np.full(72, 2 / 72))


@pytest.mark.usefixtures("anew")
def test_numba_that_does_not_compile_is_not_used(monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert compiled._compiled() is None


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("error", [RuntimeError, OSError, MemoryError, ImportError])
def test_numba_that_fails_is_not_used(monkeypatch, error):
    """By then a release may be paid for."""

    def njit(*_, **__):
        raise error

    broken = SimpleNamespace(config=SimpleNamespace(DISABLE_JIT=0), njit=njit)
    monkeypatch.setitem(sys.modules, "numba", broken)
    assert compiled._compiled() is None


@pytest.mark.parametrize("room", [0, 100, 200, 2**25])
def test_what_is_remembered_has_a_limit(monkeypatch, room):
    monkeypatch.setattr(compiled, "_REMEMBERED", room)
    domain = Domain(sizes=(6, 7, 8, 9))
    passes = Passes(domain, _pass)
    weights, pairs = np.ones(domain.cells), domain.marginals(2)
    for _ in range(2):
        for marginal in pairs:
            held = passes.move(weights, marginal, np.ones(marginal.cells), marginal)
            assert (held == domain.cells / marginal.cells).all()
            sizes = [layout.size for layout in passes._known.values()]
            assert sum(sizes) <= room or len(sizes) == 1
    assert len(passes._known) == 6 or room < 2**25


def test_numba_is_not_imported_for_little():
    """Neither by a fit of few records, nor by the command line."""
    script = """
import sys
import discreet.apps.commands.main
import numpy as np
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain
from discreet.synth.core.fit import fit
from discreet.synth.core.measurement import Measurement
domain = Domain(sizes=(4, 5))
(marginal,) = domain.marginals(2)
fit(Cells(domain), [Measurement(marginal=marginal, counts=np.ones(20), variance=1.0)], 20.0)
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
