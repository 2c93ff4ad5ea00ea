"""Attacks G3 and G4 on one row: so slow that nothing interrupts it, or with texts that fill the memory."""

import json

import pytest

from discreet import QueryRefused
from discreet.functions.texts import (
    LONGEST_GROWN_TEXT,
    LONGEST_PATTERN,
    LONGEST_REPLACEMENT,
    kept_of_replaced,
)
from discreet.model.privacy import PureLoss
from discreet.release.question_release import QuestionRelease

from .ask import Clinic

NOTHING = PureLoss(epsilon=0)


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path / "clinic")


def any_of(template, times):
    return " OR ".join(template.format(i=i, a="a_" * (100 - i)) for i in range(1, times))


TOO_MUCH = {
    "patterns": any_of("diagnosis LIKE '%{a}b%'", 20),
    "one long pattern": f"diagnosis LIKE '%{'a_' * 120}b%'",
    "upper case": any_of("upper(substring(diagnosis, {i})) = 'x'", 40),
    "replacements": any_of("replace(diagnosis, 'a', 'aaaaaaaaaaaaa{i}') = 'x'", 20),
    "one inside of the other": "replace(" * 12 + "diagnosis" + ", 'a', 'aaaaaaaaaaaaaaaa')" * 12 + " = 'x'",
    "joined texts": any_of("'{i}' || diagnosis || diagnosis || diagnosis || diagnosis = 'x'", 12),
    "parts of texts": any_of("left(diagnosis, 4{i:03d}) = 'x'", 80),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_g3_g4_what_takes_too_much_on_one_row_is_refused(clinic, name):
    """2,048 rows of it took up to 86 seconds after the time limit, or gigabytes beside the memory limit."""
    for sql in (
        f"SELECT count(*) AS n FROM visits WHERE {TOO_MUCH[name]}",
        f"SELECT count(*) FILTER (WHERE {TOO_MUCH[name]}) AS n FROM visits",
        f"SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis HAVING {TOO_MUCH[name]}",
    ):
        with pytest.raises(QueryRefused):
            clinic.ask(sql)
    with pytest.raises(QueryRefused):
        clinic.open().synthesize(f"SELECT ward, {TOO_MUCH[name]} AS x FROM visits", epsilon=1)
    assert clinic.spent() == NOTHING


def test_g3_g4_ordinary_texts_are_answered(clinic):
    """The same is computed once, however often it is written."""
    named = " ".join(f"WHEN lower(trim(diagnosis)) = 'd{i}' THEN {i}" for i in range(80))
    words = ", ".join(f"count(*) FILTER (WHERE diagnosis LIKE '%w{i}%') AS n{i}" for i in range(40))
    codes = ", ".join(f"count(*) FILTER (WHERE left(diagnosis, 3) = 'A{i}') AS n{i}" for i in range(100))
    clean = "lower(trim(diagnosis))"
    for letter in "-/.,;":
        clean = f"replace({clean}, '{letter}', ' ')"
    clinic.ask(f"SELECT sum(CASE {named} ELSE 0 END) AS s FROM visits")
    clinic.ask(f"SELECT {words} FROM visits")
    clinic.ask(f"SELECT {codes} FROM visits")
    clinic.ask(f"SELECT count(*) FILTER (WHERE {clean} LIKE 'flu%') AS n FROM visits")


def test_g3_a_slow_filter_is_not_computed_by_the_reader_of_a_file(clinic):
    """It would go on from one group of rows to the next until a row passes, and nobody could interrupt it."""
    curator = clinic.open()
    plan = curator.plan("SELECT count(*) AS n FROM visits WHERE diagnosis LIKE '%f_u%'", epsilon=1)
    (statement,) = curator._data.emit(QuestionRelease(plan=plan, dataset=curator.dataset))
    (explained,) = curator._engine._cursor().execute(f"EXPLAIN (FORMAT json) {statement.sql}").fetchall()
    pushed = [node["extra_info"] for node in nodes(json.loads(explained[1])) if not node["children"]]
    assert pushed
    assert "f_u" in explained[1]
    assert "f_u" not in json.dumps(pushed)


def nodes(plan):
    for node in plan:
        yield node
        yield from nodes(node["children"])


def test_g4_no_text_on_the_way_is_much_longer_than_the_limit():
    for old in range(1, LONGEST_PATTERN + 1):
        for new in range(LONGEST_REPLACEMENT + 1):
            kept = kept_of_replaced(old, new)
            assert LONGEST_GROWN_TEXT // 4 <= kept <= LONGEST_GROWN_TEXT
            assert kept * max(new, old) <= 4 * LONGEST_GROWN_TEXT * old
