"""`complete = true` in a policy: every row has a value of the column."""

import pytest

from discreet.apps.views.check import _declared
from discreet.errors import PolicyError
from discreet.model.declaration import complete_with_schema
from discreet.model.policy import ValueType
from discreet.policy.reader import read_policy

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 3.0, delta = 0 }

[tables.visits]
source = "visits.csv"
person = "patient"
max_rows = 5
[tables.visits.columns.ward]
keys = ["north", "south"]
complete = SAID

[tables.wards]
source = "wards.csv"
public = true
"""
SCHEMAS = {
    "visits": {"patient": ValueType.INTEGER, "ward": ValueType.TEXT},
    "wards": {"ward": ValueType.TEXT},
}


@pytest.fixture
def read(tmp_path):
    def reading(text):
        path = tmp_path / "discreet.toml"
        path.write_text(text)
        return read_policy(path)

    return reading


@pytest.mark.parametrize("said", ["true", "false"])
def test_it_is_read(read, said):
    dataset = complete_with_schema(read(POLICY.replace("SAID", said)), SCHEMAS)
    assert dataset.tables["visits"].columns["ward"].complete is (said == "true")
    assert not dataset.tables["visits"].columns["patient"].complete
    assert _declared(dataset.tables["visits"].columns["ward"]) == "2 keys" + ", no gaps" * (said == "true")


def test_it_is_refused_where_it_means_nothing(read):
    with pytest.raises(PolicyError) as refused:
        read(POLICY.replace("SAID", "true") + "\n[tables.wards.columns.ward]\ncomplete = true\n")
    assert refused.value.remedy == "Drop complete here."
    with pytest.raises(PolicyError) as refused:
        read(POLICY.replace("SAID", '"yes"'))
    assert refused.value.remedy == "Write complete = true."
