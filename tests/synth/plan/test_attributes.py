"""Columns of a synthetic table: their values come from declarations, and codes stand for the right ones."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput, QueryRefused
from discreet.question.parse import parse_sql
from discreet.question.plain_rows import resolve_rows
from discreet.synth.plan.attributes import BINS, BinnedValues, ListedValues, attributes_of
from tests.question.clinic import clinic, public_keys

CHANCE = np.random.default_rng(7)


def attributes(sql, bins=None, **settings):
    return attributes_of(resolve_rows(parse_sql(sql), clinic(**settings), public_keys).columns, bins)


def test_keys_truth_values_and_few_whole_numbers_are_listed():
    ward, age, old, born = attributes(
        "SELECT ward, age, age > 60 AS old, born FROM visits WHERE born IN ('2026-01-01', '2026-01-02')"
    )
    assert ward.values == ListedValues(values=("north", "south"))
    assert age.values == ListedValues(values=tuple(range(100)))
    assert old.values == ListedValues(values=(False, True))
    assert born.values == ListedValues(values=(date(2026, 1, 1), date(2026, 1, 2)))
    assert [each.size for each in (ward, age, old, born)] == [3, 101, 3, 3]


def test_numbers_are_put_into_bins_between_their_bounds():
    (cost,) = attributes("SELECT cost FROM visits")
    assert cost.values == BinnedValues(
        low=Fraction(-2), high=Fraction(4), width=Fraction(6, BINS), step=None, whole=False
    )
    assert cost.values.count == BINS
    (age,) = attributes("SELECT age FROM visits", bins=30)
    assert (age.values.width, age.values.count) == (4, 25)
    (age, cost) = attributes("SELECT age, cost FROM visits", bins={"age": 10})
    assert (age.values.count, cost.values.count) == (10, BINS)


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 33, 99, 100])
def test_every_whole_number_is_in_its_bin_and_drawn_from_it(bins):
    (age,) = attributes("SELECT age FROM visits", bins=bins)
    if isinstance(age.values, ListedValues):
        assert bins == 100
        return
    codes = np.arange(100) // int(age.values.width)
    assert codes.max() + 1 == age.values.count <= bins
    drawn = age.drawn(np.repeat(np.arange(age.values.count), 2000), CHANCE)
    for code in range(age.values.count):
        held = set(drawn[code * 2000 : (code + 1) * 2000].tolist())
        assert held <= set(np.flatnonzero(codes == code).tolist())
        if bins > 30:  # each of at most 4 values stays away with (3/4)^2000
            assert held == set(np.flatnonzero(codes == code).tolist())


def test_drawn_numbers_stay_between_the_bounds_and_in_their_bins():
    (cost,) = attributes("SELECT cost FROM visits", bins=5)
    codes = CHANCE.integers(0, 5, 10_000)
    drawn = cost.drawn(codes, CHANCE)
    assert drawn.min() >= -2
    assert drawn.max() <= 4
    assert (np.minimum((drawn + 2) // 1.2, 4) >= codes - 1e-9).all()
    assert len(np.unique(drawn)) > 500


def test_the_last_code_is_null():
    ward, age = attributes("SELECT ward, age FROM visits")
    drawn = ward.drawn(np.array([0, 2, 1]), CHANCE)
    assert drawn.tolist() == ["north", None, "south"]
    assert age.drawn(np.array([0, 100, 99]), CHANCE).tolist() == [0, None, 99]
    assert ward.key().values == ("north", "south", None)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT note FROM visits", "not public"),
        ("SELECT born FROM visits", "not public"),
        ("SELECT age * 1000000 * cost AS x, patient + 1 AS y FROM visits", "no bounds"),
        ("SELECT patient FROM visits", "who a person is"),
        ("SELECT * FROM visits", "more than was meant"),
        ("SELECT ward, ward FROM visits", "Two columns"),
        ("SELECT ward, count(*) FROM visits GROUP BY ward", "GROUP"),
        ("SELECT count(*) FROM visits", "aggregate"),
        ("SELECT ward FROM visits LIMIT 3", "LIMIT"),
        ("SELECT ward FROM visits ORDER BY ward", "ORDER"),
        ("SELECT wrad FROM visits", "no column"),
        ("SELECT ward FROM wards", "public table"),
    ],
)
def test_what_cannot_be_learnt_is_refused(sql, said):
    with pytest.raises(QueryRefused) as refused:
        attributes(sql)
    assert said in refused.value.problem
    assert refused.value.remedy


@pytest.mark.parametrize("bins", [0, -1, 10_000, {"agee": 3}, {"age": 0}, 2.5])
def test_bins_that_make_no_sense_are_refused(bins):
    with pytest.raises(InvalidInput):
        attributes("SELECT age, cost FROM visits", bins=bins)


def test_text_for_people_names_every_code():
    ward, cost = attributes("SELECT ward, cost FROM visits", bins=3)
    assert ward.texts() == ["north", "south", "NULL"]
    assert cost.texts() == ["-2–0", "0–2", "2–4", "NULL"]
