"""Version 0.1 had sizes of files in names of people and in stamps. They are found, and not written again."""

import hashlib
import json
import sqlite3
import warnings
from pathlib import Path

import pytest

import discreet
from discreet.engines.base import source_names
from discreet.engines.base.source_names import FORMERLY
from discreet.errors import LedgerClosed

POLICY = """
[dataset]
name = "{name}"
neighbours = "add_remove"
budget = {{ epsilon = 1, delta = 0 }}
ledger = "books.ledger"

[tables.visits]
source = "{file}"
person = "patient"
max_rows = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "visits.csv").write_text("patient\n" + "\n".join(str(i % 50) for i in range(200)) + "\n")
    return tmp_path


def opened(folder, name="clinic", file="visits.csv"):
    policy = folder / "discreet.toml"
    policy.write_text(POLICY.format(name=name, file=file))
    return discreet.open(policy, analyst="anna")


@pytest.fixture
def of_0_1(folder, monkeypatch):
    """A ledger with what 0.1 wrote, in which all is spent."""
    with monkeypatch.context() as before:
        names, stamps = source_names._names_of_file, source_names.stamps_of

        def with_sizes(*place):
            found = [name for name in names(*place) if not name.startswith("inode ")]
            return {name.removeprefix(FORMERLY) for name in found}

        before.setattr(source_names, "_names_of_file", with_sizes)
        before.setattr("discreet.engines.duckdb.engine.stamps_of", lambda files: stamps(files)[1:])
        with opened(folder) as curator:
            curator.ask("SELECT count(*) AS n FROM visits", epsilon=1)
    return folder


def test_the_names_are_those_of_0_1(of_0_1):
    status = (of_0_1 / "visits.csv").stat()
    name = f"inode {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    digest = hashlib.sha256(json.dumps([name, "patient"]).encode()).hexdigest()
    assert digest in dump(of_0_1 / "books.ledger")


def dump(ledger: Path) -> str:
    with sqlite3.connect(ledger) as connection:
        return "\n".join(connection.iterdump())


def test_g7_another_file_name_and_dataset_are_no_second_budget_after_an_upgrade(of_0_1):
    (of_0_1 / "visits.csv").rename(of_0_1 / "seen.csv")
    with pytest.raises(LedgerClosed, match="have an account already, as dataset 'clinic'"):
        opened(of_0_1, "clinic2", "seen.csv")


def test_g13_files_that_did_not_change_are_not_said_to(of_0_1):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with opened(of_0_1) as curator:
            assert curator.changed_since is None
            assert curator.ask("SELECT count(*) AS n FROM visits", epsilon=1).repeated


def test_no_size_is_written_again(folder):
    with opened(folder) as curator:
        assert any(name.startswith(FORMERLY) for name in curator._engine.names("visits"))
        written = dump(folder / "books.ledger")
        for name in curator._engine.names("visits"):
            digest = hashlib.sha256(json.dumps([name.removeprefix(FORMERLY), "patient"]).encode()).hexdigest()
            assert (digest in written) != name.startswith(FORMERLY)
        present, with_sizes = curator._engine.stamps()
        assert present in written
        assert with_sizes not in written
