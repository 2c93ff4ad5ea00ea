"""A condition that clamping changes is told; one that it does not change needs no word."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.functions.registry import emit_duckdb
from discreet.release.notes.answer_notes import notes_of
from discreet.release.notes.condition_notes import condition_notes
from tests.question.clinic import clinic, planned
from tests.release.notes.test_key_ends import unclamped

COST = "cost is taken within -2 … 4 in conditions too: what lies beyond counts as the bound."
TOLD = ["age is taken within 0 … 99 in conditions too: what lies beyond counts as the bound."]


def query_of(sql):
    return planned(sql, clinic()).bounded.query


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(
        [
            "{} > {}",
            "{} >= {}",
            "{} < {}",
            "{} <= {}",
            "{} = {}",
            "{} <> {}",
            "{1} < {0}",
            "{1} >= {0}",
            "{1} = {0}",
        ]
    ),
    st.sampled_from(["cost", "cost + 5", "cost / 2", "-cost", "3 - cost * 2"]),
    st.sampled_from([-8, -5, -4, -2, -1.875, -1, 0, 1, 2, 2.5, 3, 4, 4.125, 5, 7, 9, 20]),
)
def test_a_note_is_there_exactly_if_clamping_changes_the_truth(comparison, compared, constant):
    plan = planned(
        f"SELECT count(*) AS n FROM visits WHERE {comparison.format(compared, constant)}", clinic()
    )
    clamped = plan.bounded.query.source.predicate
    plain, counted = (emit_duckdb(each, lambda _: "x") for each in (unclamped(clamped), clamped))
    rows = "SELECT range / 32 AS x FROM range(-2000, 2000)"
    differ = duckdb.sql(f"SELECT count(*) FROM ({rows}) WHERE ({plain}) <> ({counted})").fetchall()[0][0]
    assert notes_of(plan)[1:] == ((COST,) if differ else ())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FILTER (WHERE age > 120) AS n FROM visits",
        "SELECT sum(CASE WHEN age > 120 THEN 1 ELSE 0 END) AS n FROM visits",
        "SELECT count(*) AS n FROM visits WHERE age BETWEEN 20 AND 120",
        "SELECT count(*) AS n FROM visits WHERE NOT (ward = 'north' OR age IN (5, 99))",
        "SELECT count(*) AS n FROM (SELECT patient, count(*) FILTER (WHERE age > 120) AS k FROM visits"
        " GROUP BY patient) AS t",
        "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) FILTER (WHERE age > 120) DESC LIMIT 1",
        "SELECT count(*) AS n"
        " FROM (SELECT patient FROM visits WHERE age > 120 UNION ALL SELECT patient FROM labs)",
        "SELECT count(*) AS n FROM labs JOIN (SELECT patient FROM visits WHERE age > 120 GROUP BY patient)"
        " USING (patient)",
    ],
)
def test_conditions_are_found_wherever_they_stand(sql):
    assert condition_notes(query_of(sql)) == TOLD
    assert condition_notes(query_of(sql.replace("120", "90").replace("99", "98"))) == []


def test_values_of_a_person_are_as_they_are_in_conditions():
    each = "SELECT patient, count(*) AS n FROM visits GROUP BY patient HAVING count(*) > 50"
    assert condition_notes(query_of(f"SELECT count(*) AS n FROM ({each}) AS t WHERE n > 2")) == []
