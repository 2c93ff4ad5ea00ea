"""G3: how often public tables are read. A database skips to sort them if nobody meets them, which shows."""

import pytest

from discreet import QueryRefused
from discreet.bounds.work_limits import MOST_PUBLIC_ROWS
from discreet.curator.public_tables import PublicReading
from discreet.learn import LinearRegression
from discreet.model.privacy import PureLoss
from discreet.question.expressions.scope import FanOut

from .test_public_tables import statements_of, wards, with_wards

NOTHING = PureLoss(epsilon=0)
MILLION = 1_000_000


def question(joins, values):
    """Each join reads the table, and does so again for each thing that is counted."""
    joined = "".join(f" JOIN wards AS w{i} ON v.age + {i} = w{i}.beds" for i in range(joins))
    counted = ", ".join(f"count(DISTINCT v.cost + {i}) AS d{i}" for i in range(values))
    return f"SELECT {counted} FROM visits AS v{joined}"


def having(rows, monkeypatch):
    """As if the public table had so many rows."""
    monkeypatch.setattr(PublicReading, "fan_out", lambda *_: FanOut(matches=1, rows=rows))


@pytest.mark.parametrize(("joins", "values"), [(4, 10), (8, 1), (2, 4), (1, 10)])
def test_g3_public_tables_are_read_only_so_often(tmp_path, monkeypatch, joins, values):
    """With four joins and ten values, one row of one person decided between 5 and 26 seconds."""
    clinic = with_wards(tmp_path, wards(north=1))
    having(MILLION, monkeypatch)
    with clinic.open() as curator:
        for asked in (curator.ask, curator.explain, curator.plan):
            with pytest.raises(QueryRefused, match="rows of public tables") as refused:
                asked(question(joins, values), epsilon=1)
            assert "“wards”" in refused.value.remedy
    assert clinic.spent() == NOTHING


@pytest.mark.parametrize(("joins", "values", "rows"), [(1, 1, MILLION), (2, 1, MILLION), (4, 10, 10_000)])
def test_g3_ordinary_joins_with_public_tables_are_answered(tmp_path, monkeypatch, joins, values, rows):
    clinic = with_wards(tmp_path, wards(north=1))
    having(rows, monkeypatch)
    clinic.ask(question(joins, values))


def test_g3_grouping_sets_read_public_tables_anew(tmp_path, monkeypatch):
    clinic = with_wards(tmp_path, wards(north=1))
    having(2 * MILLION, monkeypatch)
    sql = "SELECT v.ward, w.beds = 1 AS one, count(*) AS n FROM visits AS v JOIN wards AS w ON v.age = w.beds"
    with clinic.open() as curator:
        curator.explain(f"{sql} GROUP BY v.ward, one", epsilon=1)
        with pytest.raises(QueryRefused, match="rows of public tables"):
            curator.explain(f"{sql} GROUP BY CUBE (v.ward, one)", epsilon=1)


def test_g3_learning_from_rows_reads_public_tables_only_so_often(tmp_path, monkeypatch):
    clinic = with_wards(tmp_path, wards(north=1))
    having(MOST_PUBLIC_ROWS + 1, monkeypatch)
    sql = "SELECT v.age, v.cost FROM visits AS v JOIN wards AS w ON v.age = w.beds"
    with clinic.open() as curator:
        with pytest.raises(QueryRefused, match="rows of public tables"):
            curator.explain_synthesis(sql, epsilon=1)
        with pytest.raises(QueryRefused, match="rows of public tables"):
            curator.explain_fit(LinearRegression(), sql, epsilon=1)


def test_g3_all_rows_of_a_public_table_are_counted_with_its_fan_out(tmp_path, monkeypatch):
    """Those without a value meet nobody, but are sorted too. One statement counts both, once."""
    clinic = with_wards(tmp_path, f"{wards(north=3, south=2)} UNION ALL SELECT NULL, range FROM range(50)")
    with clinic.open() as curator:
        ran = statements_of(curator, monkeypatch)
        for _ in range(2):
            plan = curator.plan("SELECT count(*) FROM visits AS v JOIN wards AS w USING (ward)", epsilon=1)
            assert (plan.bounded.query.source.matches, plan.bounded.query.source.table_rows) == (3, 55)
        assert len(ran) == 1
