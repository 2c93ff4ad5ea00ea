"""Which pairs of a wide table are measured: what that costs, exactly, and that it finds those that matter."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.audit.divergence import concentration, max_divergence
from discreet.audit.laws import gaussian_law, laplace_law, product_law
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.core import measurement, synthesis
from discreet.synth.core import what_to_measure as worth
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.pair_selection import (
    BinnedAttributes,
    Scored,
    by_chance,
    chosen,
    for_ones,
    scores,
    whole_numbers,
)
from discreet.synth.core.synthesis import fitted, left_out, measure_tables

EPSILON, RHO = PureLoss(epsilon=Fraction(2)), ConcentratedLoss(rho=Fraction(1), delta=Fraction(0))
ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
RELATIONS = pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE], ids=["add or remove", "replace"])
TINY = Domain(sizes=(2, 2, 2))


def counting(columns):
    return lambda marginals: [each.counts(columns) for each in marginals]


class Undecided(BaseException):
    def __init__(self, law):
        self.law = law


class Director:
    """Takes the place of every mechanism's release. Of each noisy number it only tells whether it is above 0.

    That is post-processing, after which a number is 0 or `HIGH`. Decisions are told to it one by one. Those
    that nothing depends on any more are not: all tables after the scores are measured whatever comes out, so
    that their law is a product.
    """

    HIGH = 1000

    def __init__(self, monkeypatch):
        self.tables = set()
        for kind in (DiscreteLaplace, DiscreteGaussian):
            monkeypatch.setattr(kind, "release", lambda each, exact, **_: self._noised(each, exact))

    def joint(self, run, decisions, told=()):
        """The law of all that is released."""
        self._told, self._tail = list(told), None if len(told) < decisions else []
        try:
            run()
        except Undecided as undecided:
            law = undecided.law
            return np.concatenate([p * self.joint(run, decisions, (*told, i)) for i, p in enumerate(law)])
        self.tables.add(len(self._tail))
        return product_law(*self._tail)

    def _noised(self, noise, exact):
        law = product_law(*[self._law(noise, int(value)) for value in exact])
        if self._told:
            outcome = self._told.pop(0)
        elif self._tail is None:
            raise Undecided(law)
        else:
            self._tail.append(law)
            outcome = 0
        return self.HIGH * np.array(np.unravel_index(outcome, [2] * len(exact)))

    @staticmethod
    def _law(noise, value):
        if isinstance(noise, DiscreteGaussian):
            return gaussian_law(float(noise.sigma_squared), value, 0, 1)
        low = laplace_law(float(noise.scale), value, min(0, value), max(1, value))[: 1 - min(0, value)].sum()
        return np.array([low, 1 - low])


def worst(monkeypatch, loss, relation, domain, persons):
    """The largest loss between any two neighbours, over all that `measured` releases.

    One of these persons joins two others, or is replaced by another of them.
    """
    monkeypatch.setattr(worth, "MOST_CELLS", 1)
    monkeypatch.setattr(synthesis, "MOST_CELLS", 1)
    director, sensitivity = Director(monkeypatch), Sensitivity.histogram(relation)
    laws = []
    for joining in [[], *([person] for person in persons)]:
        people = [0, domain.cells - 1, *joining]
        exact = counting(list(np.unravel_index(people, domain.sizes)))
        law = director.joint(
            lambda exact=exact: measure_tables(domain, exact, loss=loss, sensitivity=sensitivity),
            len(domain.sizes) + 1,
        )
        assert law.sum() == pytest.approx(1)
        laws.append(law)
    assert len(director.tables) > 1  # pairs were chosen, or not, by what was released
    divergence = max_divergence if isinstance(loss, PureLoss) else concentration
    either = combinations(laws[1:], 2) if relation is REPLACE_ONE else ((laws[0], law) for law in laws[1:])
    return max(divergence(*both) for both in either)


def amount(loss):
    return float(loss.epsilon if isinstance(loss, PureLoss) else loss.rho)


@RELATIONS
@pytest.mark.parametrize(
    ("loss", "domain", "persons"),
    [
        (EPSILON, TINY, (0, 5)),
        (EPSILON, Domain(sizes=(2, 3)), range(6)),
        (RHO, Domain(sizes=(2, 3)), range(6)),
    ],
    ids=["pure, three pairs", "pure, one", "concentrated, one"],
)
def test_scores_and_measurements_cost_the_loss(monkeypatch, loss, relation, domain, persons):
    """The law of all that is released, exactly, whether no pair is chosen, or one, or all."""
    found = worst(monkeypatch, loss, relation, domain, persons)
    assert 0.3 * amount(loss) < found <= amount(loss) * (1 + 1e-9)


def breaks(monkeypatch, relation=ADD_REMOVE):
    return worst(monkeypatch, EPSILON, relation, TINY, (0, 5)) > amount(EPSILON) * (1 + 1e-9)


def test_scores_that_are_not_paid_for_are_noticed(monkeypatch):
    monkeypatch.setattr(synthesis, "SCORES", Fraction(0))  # what is left after them
    monkeypatch.setattr(measurement.MarginalReader, "sigma_of_distance", lambda *_: 1.0)
    assert breaks(monkeypatch)


def test_a_distance_moves_as_far_as_a_table_not_as_a_count():
    """A person who is replaced leaves one cell and comes to another: the distance moves by 2."""
    before, after = (np.abs(np.array(table) - [2, 1]).sum() for table in ([3, 0], [2, 1]))
    assert before - after == measurement._of_distance(Sensitivity.histogram(REPLACE_ONE)).linf == 2


@pytest.mark.parametrize("unit", [1, 1024])
def test_one_person_moves_a_distance_by_no_more_than_the_table(unit):
    """All neighbours of small tables, against numbers rounded from halves: rounding later would break it."""
    expected = whole_numbers(np.array([0.5, 1.5, 2.5, 0.25]), unit)
    assert expected.dtype == np.int64
    for table in np.ndindex(3, 3, 3, 3):
        before = np.abs(unit * np.array(table) - expected).sum()
        for cell in range(4):
            after = np.abs(unit * (np.array(table) + np.eye(4, dtype=int)[cell]) - expected).sum()
            assert abs(after - before) <= unit


def test_scores_are_what_neither_chance_nor_noise_explains():
    """Released are what chance makes and so much more; σ is 10, and there are 1,000 people."""

    class Told:
        unit = 1

        def distances(self, tables, known, share):
            assert share == worth.SCORES
            assert [each.dtype for each in known] == [np.int64] * 3
            more = [19.0, 21.0, 5000.0]
            return np.array([by_chance(binned.expected(table, 1000.0)) for table in tables]) + more

        def sigma_of_distance(self, share, tables):
            return 10.0 if (share, tables) == (worth.SCORES, 3) else None

    binned = BinnedAttributes(TINY, [np.full(2, 0.5)] * 3)
    found = scores(Told(), binned.tables(4.0), binned, 1000.0)
    assert [each.score for each in found] == pytest.approx([0, 21, 2000])


def scored(scores, cells=4):
    tables = [Marginal.full(Domain(sizes=(2, cells // 2)), (0, 1)) for _ in scores]
    return [Scored(table=table, score=score) for table, score in zip(tables, scores, strict=True)]


@pytest.mark.parametrize("pure", [True, False])
def test_pairs_are_chosen_while_they_are_worth_their_noise(pure):
    some = scored([500.0, 0.0, 0.2, 400.0])
    assert chosen(some, TINY, noise=1.0, pure=pure) == [some[0].table, some[3].table]
    assert chosen(some, TINY, noise=0.001, pure=pure) == [some[0].table, some[2].table, some[3].table]
    assert chosen(some, TINY, noise=1000.0, pure=pure) == []
    assert chosen(scored([0.0, 0.0]), TINY, noise=1.0, pure=pure) == []


def test_of_pairs_with_the_same_score_the_smaller_table_is_chosen():
    small, large = scored([100.0])[0], scored([100.0], cells=400)[0]
    assert chosen([large, small], TINY, noise=1.0, pure=False) == [small.table]


@pytest.mark.parametrize("pure", [True, False])
def test_tables_of_one_attribute_get_more_where_few_pairs_are_chosen(pure):
    domain, spent, left = Domain(sizes=(50, 50, 50)), Fraction(1, 5), Fraction(7, 10)
    tables = [each.table for each in scored([1.0] * 200, cells=40)]
    found = [for_ones(tables[:n], domain, spent=spent, left=left, pure=pure) for n in (1, 3, 200)]
    assert left > found[0] > found[1] > found[2] == 0


def test_chance_is_taken_off_the_scores():
    """Independent attributes, in tables of 100 cells: a mean of 400 distances is within 6 standard errors.

    That is a false alarm once in 10⁸ tests; a quarter more or less is 40 standard errors away.
    """
    chance, even = np.random.default_rng(), np.full(100, 50.0)
    found = [np.abs(chance.poisson(even) - even).sum() for _ in range(400)]
    assert abs(np.mean(found) - by_chance(even)) < 6 * np.std(found) / 20 + 0.01 * by_chance(even)
    assert by_chance(np.array([1e-6])) <= 2e-6


def test_bins_are_shared():
    laws = [np.full(5, 0.2), np.array([0.9, 0.1])]
    binned = BinnedAttributes(Domain(sizes=(5, 2)), laws)
    (first,), second = binned.tables(100.0), binned.table((0, 1), 121.0)
    assert first.shape == (5, 2)
    assert first.codes[0] is second.codes[0]
    assert binned.expected(first, 100.0).tolist() == pytest.approx([18, 2] * 5)


def chain(attributes, values, rows, seed=1):
    """Each attribute is that before, three times in four."""
    chance = np.random.default_rng(seed)
    columns = [chance.integers(0, values, rows)]
    for _ in range(attributes - 1):
        columns.append(np.where(chance.random(rows) < 0.75, columns[-1], chance.integers(0, values, rows)))
    return columns


def test_a_chain_is_found_and_followed(monkeypatch):
    """24 columns of 6 values and 20,000 people, at a price at which σ is 830 for a score.

    Neighbours have scores above 20,000: that one is not chosen has a probability below 10⁻¹⁰⁰. How many
    others are, is 135 ± 4, and in how many rows neighbours agree, 0.775 ± 0.005 (one standard deviation, over
    runs): the limits are 10 of them away. Random pairs leave 0.67, a start without a forest 0.65.
    """
    domain, columns = Domain(sizes=(6,) * 24), chain(24, 6, 20_000)
    monkeypatch.setattr(synthesis, "sample_size", lambda _: 20_000)
    loss = ConcentratedLoss(rho=Fraction(1, 500), delta=Fraction(0))
    found = measure_tables(
        domain, counting(columns), loss=loss, sensitivity=Sensitivity.histogram(ADD_REMOVE)
    )
    taken = {each.marginal.attributes for each in found[24:]}
    assert {(i, i + 1) for i in range(23)} <= taken
    assert len(taken) < 200  # of 276
    rows = fitted(domain, found).rows(20_000)
    assert np.mean([(rows[i] == rows[i + 1]).mean() for i in range(23)]) > 0.72


def test_of_columns_that_have_nothing_to_do_with_each_other_few_pairs_are_measured():
    """A score of chance alone is 2 standard deviations up once in 40 times; 60 of 276 are 10⁻³⁰ likely."""
    chance = np.random.default_rng()
    domain, columns = Domain(sizes=(6,) * 24), [chance.integers(0, 6, 20_000) for _ in range(24)]
    loss = ConcentratedLoss(rho=Fraction(1, 50), delta=Fraction(0))
    found = measure_tables(
        domain, counting(columns), loss=loss, sensitivity=Sensitivity.histogram(ADD_REMOVE)
    )
    assert len(found) <= 24 + 60


def test_pairs_that_were_not_chosen_are_told():
    domain, laws = Domain(sizes=(10,) * 8), np.full(10, 5000.0)
    ones = [Measurement(marginal=each, counts=laws, variance=1.0) for each in domain.marginals(1)]
    (pair,) = [Measurement(marginal=Marginal.full(domain, (2, 5)), counts=np.ones(100), variance=1.0)]
    left = left_out(domain, [*ones, pair], sigma=50_000 / 25)
    assert [each.attributes for each in left] == [
        each for each in combinations(range(8), 2) if each != (2, 5)
    ]
    assert {each.shape for each in left} == {(5, 5)}
    assert left_out(Domain(sizes=(10, 10)), ones[:2], sigma=1.0) == []
