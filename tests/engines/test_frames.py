"""Tables of pandas, polars and Arrow are used as the files that hold the same rows are."""

import gc
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import discreet
from discreet.errors import DiscreetError, InvalidInput

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 1000, delta = 0 }
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 3
[tables.visits.columns.cost]
bounds = [0, 100]
[tables.visits.columns.ward]
keys = ["north", "south"]
[tables.visits.columns.day]
bounds = [2025-01-01, 2025-12-31]
"""
SQL = "SELECT ward, count(*) AS n, sum(cost) AS s, count(DISTINCT month(day)) AS m FROM visits GROUP BY ward"


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "clinic.toml").write_text(POLICY)
    return tmp_path / "clinic.toml"


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "patient": [i // 3 for i in range(300)],
            "cost": [float(i % 50) if i % 7 else float("nan") for i in range(300)],
            "ward": ["north" if i % 2 else "south" for i in range(300)],
            "day": pd.to_datetime(["2025-03-01", "2025-04-02", None] * 100),
        }
    )


def with_milliseconds(frame):
    return frame.assign(day=frame["day"].astype("datetime64[ms]"))


FORMS = {
    "pandas": lambda frame: frame,
    "pandas, dtypes of its own": lambda frame: frame.convert_dtypes(),
    "categories": lambda frame: frame.assign(ward=frame["ward"].astype("category")),
    "milliseconds": with_milliseconds,
    "an index": lambda frame: frame.set_index(frame["cost"] * 2),
    "polars": lambda frame: __import__("polars").from_pandas(frame),
    "arrow": lambda frame: __import__("pyarrow").Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_answers_as_its_file_does(policy, frame, form):
    """At ε = 300 a count is off, or a sum by 300, less than once in a billion times."""
    given = FORMS[form](frame)
    with discreet.open(policy, tables={"visits": given}) as curator:
        found = curator.ask(SQL, epsilon=300)
    other = policy.parent / "files"
    other.mkdir()
    (other / "clinic.toml").write_text(POLICY)
    duckdb.from_df(frame).write_parquet(str(other / "visits.parquet"))
    with discreet.open(other / "clinic.toml") as curator:
        of_file = curator.ask(SQL, epsilon=301)
    for name in ("n", "m"):
        assert found[name].tolist() == of_file[name].tolist()
    assert found["s"].tolist() == pytest.approx(of_file["s"].tolist(), abs=300)


def test_the_account_is_that_of_the_source(policy, frame):
    with discreet.open(policy, tables={"visits": frame}) as curator:
        curator.ask(SQL, epsilon=300)
    duckdb.from_df(frame).write_parquet(str(policy.parent / "visits.parquet"))
    with discreet.open(policy) as curator:
        assert curator.ask(SQL, epsilon=300).repeated
    more = '[tables.more]\nsource = "visits.parquet"\nperson = "ward"\nmax_rows = 1\n'
    policy.write_text(POLICY.replace('name = "clinic"', 'name = "renamed"') + more)
    frame["patient"] = frame["patient"].astype(str)  # as ids of the other table are
    with (
        pytest.raises(DiscreetError, match=r"same people|same data|account|clinic"),
        discreet.open(policy, tables={"visits": frame}) as curator,
    ):
        curator.ask(SQL, epsilon=300)


def test_what_happens_to_the_frame_later_changes_nothing(policy, frame):
    with discreet.open(policy, tables={"visits": frame}) as curator:
        frame["ward"] = "south"
        frame.iloc[10:, 0] = 0
        assert curator.ask(SQL, epsilon=300)["n"].tolist() == [150, 150]


def test_the_copy_is_gone_when_the_curator_is_closed(policy, frame, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with discreet.open(policy, tables={"visits": frame}):
        (folder,) = place.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert list(folder.glob("*.parquet"))
    assert list(place.iterdir()) == []
    with pytest.raises(InvalidInput):
        discreet.open(policy, tables={"visits": frame.rename(columns={"cost": 7})})
    gc.collect()
    assert list(place.iterdir()) == []


def test_what_is_no_table_is_refused_with_a_remedy(policy, frame):
    cases = {
        "DataFrame of pandas": {"visits": {"patient": [1]}},
        "Rename them": {"visits": frame.rename(columns={"cost": 7})},
        "Rename one": {"visits": frame.rename(columns={"cost": "WARD"})},
        "It has: visits": {"visitors": frame},
    }
    for remedy, tables in cases.items():
        with pytest.raises(InvalidInput, match=remedy):
            discreet.open(policy, tables=tables)


def test_a_policy_whose_source_is_elsewhere_takes_a_frame(policy, frame):
    policy.write_text(POLICY.replace("visits.parquet", "postgresql://nowhere/x#visits"))
    with discreet.open(policy, tables={"visits": frame}) as curator:
        assert curator.ask(SQL, epsilon=300)["n"].tolist() == [150, 150]


def test_only_the_frame_is_copied(policy, frame):
    """The rest of the policy's sources are files, as ever."""
    text = POLICY + '\n[tables.wards]\nsource = "wards.csv"\npublic = true\n'
    policy.write_text(text)
    Path(policy.parent / "wards.csv").write_text("ward,region\nnorth,up\nsouth,down\n")
    with discreet.open(policy, tables={"visits": frame}) as curator:
        sql = "SELECT region, count(*) AS n FROM visits JOIN wards USING (ward) GROUP BY region"
        found = curator.ask(sql, epsilon=300)
        assert found["n"].tolist() == [150, 150]
