"""Bounds of dates in a policy, and what a person sees of them."""

from datetime import date

import duckdb
import pytest

import discreet
from discreet.errors import PolicyError
from discreet.model.declaration import complete_with_schema
from discreet.model.policy import DateBounds, ValueType
from discreet.policy.dummy import write_dummy
from discreet.policy.reader import read_policy

POLICY = """\
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 3.0, delta = 0 }}

[tables.visits]
source = "visits.csv"
person = "patient"
max_rows = 2
max_groups = 2

[tables.visits.columns.day]
{column}
"""


@pytest.fixture
def read(tmp_path):
    def write_and_read(column):
        path = tmp_path / "discreet.toml"
        path.write_text(POLICY.format(column=column), encoding="utf-8")
        return read_policy(path)

    return write_and_read


@pytest.mark.parametrize(
    "bounds", ["[2024-01-01, 2025-12-31]", '["2024-01-01", "2025-12-31"]', '[2024-01-01, "2025-12-31"]']
)
@pytest.mark.parametrize("kind", ["", 'type = "date"\n', 'type = "timestamp"\n', 'format = "%d.%m.%Y"\n'])
def test_dates_or_texts_as_iso_has_them(read, bounds, kind):
    policy = read(f"{kind}bounds = {bounds}")
    declared = policy.columns["visits"]["day"]
    assert declared.days == DateBounds(low=date(2024, 1, 1), high=date(2025, 12, 31))
    assert declared.bounds is None
    expected = ValueType.TIMESTAMP if "timestamp" in kind else ValueType.DATE
    assert declared.implied_type is expected
    assert policy.sources["visits"].implied_types == {"day": expected}


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("bounds = [2024-01-01, 5]", "not two dates"),
        ('bounds = ["2024-01-01", "tomorrow"]', "not two dates"),
        ("bounds = [2024-01-01T00:00:00, 2025-01-01T00:00:00]", "not two dates"),
        ('bounds = ["20240101", "20250101"]', "not two dates"),
        ("bounds = [2025-01-01, 2024-01-01]", "before the last"),
        ("bounds = [2025-01-01, 2025-01-01]", "before the last"),
        ("bounds = [2025-01-01]", "two dates"),
        ('type = "number"\nbounds = [2024-01-01, 2025-12-31]', "number, which has no days"),
        ('type = "date"\nbounds = [1, 2]', "no bounds"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(read, column, says):
    with pytest.raises(PolicyError, match=says) as refused:
        read(column)
    assert "[tables.visits.columns.day]" in str(refused.value)


def test_a_question_from_the_file_to_the_labels(tmp_path):
    days = ["2023-05-01", "2024-07-04", "2030-01-01", "", "x"] * 40
    rows = "".join(f"{i},{day}\n" for i, day in enumerate(days))
    (tmp_path / "visits.csv").write_text(f"patient,day\n{rows}", encoding="utf-8")
    (tmp_path / "discreet.toml").write_text(
        POLICY.format(column="bounds = [2024-06-15, 2024-08-15]").replace("3.0", "1000"), encoding="utf-8"
    )
    with discreet.open(tmp_path / "discreet.toml") as curator:
        sql = "SELECT strftime(day, '%Y-%m') AS month, count(*) AS n FROM visits GROUP BY month"
        answer = curator.ask(sql, epsilon=1000)
        assert answer.rows() == [
            {"month": "2024-06", "n": 40}, {"month": "2024-07", "n": 40}, {"month": "2024-08", "n": 40},
        ]  # fmt: skip
        text = str(answer)
        assert "≤ 2024-06" in text
        assert "≥ 2024-08" in text


def test_made_up_tables_keep_to_the_bounds(tmp_path, read):
    policy = read("bounds = [2024-01-01, 2024-03-31]")
    dataset = complete_with_schema(policy, {"visits": {"patient": ValueType.INTEGER, "day": ValueType.DATE}})
    made = write_dummy(dataset, tmp_path / "dummy", people=50)
    made_up = f"SELECT min(day), max(day) FROM '{tmp_path}/dummy/visits.parquet'"
    (days,) = duckdb.execute(made_up).fetchall()
    assert date(2024, 1, 1) <= days[0] <= days[1] <= date(2024, 3, 31)
    assert read_policy(made).columns["visits"]["day"].days == policy.columns["visits"]["day"].days
