"""Workloads: all answers at once are those of the questions one by one."""

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.mwem.workload import CellQuestions, EachCell, Masks, Prefixes, Ranges, Workload

DOMAIN = Domain(sizes=(4, 3, 5))
CHANCE = np.random.default_rng(1)


def families():
    for attributes in ((0,), (2, 1), (0, 1, 2)):
        marginal = Marginal.full(DOMAIN, attributes)
        for kind in (CellQuestions, EachCell, Prefixes, Ranges):
            yield kind(marginal=marginal)
        yield Masks.of(marginal, CHANCE.random((20, marginal.cells)) < 0.5)


@pytest.mark.parametrize("family", [*families()], ids=lambda f: f"{type(f).__name__}{f.marginal.attributes}")
def test_answers_are_sums_over_masks(family):
    counts = CHANCE.integers(0, 2**55, family.marginal.cells)
    masks = np.array([family.mask(i) for i in range(family.questions)])
    assert masks.shape == (family.questions, family.marginal.cells)
    exact = [int(sum(map(int, counts[mask]))) for mask in masks]
    answers = family.answers(counts)
    assert answers.dtype == np.int64
    assert answers.tolist() == exact  # to the last digit, where floats would not do
    shares = CHANCE.random(family.marginal.cells)
    np.testing.assert_allclose(family.answers(shares), masks @ shares)


@pytest.mark.parametrize("family", [*families()], ids=lambda f: f"{type(f).__name__}{f.marginal.attributes}")
def test_what_is_measured_divides_the_records_as_the_question_does(family):
    columns = Cells(DOMAIN).columns
    question = family.questions // 2
    asked = family.asked(question)
    if family.whole:
        assert asked is family.marginal
    else:
        assert asked.cells == 2
        assert (asked.places(columns) == family.mask(question)[family.marginal.places(columns)]).all()


def test_ranges_are_all_ranges():
    (family,) = Workload.ranges(Domain(sizes=(4,))).families
    found = {"".join(str(int(cell)) for cell in family.mask(i)) for i in range(family.questions)}
    assert found == {"1000", "0100", "0010", "0001", "1100", "0110", "0011", "1110", "0111", "1111"}


def test_prefixes_are_all_prefixes():
    (family,) = Workload.prefixes(Domain(sizes=(2, 2)), 2).families
    assert [family.mask(i).astype(int).tolist() for i in range(4)] == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 0, 1, 0],
        [1, 1, 1, 1],
    ]


def test_candidates_are_numbered_through_all_families():
    workload = (
        Workload.marginals(DOMAIN, 2)
        + Workload.prefixes(DOMAIN)
        + Workload.masks(DOMAIN, np.ones((2, 15), dtype=bool), (1, 2))
    )
    assert workload.candidates == 3 + (4 + 3 + 5) + 2
    assert workload.questions == (12 + 20 + 15) + (4 + 3 + 5) + 2
    assert [workload.find(i) for i in (0, 2, 3, 7, 16)] == [(0, 0), (2, 0), (3, 0), (4, 0), (6, 1)]
    with pytest.raises(InvalidInput):
        workload.find(workload.candidates)


def test_many_masks_are_answered_in_parts(monkeypatch):
    monkeypatch.setattr("discreet.synth.mwem.workload._BLOCK", 100)
    marginal = Marginal.full(DOMAIN, (0, 1, 2))
    masks = CHANCE.random((33, 60)) < 0.5
    counts = CHANCE.integers(0, 1000, 60)
    assert Masks.of(marginal, masks).answers(counts).tolist() == (masks.astype(int) @ counts).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload.marginals(DOMAIN, 4),
        lambda: Workload.marginals(DOMAIN, 0),
        lambda: Workload.ranges(DOMAIN, 1.0),
        lambda: Workload.masks(DOMAIN, np.ones((1, 59), dtype=bool)),
        lambda: Workload.masks(DOMAIN, np.ones((1, 60))),
        lambda: Workload.masks(DOMAIN, np.ones(60, dtype=bool)),
        lambda: Workload.masks(DOMAIN, np.ones((0, 60), dtype=bool)),
        lambda: Workload.masks(DOMAIN, np.ones((1, 4), dtype=bool), (3,)),
        lambda: Workload.masks(DOMAIN, np.ones((1, 16), dtype=bool), (0, 0)),
        lambda: Workload.ranges(Domain(sizes=(100, 100)), 2),
        lambda: Workload(domain=DOMAIN, families=()),
        lambda: Workload.ranges(DOMAIN) + Workload.ranges(Domain(sizes=(4, 3))),
    ],
)
def test_what_is_no_workload_is_refused(make):
    with pytest.raises(InvalidInput):
        make()
