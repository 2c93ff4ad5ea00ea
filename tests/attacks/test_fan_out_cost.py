"""G3: joins with public tables stretch each row of a person, of which there may be any number."""

import pytest

from discreet import QueryRefused
from discreet.model.privacy import PureLoss

from .test_public_tables import wards, with_wards

NOTHING = PureLoss(epsilon=0)
SLOW = " OR ".join(f"replace(v.diagnosis, 'x', 'y{i}') LIKE '%{'a_' * 15}b{i}%'" for i in range(2))
ON = "v.ward = w.ward"


def joined(select, side="visits"):
    return f"SELECT {select} FROM {side} AS v JOIN wards AS w ON {ON}"


@pytest.mark.parametrize(
    "sql",
    [
        joined(f"count(*) FILTER (WHERE {SLOW}) AS n"),
        joined(f"sum(CASE WHEN {SLOW} THEN w.beds ELSE 0 END) AS s").replace("w.beds", "1"),
        f"SELECT count(*) FILTER (WHERE slow) AS n FROM ({joined(f'v.patient, ({SLOW}) AS slow')}) AS x",
        f"{joined('count(*) AS n')} WHERE ({SLOW}) = (w.beds > 3)",
        f"SELECT count(*) AS n FROM ({joined(f'v.patient, ({SLOW}) AS slow')}"
        " UNION ALL SELECT patient, FALSE FROM visits) AS x WHERE slow",
        "SELECT count(*) FILTER (WHERE n > 3) AS n FROM"
        f" ({joined(f'v.patient, count(*) FILTER (WHERE {SLOW}) AS n')} GROUP BY v.patient) AS x",
    ],
    ids=["FILTER", "sum", "subquery", "WHERE", "UNION", "each person"],
)
def test_g3_slow_functions_of_rows_that_are_stretched_are_refused(tmp_path, sql):
    """With a fan-out of 1,000, three rows of a person took 3.1 s and thirty took 38 s."""
    for folder in ("one", "many"):
        (tmp_path / folder).mkdir()
    with_wards(tmp_path / "one", wards(north=1)).ask(sql)
    clinic = with_wards(tmp_path / "many", wards(north=1000))
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.ask(sql)
    assert clinic.spent() == NOTHING


def test_g3_what_is_picked_before_rows_are_stretched_counts_once(tmp_path):
    clinic = with_wards(tmp_path, wards(north=1000))
    clinic.ask(f"{joined('count(*) AS n')} WHERE {SLOW}")


def test_g3_people_with_many_rows_are_left_out_of_joins_so_that_those_may_compute_more(tmp_path):
    """A side of a join has at most 32 rows of a person here, however many they have."""
    clinic = with_wards(tmp_path, wards(north=50), max_rows=3)
    sql = (
        "SELECT count(*) FILTER (WHERE {}) AS n FROM visits AS v JOIN visits AS x ON v.patient = x.patient"
        f" JOIN wards AS w ON {ON}"
    )
    clinic.ask(sql.format(" OR ".join(f"v.diagnosis LIKE '%f_u{i}%'" for i in range(4))))


PLAIN = "sum(least(v.cost * w.beds + v.age - 3, 100) / 2) AS s, avg(v.cost) AS m, count(*) AS n"
LIKES = ("v.diagnosis LIKE '%f%u%'", "lower(v.diagnosis) LIKE '%fl_%'", "lower(w.ward) LIKE '%nor%'")
ORDINARY = {
    "plain arithmetic": (1000, PLAIN, ""),
    "by keys": (1000, f"v.ward, v.age >= 50 AS old, {PLAIN}", "GROUP BY v.ward, old"),
    "CUBE": (200, f"v.ward, v.age >= 50 AS old, {PLAIN}", "GROUP BY CUBE (v.ward, old)"),
    "conditions": (1000, PLAIN, "WHERE v.cost > 3 AND w.beds IN (1, 2, 3) AND v.diagnosis = 'flu'"),
    "LIKE": (
        50,
        f"count(*) FILTER (WHERE {LIKES[0]} OR lower(v.ward) = 'x') AS f, {PLAIN}",
        "",
    ),
    "several LIKEs": (
        50,
        "count(*) AS n",
        f"WHERE {' AND '.join(LIKES)}",
    ),
    "LIKE of few rows": (1, f"count(*) FILTER (WHERE {SLOW}) AS n, {PLAIN}", ""),
    "values and quantiles": (1000, "count(DISTINCT v.age), median(v.cost), max(v.age), avg(v.age)", ""),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_g3_ordinary_questions_about_stretched_rows_are_answered(tmp_path, name):
    rows, select, rest = ORDINARY[name]
    bounded = "[tables.wards.columns.beds]\nbounds = [0, 1000]"
    clinic = with_wards(tmp_path, wards(north=rows), bounded)
    clinic.ask(f"{joined(select)} {rest}")
