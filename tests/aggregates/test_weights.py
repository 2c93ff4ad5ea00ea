"""The weight of a person, as the SQL computes it, against the formula and the sensitivity that is claimed."""

from math import isqrt

import duckdb
import pytest

from discreet.aggregates.weights import Norm, Weight
from discreet.dialects.duckdb import DUCKDB
from discreet.model.neighbours import Neighbours
from discreet.sql.weights import weight_sql

MOST = 3000


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("most", [1, 2, 5, 7])
@pytest.mark.parametrize("names_keys", [False, True])
@pytest.mark.parametrize("build", [Weight.for_rows, Weight.for_people])
def test_no_person_moves_more_than_is_claimed(build, norm, most, names_keys):
    """A person who is once in each of n groups: w·n in ℓ₁ and w²·n in ℓ₂, in at most l₀ groups."""
    weight = build(most, norm, names_keys=names_keys)
    fully = weight.limit if norm is Norm.L1 else weight.square
    sql = f"SELECT n, {weight_sql(weight, 'n', DUCKDB)} FROM range({fully + 1}, {fully + MOST}) AS t(n)"
    claimed = weight.sensitivity(Neighbours.ADD_REMOVE, largest=1, signed=False, one_group=False)
    profiles = {w: groups for groups, w in weight.profiles()} if names_keys and norm is Norm.L2 else {}
    for n, w in [*((n, weight.whole) for n in range(1, fully + 1)), *duckdb.sql(sql).fetchall()]:
        share = (
            weight.limit * weight.whole // n
            if norm is Norm.L1
            else isqrt(weight.square * weight.whole**2 // n)
        )
        wanted = min(weight.whole, share)
        assert w == (wanted if wanted >= weight.least else 0)
        assert n * w <= claimed.l1
        assert n * w**2 <= claimed.l2_squared
        assert w == 0 or n <= claimed.l0
        assert w == 0 or not profiles or n <= profiles[w]


def test_who_would_hardly_count_does_not_name_keys():
    weight = Weight.for_people(5, Norm.L2, names_keys=True)
    assert weight.most == 5 * 16
    assert Weight.for_rows(5, Norm.L1, names_keys=True).most == 5 * 4
