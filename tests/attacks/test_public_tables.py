"""G3: public tables, whose rows multiply those of people. How often is read from them, and said."""

from fractions import Fraction

import duckdb
import pytest

from discreet import EngineFailed, QueryRefused, TookTooLong
from discreet.curator.public_tables import PublicReading
from discreet.model.deadline import Deadline
from discreet.model.privacy import PureLoss
from discreet.question.expressions.scope import FanOut
from tests.attacks.ask import BAD_LUCK, Clinic, cell, keys, notes

ON_WARD = "visits AS v JOIN wards AS w ON v.ward = w.ward"
EACH_WARD = f"SELECT v.ward, count(w.beds) AS n FROM {ON_WARD} GROUP BY v.ward"


def wards(**rows):
    """So many rows for each ward, as SQL."""
    return " UNION ALL ".join(
        f"SELECT '{ward}' AS ward, range AS beds FROM range({n})" for ward, n in rows.items()
    )


def with_wards(folder, rows, settings="", *, max_rows=60):
    """A clinic with a public table of wards. Nobody has more than three visits."""
    clinic = Clinic(folder / "clinic", epsilon=900)
    duckdb.sql(f"COPY ({rows}) TO '{clinic.folder / 'wards.parquet'}'")
    policy = clinic.policy.read_text().replace("max_rows = 3", f"max_rows = {max_rows}")
    clinic.policy.write_text(
        f'{policy}\n[tables.wards]\nsource = "wards.parquet"\npublic = true\n{settings}\n'
    )
    return clinic


def near(number, *, max_rows=60):
    """Within 14 scales of Laplace noise at ε = 400, but for a chance below 10⁻⁶."""
    return pytest.approx(number, abs=BAD_LUCK * max_rows / 400)


@pytest.mark.parametrize("rows", [1, 11, 20, 1000])
def test_g3_joins_with_public_tables_are_exact(tmp_path, rows):
    """A visit met none of 20 rows of a calendar that share its day, as ten were the most."""
    clinic = with_wards(tmp_path, wards(north=rows, south=1), max_rows=3 * rows)
    answer = clinic.ask(EACH_WARD, epsilon=400)
    assert keys(answer, "ward")[:2] == ["north", "south"]
    assert cell(answer, "n", 0) == near(500 * rows, max_rows=3 * rows)
    assert cell(answer, "n", 1) == near(500, max_rows=3 * rows)


@pytest.mark.parametrize(
    ("rows", "settings", "on", "remedy"),
    [
        (11, "max_matches = 10", "v.ward = w.ward", "max_matches = 11 for “wards”"),
        (1001, "", "v.ward = w.ward", "fewer rows for each ward"),
        (501, "max_matches = 1000", "v.age * 0 = w.beds * 0", "fewer rows for each beds"),
    ],
)
def test_g3_what_more_rows_share_than_may_match_is_refused(tmp_path, rows, settings, on, remedy):
    """It matched nothing, in an answer that was paid for. Nothing is spent now, and the remedy works."""
    clinic = with_wards(tmp_path, wards(north=rows, south=rows), settings)
    with pytest.raises(QueryRefused) as refused:
        clinic.ask(f"SELECT count(*) AS n FROM visits AS v JOIN wards AS w ON {on}")
    assert "rows of “wards” share one value of" in refused.value.problem
    assert f"{rows:,}" in refused.value.problem or f"{2 * rows:,}" in refused.value.problem
    assert remedy in refused.value.remedy
    assert clinic.spent() == PureLoss(epsilon=Fraction(0))


def test_g3_the_remedy_for_a_small_max_matches_works(tmp_path):
    clinic = with_wards(tmp_path, wards(north=11), "max_matches = 11")
    assert cell(clinic.ask(EACH_WARD, epsilon=400), "n") == near(5500)


def test_g3_more_columns_share_less(tmp_path):
    clinic = with_wards(tmp_path, wards(north=90, south=90), "max_matches = 1")
    answer = clinic.ask(
        "SELECT count(*) AS n FROM visits AS v JOIN wards AS w ON v.ward = w.ward AND v.age = w.beds",
        epsilon=400,
    )
    assert cell(answer, "n") == near(1000)


def test_g3_nulls_in_a_public_table_meet_nobody(tmp_path):
    rows = f"{wards(north=2)} UNION ALL SELECT NULL, range FROM range(5000)"
    clinic = with_wards(tmp_path, rows)
    assert cell(clinic.ask(EACH_WARD, epsilon=400), "n") == near(1000)


def test_g3_an_empty_public_table_meets_nobody(tmp_path):
    clinic = with_wards(tmp_path, f"SELECT * FROM ({wards(north=1)}) WHERE beds < 0", max_rows=3)
    on_person = f"SELECT count(*) AS n FROM {ON_WARD} JOIN visits AS x ON v.patient = x.patient"
    assert cell(clinic.ask(on_person, epsilon=400), "n") == near(0, max_rows=9)


def test_g3_public_tables_multiply_a_row_only_so_often(tmp_path):
    """Each by as much as it really does."""
    joins = [f" JOIN wards AS w{i} ON v.ward = w{i}.ward" for i in range(8)]
    clinic = with_wards(tmp_path, wards(north=10))
    clinic.ask(f"SELECT count(*) AS n FROM visits AS v{''.join(joins[:3])}")
    with pytest.raises(QueryRefused, match="could meet 10,000 rows of public tables"):
        clinic.ask(f"SELECT count(*) AS n FROM visits AS v{''.join(joins[:4])}")
    single = with_wards(tmp_path, wards(north=1))
    single.ask(f"SELECT count(*) AS n FROM visits AS v{''.join(joins)}")


def test_g3_grouping_in_between_does_not_start_the_count_anew(tmp_path):
    clinic = with_wards(tmp_path, wards(north=10))
    nested = "SELECT patient, ward FROM visits"
    for i in range(4):
        nested = (
            f"SELECT v.patient, w.beds + {i} AS b, v.ward FROM ({nested}) AS v"
            " JOIN wards AS w ON v.ward = w.ward GROUP BY v.patient, b, v.ward"
        )
    with pytest.raises(QueryRefused, match="rows of public tables"):
        clinic.ask(f"SELECT count(*) AS n FROM ({nested}) AS x")


def test_g3_how_many_rows_match_is_said_before_and_with_the_answer(tmp_path):
    clinic = with_wards(tmp_path, wards(north=20))
    said = "One row can meet 20 rows of “wards”, which is joined on ward."
    with clinic.open() as curator:
        assert said in curator.explain(EACH_WARD, epsilon=1).notes
    assert said in notes(clinic.ask(EACH_WARD))


def test_g3_one_row_of_a_key_needs_no_words(tmp_path):
    clinic = with_wards(tmp_path, wards(north=1, south=1))
    assert not any("wards" in note for note in notes(clinic.ask(EACH_WARD)))


def test_g3_sides_of_a_join_that_are_cut_are_named(tmp_path):
    clinic = with_wards(tmp_path, wards(north=2))
    joined = (
        "SELECT count(*) AS n FROM visits AS a JOIN (SELECT v.patient FROM {}) AS b ON a.patient = b.patient"
    )
    found = notes(clinic.ask(joined.format(ON_WARD)))
    assert "People with more than 240 rows of “visits” on one side of a join are left out of it." in found
    assert "People with more than 480 rows of “visits” on one side of a join are left out of it." in found


# What is read, and when.


def statements_of(curator, monkeypatch):
    """All that its engine runs from now on."""
    ran, run = [], curator._engine.run

    def running(sql, *watch, **bound):
        ran.append(sql)
        return run(sql, *watch, **bound)

    monkeypatch.setattr(curator._engine, "run", running)
    return ran


def test_g3_a_public_table_is_counted_once_and_only_if_it_is_joined(tmp_path, monkeypatch):
    clinic = with_wards(tmp_path, wards(north=20))
    with clinic.open() as curator:
        ran = statements_of(curator, monkeypatch)
        curator.plan("SELECT count(*) AS n FROM visits", epsilon=1)
        assert ran == []
        for _ in range(3):
            curator.plan(f"SELECT count(*) AS n FROM {ON_WARD}", epsilon=1)
        assert len(ran) == 1
        assert "visits" not in ran[0]
        curator.plan("SELECT count(*) AS n FROM visits AS v JOIN wards AS w ON v.age = w.beds", epsilon=1)
        assert len(ran) == 2


def test_g3_a_question_stays_the_same_while_the_public_table_does(tmp_path):
    clinic = with_wards(tmp_path, wards(north=20))
    first = clinic.ask(EACH_WARD)
    assert clinic.ask(EACH_WARD).receipt == first.receipt
    duckdb.sql(f"COPY ({wards(north=20, south=3)}) TO '{clinic.folder / 'wards.parquet'}'")
    assert clinic.ask(EACH_WARD).receipt == first.receipt
    duckdb.sql(f"COPY ({wards(north=21)}) TO '{clinic.folder / 'wards.parquet'}'")
    assert clinic.ask(EACH_WARD).receipt != first.receipt


def test_g3_what_was_counted_is_held_to_when_the_question_runs(tmp_path, monkeypatch):
    """A table that grows in between multiplies nobody's rows by more than the plan rests on."""
    clinic = with_wards(tmp_path, wards(north=20, south=2))
    monkeypatch.setattr(PublicReading, "fan_out", lambda *_: FanOut(matches=2, rows=22))
    with clinic.open() as curator:
        assert cell(curator.ask(EACH_WARD, epsilon=400), "n", 0) == near(0)
        assert cell(curator.ask(EACH_WARD, epsilon=400), "n", 1) == near(1000)


def test_g3_learning_from_rows_counts_too(tmp_path):
    clinic = with_wards(tmp_path, wards(north=11), "max_matches = 10")
    with clinic.open() as curator, pytest.raises(QueryRefused, match="share one value of ward"):
        curator.explain_synthesis(f"SELECT v.ward, v.age FROM {ON_WARD}", epsilon=1)


# To plan a question takes a limited time, and limited memory: nothing is paid for it.

GROWN = "replace(replace(w.ward, 'o', 'aaaaaaaaaaaaaaaa'), 'a', 'aaaaaaaaaaaaaaaa')"
SLOW = " OR ".join(f"{GROWN} LIKE '%{'a_' * (100 - i)}b%'" for i in range(4))
LARGE = " OR ".join(f"upper(coalesce({GROWN}, '{i}')) = 'x'" for i in range(100))


@pytest.mark.parametrize("condition", [SLOW, LARGE], ids=["slow", "large"])
def test_g3_g4_what_takes_much_of_each_public_row_is_refused_before_they_are_read(
    tmp_path, monkeypatch, condition
):
    """To explain such a question took 31 seconds at a time limit of 2, and gigabytes of memory."""
    clinic = with_wards(tmp_path, wards(north=20))
    on = f"v.age = CASE WHEN {condition} THEN 1 ELSE w.beds END"
    with clinic.open() as curator:
        ran = statements_of(curator, monkeypatch)
        for joined in (f"visits AS v JOIN wards AS w ON {on}", f"wards AS w JOIN visits AS v ON {on}"):
            with pytest.raises(QueryRefused, match=r"computes too much|too many texts"):
                curator.explain(f"SELECT count(*) AS n FROM {joined}", epsilon=1)
            with pytest.raises(QueryRefused, match=r"computes too much|too many texts"):
                curator.explain_synthesis(f"SELECT v.ward, v.age FROM {joined}", epsilon=1)
        assert ran == []


def test_g3_many_joins_with_public_tables_are_limited_together(tmp_path, monkeypatch):
    """Each of these is allowed alone."""
    clinic = with_wards(tmp_path, wards(north=1))
    joins = [f" JOIN wards AS w{i} ON v.ward = lower(trim(w{i}.ward || '{i}'))" for i in range(8)]
    with clinic.open() as curator:
        ran = statements_of(curator, monkeypatch)
        with pytest.raises(QueryRefused, match="rows that it joins"):
            curator.explain(f"SELECT count(*) AS n FROM visits AS v{''.join(joins)}", epsilon=1)
        assert 0 < len(ran) < 8
        curator.explain(f"SELECT count(*) AS n FROM visits AS v{joins[0]}", epsilon=1)


def failing(curator, monkeypatch, error=None, *, seconds=0.0):
    """The deadlines that public tables are read with. Each reading takes so many seconds, and may fail."""
    deadlines, clock = [], [1000.0]
    monkeypatch.setattr("discreet.model.deadline.time.monotonic", lambda: clock[0])
    run = curator._engine.run

    def running(sql, *others, deadline=None, **named):
        deadlines.append(deadline)
        clock[0] += seconds
        deadline.check()
        if error is not None:
            raise error
        return run(sql, *others, **named)

    monkeypatch.setattr(curator._engine, "run", running)
    return deadlines


ON_BEDS = "visits AS v JOIN wards AS w ON v.ward = w.ward JOIN wards AS x ON v.age = x.beds"


def test_g3_all_that_is_read_to_plan_a_question_has_one_deadline(tmp_path, monkeypatch):
    clinic = with_wards(tmp_path, wards(north=2))
    with clinic.open() as curator:
        deadlines = failing(curator, monkeypatch)
        curator.plan(f"SELECT x.beds, count(*) AS n FROM {ON_BEDS} GROUP BY x.beds", epsilon=1)
        assert len(deadlines) == 3
        assert isinstance(deadlines[0], Deadline)
        assert all(each is deadlines[0] for each in deadlines)
        assert deadlines[0].seconds == curator._engine.time_limit
        curator.plan("SELECT count(*) AS n FROM visits AS v JOIN wards AS w ON v.age = w.beds + 1", epsilon=1)
        assert deadlines[3] is not deadlines[0]


def test_g3_a_public_table_that_takes_too_long_is_not_read_again(tmp_path, monkeypatch):
    clinic = with_wards(tmp_path, wards(north=2))
    with clinic.open() as curator:
        deadlines = failing(curator, monkeypatch, seconds=2 * curator._engine.time_limit)
        for _ in range(3):
            with pytest.raises(TookTooLong, match=r"“wards” took longer than .* Nothing was spent") as late:
                curator.explain(EACH_WARD, epsilon=1)
            assert "charged" not in str(late.value)
        assert len(deadlines) == 1


def test_g3_what_had_little_time_left_is_read_again(tmp_path, monkeypatch):
    """What came before it is known by then."""
    clinic = with_wards(tmp_path, wards(north=2))
    with clinic.open() as curator:
        deadlines = failing(curator, monkeypatch, seconds=0.6 * curator._engine.time_limit)
        with pytest.raises(TookTooLong):
            curator.plan(f"SELECT count(*) AS n FROM {ON_BEDS}", epsilon=1)
        curator.plan(f"SELECT count(*) AS n FROM {ON_BEDS}", epsilon=1)
        assert len(deadlines) == 3


def test_g3_a_failure_before_the_charge_says_so_and_may_pass(tmp_path, monkeypatch):
    clinic = with_wards(tmp_path, wards(north=2))
    with clinic.open() as curator:
        with monkeypatch.context() as patched:
            failing(curator, patched, EngineFailed("What was charged stays charged.", remedy="Ask again."))
            with pytest.raises(EngineFailed, match="Nothing was spent") as failed:
                curator.explain(EACH_WARD, epsilon=1)
            assert "charged" not in str(failed.value)
        curator.explain(EACH_WARD, epsilon=1)
