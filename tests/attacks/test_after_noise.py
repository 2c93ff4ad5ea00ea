"""G: queries over noisy answers reach released numbers, and nothing else."""

import resource

import pytest

from discreet import QueryRefused
from discreet.model.expression import size_of
from discreet.model.privacy import PureLoss
from discreet.release.noisy import explain_noisy, intervals
from tests.attacks.ask import Clinic

WARDS = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
AGES = "SELECT age, count(*) AS n FROM visits GROUP BY age"
DAYS = "SELECT floor(cost * 100) AS c, count(*) AS n FROM visits GROUP BY c"
CROSS = f"FROM ({DAYS}) AS a, ({DAYS}) AS b"

ONE_SIDE = f"SELECT count(*) AS x FROM ({DAYS}) AS a JOIN ({DAYS}) AS b"
LONG_TEXT = "concat(ward, " + ", ".join(f"'{letter * 1000}'" for letter in "abcd") + ")"
MANY_TEXTS = ", ".join(f"length(replace(t, '{i}', 'ib')) AS x{i}" for i in range(190))


def growing(number):
    """A sum of what texts become, which no other shares."""
    parts = [f"length(replace(diagnosis, 'b', 'xyz {number} {i}'))" for i in range(5)]
    return f"(SELECT sum(least(greatest({', '.join(parts)}), 100)) AS s{number} FROM visits)"


HOSTILE = [
    f"SELECT {MANY_TEXTS} FROM (SELECT n, {LONG_TEXT} AS t FROM ({WARDS}))",
    f"SELECT s0, s1, s2 FROM {' CROSS JOIN '.join(growing(i) for i in range(3))}",
    f"{ONE_SIDE} ON a.c = a.c",
    f"{ONE_SIDE} ON b.c = b.c",
    f"{ONE_SIDE} ON a.c = a.n AND b.c = b.n",
    f"SELECT count(*) AS x {CROSS}",
    f"SELECT count(*) AS x {CROSS} WHERE a.n < b.n",
    f"SELECT count(*) AS x FROM ({AGES}) AS a, ({AGES}) AS b, ({AGES}) AS c, ({AGES}) AS d",
    f"WITH RECURSIVE r AS (SELECT n FROM ({WARDS}) UNION ALL SELECT n + 1 FROM r) SELECT max(n) AS x FROM r",
    f"WITH r AS (SELECT n FROM ({WARDS}) UNION ALL SELECT n + 1 FROM r) SELECT max(n) AS x FROM r",
    f"SELECT * FROM ({WARDS}), read_csv('/etc/passwd')",
    f"SELECT * FROM ({WARDS}) JOIN '/etc/passwd' ON TRUE",
    f"SELECT * FROM ({WARDS}) JOIN query('SELECT 1') ON TRUE",
    f"SELECT * FROM ({WARDS}), range(1000000000)",
    f"SELECT *, unnest(range(1000000000)) AS u FROM ({WARDS})",
    f"SELECT * FROM ({WARDS}), duckdb_settings()",
    f"SELECT * FROM ({WARDS}) JOIN leaf0 ON TRUE",
    f"SELECT * FROM ({WARDS}) JOIN t0 ON TRUE",
    f"SELECT * FROM ({WARDS}), information_schema.tables",
    f"SELECT n, getenv('HOME') AS x FROM ({WARDS})",
    f"SELECT n, query('SELECT 1') AS x FROM ({WARDS})",
    f"SELECT n, current_setting('memory_limit') AS x FROM ({WARDS})",
    f"SELECT n, repeat('x', 1000000000) AS x FROM ({WARDS})",
    f"SELECT list(n) AS x FROM ({WARDS})",
    f"SELECT string_agg(ward, ',') AS x FROM ({WARDS})",
    f"SELECT sum(n) OVER (ORDER BY n ROWS 99999999999 PRECEDING) AS x FROM ({WARDS})",
    f"SELECT ntile(99999999999) OVER () AS x FROM ({WARDS})",
    f"SELECT row_number FROM ({WARDS})",
    f"SELECT id FROM ({WARDS})",
    f"SELECT rowid FROM ({WARDS})",
    f"SELECT t0_m0 FROM ({WARDS})",
    f"SELECT m0 FROM ({WARDS})",
    f"SELECT n FROM ({WARDS}) WHERE EXISTS (SELECT * FROM visits)",
    f"SELECT n FROM ({WARDS}) AS w WHERE n > (SELECT max(patient) FROM visits WHERE visits.ward = w.ward)",
    f"SELECT n FROM ({WARDS}) USING SAMPLE 1",
    f"SELECT n FROM ({WARDS}) LIMIT 10 PERCENT",
    f"SELECT n FROM ({WARDS}) LIMIT (SELECT 1)",
    f"SELECT n FROM ({WARDS}); DROP TABLE visits",
    f"{WARDS} EXCEPT {WARDS}",
    f"{WARDS} INTERSECT SELECT ward, age FROM visits",
]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return Clinic(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("sql", HOSTILE)
def test_what_reaches_further_is_refused_before_the_charge(clinic, sql):
    with pytest.raises(QueryRefused) as refusal:
        clinic.ask(sql)
    assert refusal.value.remedy
    assert clinic.spent() == PureLoss(epsilon=0)
    assert clinic.leaks() == []


def test_names_are_never_passed_on(clinic):
    """Names of columns come back as they were written, and change nothing else."""
    name = 'x" FROM visits; --'
    quoted = name.replace('"', '""')
    answer = clinic.ask(f'SELECT n + 1 AS "{quoted}", max(n) OVER () AS "MAX" FROM ({WARDS})', epsilon=1)
    assert list(answer.columns) == [name, "MAX"]


def test_the_order_of_rows_is_that_of_keys(tmp_path):
    """Rows in another order give the same order of groups, also where nothing sorts them."""
    rows = "SELECT * FROM (VALUES {}) AS v"
    one, other = (
        Clinic(tmp_path / str(i), rows=rows.format(", ".join(cells)), delta=1e-6)
        for i, cells in enumerate((ROWS, ROWS[::-1]))
    )
    sql = "SELECT diagnosis, row_number() OVER () AS place FROM visits GROUP BY diagnosis"
    found = [clinic.ask(sql, epsilon=100).released.values for clinic in (one, other)]
    for values in found:
        assert values["diagnosis"].tolist() == sorted(values["diagnosis"].tolist())
        assert values["place"].tolist() == list(range(1, len(values["place"]) + 1))


ROWS = [f"({i}, 'north', 1.0, 30, '{chr(97 + i * 7 % 5)}')" for i in range(500)]


def test_a_person_who_is_alone_moves_nothing_by_more_than_the_noise(clinic):
    """The attic holds one person. At ε = 1 its count is noise of scale 3: shares and ranks follow it."""
    answer = clinic.ask(f"SELECT ward, n, rank() OVER (ORDER BY n) AS r FROM ({WARDS})", epsilon=1)
    plain = clinic.ask(WARDS, epsilon=1)
    assert plain.repeated
    order = sorted(range(3), key=plain.released.raw["n"].tolist().__getitem__)
    assert [answer["r"].tolist()[place] for place in order] == [1, 2, 3]


MANY = "SELECT floor(cost * 9) AS c, count(*) AS n FROM visits GROUP BY c"
WIDE = ", ".join(f"a.n + {i} AS x{i}" for i in range(190))
NAMED = "(SELECT count(*) AS z FROM (SELECT diagnosis, count(*) AS m FROM visits GROUP BY diagnosis))"


def test_g4_private_keys_of_one_query_do_not_lift_limits_of_others(tmp_path):
    """199 million numbers were planned, and charged for."""
    clinic = Clinic(tmp_path, delta=1e-6)
    for more in ("", f" CROSS JOIN {NAMED}"):
        with pytest.raises(QueryRefused, match="numbers"):
            clinic.ask(f"SELECT {WIDE} FROM ({MANY}) AS a CROSS JOIN ({MANY}) AS b{more}")
    assert clinic.spent().rho == 0


def test_g4_nested_choices_are_planned_at_once(clinic):
    """64 of them took 2.2 GB and 7 s, and each eight more twice as much: DuckDB copies nested lambdas."""
    terms = [f"n + {i} * n" for i in range(128)]
    for many in (8, 8, 2):
        terms = [f"greatest({', '.join(terms[i : i + many])})" for i in range(0, len(terms), many)]
    (choice,) = terms
    plain = choice.replace("n +", "count(*) +").replace("* n", "* count(*)")
    before = peak_memory()
    for sql in (
        f"SELECT {choice} AS x FROM ({WARDS})",
        f"SELECT ward, {plain} AS x FROM visits GROUP BY ward",
    ):
        clinic.open().plan(sql, epsilon=1)
    assert peak_memory() - before < 500_000_000


def test_g4_values_within_values_are_named_at_once(clinic):
    """In its second argument, each NULLIF was a lambda within that of another: 665 characters took 4 GB and
    20 s to plan, free of charge, and each two terms more four times as much.
    """
    term = " + ".join(f"{i} * n" for i in range(1, 8))
    choice = f"({term})"
    for i in range(14):
        choice = f"nullif({term} + {i}, {choice})"
    before = peak_memory()
    for sql in (
        f"SELECT {choice} AS x FROM ({WARDS})",
        f"SELECT ward, {choice.replace('* n', '* count(*)')} AS x FROM visits GROUP BY ward",
    ):
        clinic.open().plan(sql, epsilon=1)
    assert peak_memory() - before < 500_000_000


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_g4_intervals_have_one_limit_for_all_columns(clinic, monkeypatch):
    """Each of eight columns was simulated as if it were the only one."""
    given = []
    draws = intervals._draws
    monkeypatch.setattr(intervals, "_draws", lambda *limits: given.append(limits) or draws(*limits))
    for columns in (1, 8):
        sums = [f"sum(n) OVER (ORDER BY age ROWS {i} PRECEDING) AS s{i}" for i in range(1, 1 + columns)]
        clinic.ask(f"SELECT {', '.join(sums)} FROM ({AGES})", epsilon=1)
    (_, _, of_one), (_, _, of_eight) = given[0], given[-1]
    assert of_eight * 8 <= of_one
    assert draws(1_000, 0.025, 250 * 1_000) == 250  # and no more than that is drawn


def test_g4_intervals_keep_no_more_numbers_for_many_parts(clinic, monkeypatch):
    """327 characters took 4.5 GB and more: each of 16 factors kept all of its draws."""
    kept = []
    draws = intervals._draws
    monkeypatch.setattr(intervals, "_draws", lambda *given: kept.append(given) or draws(*given))
    other = AGES.replace("FROM visits", "FROM visits WHERE cost > 3").replace("AS n", "AS k")
    for factors in (1, 16):
        product = "*".join(f"(n + {i} * k)" for i in range(2, 2 + factors))
        clinic.ask(f"SELECT {product} AS x FROM ({AGES}) JOIN ({other}) USING (age)", epsilon=1)
    few, many = (most for _, _, most in (kept[0], kept[-1]))
    assert many * 16 <= few


def test_g4_explain_simulates_no_large_table(clinic, monkeypatch):
    monkeypatch.setattr(explain_noisy, "noisy_answer", None)
    many = clinic.open().explain(f"SELECT sum(n) OVER (ORDER BY c) AS s FROM ({DAYS})", epsilon=1)
    assert any("known with the answer" in note for note in many.notes)


def steps_over(ages, steps, columns):
    """Each step is over the one below it, so that what it is in terms of noisy counts gets longer."""
    above = [f"c{i + 1} AS (SELECT age, s + sum(s) OVER (ORDER BY age) AS s FROM c{i})" for i in range(steps)]
    parts = [f"c0 AS (SELECT age, n AS s FROM ({ages}))", *above]
    named = ", ".join(f"s + {i} AS s{i}" for i in range(columns))
    return f"WITH {', '.join(parts)} SELECT {named} FROM c{steps}"


def work_done(monkeypatch):
    """Rows times characters of all statements that simulate intervals."""
    done = []
    queried = intervals.queried_tables

    def counted(tables, sql, deadline):
        rows = max(len(table["row_number"]) for table in tables.values())
        done.append(len(sql) * (rows + intervals._ROWS_OF_PLANNING))
        return queried(tables, sql, deadline)

    monkeypatch.setattr(intervals, "queried_tables", counted)
    return done


def test_g4_intervals_count_what_is_computed_for_each_number(clinic, monkeypatch):
    """Only numbers were counted: 2,000 characters took minutes, again and again for one price."""
    done = work_done(monkeypatch)
    other = AGES.replace("FROM visits", "FROM visits WHERE cost > 4").replace("AS n", "AS k")
    term = " + ".join(f"{i} * n + {i} * k" for i in range(1, 12))
    named = ", ".join(f"x + {i} AS x{i}" for i in range(190))
    clinic.ask(
        f"SELECT {named} FROM (SELECT {term} AS x FROM ({AGES}) JOIN ({other}) USING (age))", epsilon=1
    )
    assert sum(done) <= intervals._MOST_WORK


def test_g4_explain_simulates_nothing_that_takes_long(clinic, monkeypatch):
    """898 characters took 24 s, free of charge."""
    done = work_done(monkeypatch)
    curator = clinic.open()
    few = curator.explain(steps_over(AGES, 1, 1), epsilon=1)
    assert [each.measure for each in few.errors if each.measure == "s0"]
    assert done
    many = curator.explain(steps_over(AGES, 10, 16), epsilon=1)
    assert sum(done) <= 2 * intervals._MOST_WORK_BEFOREHAND
    assert any("known with the answer" in note for note in many.notes)


def test_g4_what_names_stand_for_is_simulated_once_for_all_columns(clinic, monkeypatch):
    """Each column had the limit of a question: 707 characters took 14 s, free of charge, and three thousand
    some minutes, again and again.
    """
    simulated = []
    of_one_leaf = intervals.NoisyIntervals._of_one_leaf

    def counted(self, definition, *given, **more):
        simulated.append(size_of(definition).calls)
        return of_one_leaf(self, definition, *given, **more)

    monkeypatch.setattr(intervals.NoisyIntervals, "_of_one_leaf", counted)
    above = [f"c{i + 1} AS (SELECT ward, s / 2 + s / 3 AS s FROM c{i})" for i in range(7)]
    named = ", ".join(f"s + {i} AS s{i}" for i in range(40))
    sql = f"WITH c0 AS (SELECT ward, n AS s FROM ({WARDS})), {', '.join(above)} SELECT {named} FROM c7"
    explained = clinic.open().explain(sql, epsilon=1)
    assert 0 < sum(simulated) <= intervals._MOST_CALLS_BEFOREHAND
    assert any("known with the answer" in note for note in explained.notes)
    simulated.clear()
    monkeypatch.setattr(intervals, "_MOST_CALLS", 2_000)
    answer = clinic.ask(sql, epsilon=1)
    assert 0 < sum(simulated) <= 2_000
    assert "s0" in answer.released.low
    assert "s39" not in answer.released.low


def test_g4_windows_over_joined_answers_are_limited(clinic):
    """Twenty medians over a million rows took 45 s, again and again for one price."""
    sides = f"({MANY}) AS a CROSS JOIN ({MANY}) AS b"
    frame = "ROWS BETWEEN {} PRECEDING AND 100000 FOLLOWING"
    many = " + ".join(f"median(a.n) OVER (ORDER BY b.n {frame.format(i)})" for i in range(20))
    with pytest.raises(QueryRefused, match="Too much is computed"):
        clinic.ask(f"SELECT max(x) AS m FROM (SELECT {many} AS x FROM {sides})")
    assert clinic.open().plan(f"SELECT sum(n) OVER (ORDER BY c) AS s FROM ({DAYS})", epsilon=1)


def joined_to_itself(times):
    more = " ".join(f"JOIN ({AGES}) AS a{i} USING (age)" for i in range(1, times))
    total = " + ".join(f"a{i}.n" for i in range(times))
    return f"SELECT {total} AS s, age FROM ({AGES}) AS a0 {more}"


def test_g4_many_joins_do_not_fail_after_the_charge(clinic):
    """The numbers of pairs of rows left 64 bits: such a question was charged, and never answered."""
    one = clinic.ask(AGES, epsilon=1).released.values["n"]
    sums = clinic.ask(joined_to_itself(20), epsilon=1)
    assert sums["s"].tolist() == pytest.approx([20 * n for n in sums_of(clinic)], rel=1e-9)
    assert len(sums["s"]) == len(one)
    both = clinic.ask(f"SELECT s FROM ({joined_to_itself(20)}) UNION ALL SELECT n FROM ({AGES})", epsilon=1)
    assert len(both["s"]) == 2 * len(one)


def sums_of(clinic):
    return clinic.ask(f"SELECT n + 0 AS n FROM ({AGES})", epsilon=1)["n"].tolist()


@pytest.mark.parametrize(
    ("kind", "constant"), [("LEFT", "r"), ("RIGHT", "l"), ("FULL", "l"), ("FULL", "r"), ("INNER", "l")]
)
def test_g4_rows_that_meet_nothing_are_counted(clinic, kind, constant):
    """All rows of one side meet the same row of the other, whose other rows are left over. Only the larger
    side counted: ten joins made 1,310 rows of 120, and two such tables side by side 1.7 million.
    """
    source = f"(SELECT 1 AS k, n FROM ({AGES}))"
    for _ in range(3):
        sides = (f"{source} AS l", f"({AGES}) AS r")
        left, right = sides if constant == "l" else sides[::-1]
        source = f"(SELECT 1 AS k, coalesce(l.n, r.n) AS n FROM {left} {kind} JOIN {right} ON l.k = r.age)"
    sql = f"SELECT n FROM {source}"
    most = clinic.open().plan(sql, epsilon=1).asked.table.most_rows
    assert len(clinic.ask(sql, epsilon=1)) <= most
