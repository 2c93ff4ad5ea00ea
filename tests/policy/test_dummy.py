"""Made-up tables: they fit their policy, they follow from it alone, and what is asked of them is answered."""

from datetime import date

import pytest

import discreet
from discreet.model.neighbours import Neighbours
from discreet.model.policy import (
    Bounds,
    Column,
    Dataset,
    EachRow,
    PersonColumn,
    PrivateTable,
    PublicTable,
    ValueType,
)
from discreet.policy.dummy import dummy_rows, write_dummy

COLUMNS = (
    Column(name="who", type=ValueType.TEXT),
    Column(name="a \"name\", and 'more'", type=ValueType.TEXT, keys=("x'y", 'z"', "ß")),
    Column(name="age", type=ValueType.INTEGER, bounds=Bounds(low=18, high=97)),
    Column(name="cost", type=ValueType.NUMBER, bounds=Bounds(low=-0.5, high=0.5), unit=0.01),
    Column(name="day", type=ValueType.DATE, keys=(date(2024, 1, 1), date(2024, 2, 1))),
    Column(name="moment", type=ValueType.TIMESTAMP),
    Column(name="yes", type=ValueType.BOOLEAN),
)


@pytest.fixture
def dataset():
    columns = {column.name: column for column in COLUMNS}
    visits = PrivateTable(
        name="visits",
        source="secret.parquet",
        person=PersonColumn(name="who"),
        unique=False,
        max_rows=5,
        max_groups=2,
        columns=columns,
    )
    people = PrivateTable(
        name="people", source="p", person=EachRow(), unique=False, max_rows=1, max_groups=1, columns=columns
    )
    wards = PublicTable(name="odd wards", source="w", columns={"age": columns["age"]})
    return Dataset(
        name="clinic",
        neighbours=Neighbours.ADD_REMOVE,
        epsilon=1,
        delta=0,
        analyst_epsilon=1,
        question_epsilon=1,
        tables={"visits": visits, "people": people, "odd wards": wards},
    )


def test_values_are_what_the_policy_allows(dataset):
    rows = dummy_rows(dataset.tables["visits"], 50)
    assert len({row["who"] for row in rows}) == 50
    assert all(18 <= row["age"] <= 97 and -0.5 <= row["cost"] <= 0.5 for row in rows)
    assert {row["day"] for row in rows} == {date(2024, 1, 1), date(2024, 2, 1)}
    by_person = [sum(row["who"] == f"p{i}" for row in rows) for i in range(1, 51)]
    assert (min(by_person), max(by_person)) == (1, 5)


def test_the_same_policy_gives_the_same_rows(dataset):
    assert dummy_rows(dataset.tables["visits"], 9) == dummy_rows(dataset.tables["visits"], 9)


def test_questions_about_them_are_answered(dataset, tmp_path):
    policy = write_dummy(dataset, tmp_path / "try", people=200)
    assert "secret" not in policy.read_text()
    with discreet.open(policy, analyst="ana") as curator:
        tables = curator.dataset.tables
        assert {name: set(table.columns) for name, table in tables.items()} == {
            name: set(table.columns) for name, table in dataset.tables.items()
        }
        assert tables["visits"].columns["cost"] == dataset.tables["visits"].columns["cost"]
        answer = curator.ask(
            "SELECT day, sum(cost) AS s, count(*) AS n FROM visits GROUP BY day", epsilon=100
        )
        assert answer["n"].min() > 100
        assert curator.ask("SELECT count(*) AS n FROM people", epsilon=100).scalar() == pytest.approx(
            200, abs=3
        )


def test_a_folder_that_exists_is_not_touched(dataset, tmp_path):
    with pytest.raises(discreet.InvalidInput, match="exists already"):
        write_dummy(dataset, tmp_path)
    with pytest.raises(discreet.InvalidInput, match="people can be made up"):
        write_dummy(dataset, tmp_path / "new", people=0)
