"""`per_person = true` in a policy: where it may stand, and what is said where it may not."""

import pytest

from discreet.apps.views.check import check_policy
from discreet.errors import PolicyError
from discreet.model.declaration import complete_with_schema
from discreet.model.policy import ValueType
from discreet.policy.reader import read_policy

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 3.0, delta = 1e-6 }

[tables.visits]
source = "visits.csv"
person = "patient"
max_rows = 5

[tables.visits.columns.region]
per_person = true
keys = ["north", "south"]

[tables.people]
source = "people.csv"
person = "patient"
unique = true

[tables.survey]
source = "survey.csv"
person = "row"

[tables.regions]
source = "regions.csv"
public = true
"""
TEXT, INTEGER = ValueType.TEXT, ValueType.INTEGER
SCHEMAS = {
    "visits": {"patient": INTEGER, "region": TEXT, "cost": INTEGER},
    "people": {"patient": INTEGER, "sex": TEXT},
    "survey": {"answer": TEXT},
    "regions": {"region": TEXT},
}


@pytest.fixture
def read(tmp_path):
    def reading(text):
        path = tmp_path / "discreet.toml"
        path.write_text(text)
        return read_policy(path)

    return reading


def test_it_is_read_and_holds_for_the_column_alone(read):
    dataset = complete_with_schema(read(POLICY), SCHEMAS)
    assert dataset.tables["visits"].per_person == {"region"}
    assert not dataset.tables["people"].per_person
    unsaid = complete_with_schema(read(POLICY.replace("per_person = true", "per_person = false")), SCHEMAS)
    assert not unsaid.tables["visits"].per_person


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("people.columns.sex", "every person has one row"),
        ("survey.columns.answer", "every person has one row"),
        ("regions.columns.region", "no people in it"),
        ("visits.columns.patient", "who the person is"),
    ],
)
def test_where_it_says_nothing_it_is_refused_with_what_to_do(read, column, why):
    with pytest.raises(PolicyError) as refused:
        read(f"{POLICY}\n[tables.{column}]\nper_person = true\n")
    assert f"[tables.{column}] per_person" in refused.value.problem
    assert why in refused.value.problem
    assert refused.value.remedy == "Drop per_person here."
    read(f"{POLICY}\n[tables.{column}]\nper_person = false\n")


@pytest.mark.parametrize("value", ['"true"', "1", "[true]", '"smallest"'])
def test_it_is_true_or_false(read, value):
    with pytest.raises(PolicyError, match="true or false") as refused:
        read(POLICY.replace("per_person = true", f"per_person = {value}"))
    assert refused.value.remedy == "Write per_person = true."


def test_check_shows_it(tmp_path, capsys):
    (tmp_path / "visits.csv").write_text("patient,region,cost\n1,north,3\n")
    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY[: POLICY.index("[tables.people]")])
    check_policy(policy)
    assert "2 keys, one a person" in capsys.readouterr().out
