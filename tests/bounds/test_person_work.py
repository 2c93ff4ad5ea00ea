"""What is counted as computed from the rows that one person can have."""

import pytest

from discreet.bounds.person_work import rows_of, steps_of_measure, work_of
from discreet.curator.open_policy import open_curator
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from tests.attacks.ask import Clinic

TWO = "visits AS a JOIN visits AS b USING (patient)"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    clinic = Clinic(tmp_path_factory.mktemp("work") / "clinic")
    with open_curator(clinic.policy, analyst="ada") as curator:
        return curator.dataset


def resolved(sql, dataset):
    return resolve(parse_sql(sql), dataset, lambda *_: None)


def test_different_texts_take_as_long_as_sums_of_doubles(dataset):
    """On PostgreSQL, four counts of different texts of 262,144 rows took 8 seconds."""
    sql = "SELECT count(DISTINCT diagnosis), sum(cost), count(DISTINCT age), count(*) FROM visits"
    texts, doubles, integers, rows = (steps_of_measure(each) for each in resolved(sql, dataset).measures)
    assert texts >= doubles > integers > rows == 0


def steps_of(condition, dataset):
    """How many more steps a condition takes than none."""
    plain = resolved(f"SELECT count(*) AS n FROM {TWO}", dataset).source
    chosen = resolved(f"SELECT count(*) AS n FROM {TWO} WHERE {condition}", dataset).source
    return work_of(chosen).of_a_person - work_of(plain).of_a_person


def test_a_condition_counts_where_it_is_computed(dataset):
    """On the first side before the join, else maybe after it."""
    rows = rows_of(resolved(f"SELECT count(*) AS n FROM {TWO}", dataset).source)
    first, second = (steps_of(f"upper({side}.diagnosis) = 'X'", dataset) for side in "ab")
    assert second == 32 * first > 0
    assert rows == 32 * 32
    both = steps_of("a.age > 1 AND upper(b.diagnosis) = 'X'", dataset)
    assert second < both < 2 * second


def test_what_a_measure_computes_counts_for_each_of_its_vectors(dataset):
    """On PostgreSQL, corr of a text's length took 18 seconds of the rows of one person, and sum 2."""
    text = "length(upper(diagnosis))"
    sql = f"SELECT sum(least({text}, 9)), variance(least({text}, 9)), corr(least({text}, 9), age) FROM visits"
    sums, squares, pairs = (steps_of_measure(each) for each in resolved(sql, dataset).measures)
    assert pairs > 2 * squares > 2 * sums
