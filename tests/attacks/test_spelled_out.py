"""Attacks G4, continued: subqueries whose columns are used many times to compute those of the next one.

A database moves conditions below subqueries, and writes out there what their columns stand for. PostgreSQL
planned 500 characters for minutes, before any charge.
"""

import pytest

from discreet import QueryRefused
from discreet.model.privacy import PureLoss
from discreet.sql.spelled_out import MOST_SPELLED_OUT, check_spelled_out

from .test_planning import several

NOTHING = PureLoss(epsilon=0)
AGES = "(SELECT patient, age AS a FROM visits)"
CHOSEN = "CASE WHEN a > 1 THEN a ELSE a - 1 END"
LEVELS = 12
NESTED = {
    "keys of people": "(SELECT patient, a + a AS a FROM {below} AS t GROUP BY patient, a + a)",
    "keys that are chosen": f"(SELECT patient, {CHOSEN} AS a FROM {{below}} AS t GROUP BY patient, {CHOSEN})",
    "values of people": "(SELECT patient, max(a + a) AS a FROM {below} AS t GROUP BY patient)",
    "conditions of people": "(SELECT patient, a FROM {below} AS t GROUP BY patient, a HAVING a + a > 1)",
    "unions": "(SELECT patient, a + a AS a FROM {below} AS t UNION ALL SELECT patient, age AS a FROM visits)",
}


def nested(name, levels):
    source = AGES
    for _ in range(levels):
        source = NESTED[name].format(below=source)
    return f"{source} AS t"


@pytest.mark.parametrize(
    "asked", ["count(*) AS n FROM {} WHERE a > 1", "a > 1, count(*) AS n FROM {} GROUP BY a > 1"]
)
@pytest.mark.parametrize("name", NESTED)
def test_g4_columns_that_stand_for_others_again_and_again_are_refused(clinic, name, asked):
    sql = f"SELECT {asked.format(nested(name, LEVELS))}"
    with clinic.open() as curator:
        for ask in (curator.explain, curator.ask):
            with pytest.raises(QueryRefused, match="columns of its subqueries"):
                ask(sql, epsilon=1)
    assert clinic.spent() == NOTHING


@pytest.mark.parametrize("name", NESTED)
def test_usual_nesting_is_answered(clinic, name):
    clinic.ask(f"SELECT count(*) AS n FROM {nested(name, 2)} WHERE a > 1")


def test_g4_names_of_people_count_for_each_piece_of_a_question(clinic):
    """Each different value is counted in a statement of its own, which has all of them."""
    one = f"FROM {nested('keys of people', 2)}"
    clinic.ask(f"SELECT {several('count(DISTINCT a + {i}) AS d{i}', 2)} {one}")
    with pytest.raises(QueryRefused, match="columns of its subqueries"):
        clinic.ask(f"SELECT {several('count(DISTINCT a + {i}) AS d{i}', 100)} {one}")


def test_g4_names_of_people_count_for_all_queries_of_a_question_together(clinic):
    """They have one price."""
    one = f"(SELECT count(*) AS n FROM {nested('keys that are chosen', 3)} WHERE a > {{i}}) AS q{{i}}"
    clinic.ask(f"SELECT n FROM {one.format(i=1)}")
    with pytest.raises(QueryRefused, match="columns of its subqueries"):
        clinic.ask(f"SELECT q1.n FROM {' CROSS JOIN '.join(one.format(i=i) for i in range(1, 6))}")


def test_g4_a_model_and_a_synthetic_table_are_refused_as_well(clinic):
    rows = nested("unions", LEVELS)
    with clinic.open() as curator, pytest.raises(QueryRefused, match="columns of its subqueries"):
        curator.synthesize(f"SELECT a > 1 AS old, a > 2 AS older FROM {rows}", epsilon=1)
    assert clinic.spent() == NOTHING


def test_conditions_on_tables_have_no_names_that_stand_for_others(clinic):
    """Plain subqueries neither: their names are put in when the question is read."""
    plain = "(SELECT patient, a + 1 AS a FROM {below} AS t)"
    source = AGES
    for _ in range(20):
        source = plain.format(below=source)
    clinic.ask(f"SELECT count(*) AS n FROM {source} AS t WHERE a > 1")


def test_the_limit_is_a_limit():
    assert check_spelled_out(MOST_SPELLED_OUT) == MOST_SPELLED_OUT
    with pytest.raises(QueryRefused):
        check_spelled_out(MOST_SPELLED_OUT + 1)
