"""Notes say how people with many rows, or in many groups, are weighed: as it is for this question."""

import pytest

from discreet.aggregates.vectors import LeftOut
from discreet.release.notes.answer_notes import notes_of
from tests.question.clinic import Database, has_one_of, planned

LIMITS = {"max_rows": 12, "max_groups": 3}


def notes(sql, *columns, delta="1e-6"):
    return " ".join(notes_of(planned(sql, has_one_of(*columns, delta=delta, **LIMITS))))


BY_WARD, BY_NOTE = (f"SELECT {key}, count(*) FROM visits GROUP BY {key}" for key in ("ward", "note"))
PEOPLE_BY_WARD, PEOPLE_BY_NOTE = (each.replace("(*)", "(DISTINCT patient)") for each in (BY_WARD, BY_NOTE))


@pytest.mark.parametrize(
    ("sql", "columns", "delta", "said"),
    [
        ("SELECT count(*) FROM visits", (), "1e-6", "counts as 12 in all."),
        (BY_WARD, (), 0, "counts as 12 in all."),
        (BY_WARD, (), "1e-6", "counts as 12 if all are in one group, and as more if they are spread"),
        (BY_WARD, ("ward",), "1e-6", "counts as 12 in all."),
        (BY_NOTE, (), "1e-6", "and one with more than 48 not at all, because keys are private."),
        (BY_NOTE, ("note",), "1e-6", "counts as 12 in all."),
        (PEOPLE_BY_WARD, (), "1e-6", "more than 3 groups counts less in each of them."),
        (PEOPLE_BY_NOTE, (), "1e-6", "and one in more than 48 not at all, because keys are private."),
    ],
)
def test_the_note_is_that_of_the_weight(sql, columns, delta, said):
    assert said in notes(sql, *columns, delta=delta)


@pytest.mark.parametrize("sql", [PEOPLE_BY_WARD, PEOPLE_BY_NOTE])
def test_who_is_in_one_group_is_not_weighed(sql):
    assert "more than" not in notes(sql, "ward", "note")


def test_what_counts_if_rows_differ_is_said_where_it_is_read():
    said = "A person has one ward: the smallest, if their rows differ."
    assert said in notes(PEOPLE_BY_WARD, "ward", "age")
    assert said in notes("SELECT count(*) FROM visits WHERE ward = 'north'", "ward")
    assert "has one" not in notes(PEOPLE_BY_WARD, "age")


@pytest.mark.parametrize(("sql", "kept", "lost"), [(BY_WARD, 12, 138), (BY_NOTE, 0, 150)])
def test_who_vanishes_from_private_keys_is_counted_as_left_out(sql, kept, lost):
    """150 visits of one patient: with listed keys 12 of them count, with private ones none does."""
    plan = planned(sql, has_one_of(delta="1e-6", **LIMITS))
    database = Database()
    database.fill([(1, "north", 1.0, 1, "a")] * 150)
    ((part, place),) = [(p, i) for i, p in enumerate(plan.bounded.parts) if isinstance(p, LeftOut)]
    bins = database.by_key(plan) if plan.bounded.query.private_keys else None
    people = database.exact(plan)[place].tolist() if bins is None else bins[place][()]
    counted = database.exact(plan)[0][0] if bins is None else bins[0][("a",)][0]
    assert float(counted * plan.bounded.parts[0].scale) == pytest.approx(kept, rel=1e-2)
    (found,) = [b for b, each in enumerate(people) if each]
    assert 2 ** (found - 1) < lost <= 2**found
    assert part.all_bins == len(people)


def test_a_pick_says_by_which_rows_it_is_the_best():
    order = "SELECT ward FROM visits GROUP BY ward ORDER BY {} DESC LIMIT 1"
    assert "at most 12 of each person in a group" in notes(order.format("count(*)"))
    assert "by the rows that count" not in notes(order.format("count(DISTINCT patient)"))
