"""G7: a second budget for the same people, in one ledger.

All budgets of these tests are spent: whoever is answered all the same has found another one.
"""

import os
import shutil

import duckdb
import pytest

from discreet import DiscreetError, LedgerClosed
from discreet.model.privacy import PureLoss
from tests.attacks.ask import Clinic

COUNT = "SELECT count(*) AS n FROM visits"
SPENT = PureLoss(epsilon=900)
ANOTHER_TABLE = """
[tables.{name}]
source = "{source}"
person = "patient"
max_rows = 1
"""


def change(clinic, *changes, more=""):
    text = clinic.policy.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    clinic.policy.write_text(text + more)


def renamed(clinic, *changes, more="", name="clinic2"):
    change(clinic, ('name = "clinic"', f'name = "{name}"'), *changes, more=more)


def other_file(clinic, name="staff.parquet"):
    duckdb.sql("SELECT range AS patient FROM range(9)").write_parquet(str(clinic.folder / name))
    return ANOTHER_TABLE.format(name=name.split(".")[0], source=name)


def refused(clinic):
    with pytest.raises(LedgerClosed, match="The same people have an account already, as dataset 'clinic'"):
        clinic.ask(COUNT, epsilon=1)


def spent_on(clinic):
    with clinic.open() as curator:
        return curator.budget().spent


@pytest.fixture
def spent(clinic):
    clinic.ask(COUNT, epsilon=900)
    return clinic


def test_g7_another_name_and_another_table(spent):
    renamed(spent, more=other_file(spent))
    refused(spent)


def test_g7_another_name_and_a_table_less(clinic):
    change(clinic, more=other_file(clinic))
    clinic.ask(COUNT, epsilon=900)
    change(clinic, (other_file(clinic), ""))
    renamed(clinic)
    refused(clinic)


def test_g7_another_name_and_other_neighbours(spent):
    renamed(spent, ('"add_remove"', '"replace_one"'))
    refused(spent)


@pytest.mark.parametrize(
    "source",
    [
        "./visits.parquet",
        "visit*.parquet",
        "**/visits.parquet",
        "../{home}/visits.parquet",
        "{folder}/visits.parquet",
    ],
)
def test_g7_another_way_to_the_file(spent, source):
    source = source.format(home=spent.folder.name, folder=spent.folder)
    renamed(spent, ('"visits.parquet"', f'"{source}"'), more=other_file(spent))
    refused(spent)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_g7_a_link_to_the_file(spent, link):
    link(spent.folder / "visits.parquet", spent.folder / "link.parquet")
    renamed(spent, ('"visits.parquet"', '"link.parquet"'), more=other_file(spent))
    refused(spent)


def test_g7_the_file_under_another_name(spent):
    (spent.folder / "visits.parquet").rename(spent.folder / "renamed.parquet")
    renamed(spent, ('"visits.parquet"', '"renamed.parquet"'), more=other_file(spent))
    refused(spent)


def test_g7_one_part_of_a_pattern(spent):
    """Opened for one file; asked again for a pattern in which that is one of several."""
    shutil.copy(spent.folder / "visits.parquet", spent.folder / "visits2.parquet")
    renamed(spent, ('"visits.parquet"', '"visits*.parquet"'))
    refused(spent)


def test_g7_a_table_that_was_taken_out_is_remembered(clinic):
    clinic.ask(COUNT, epsilon=900)
    table = other_file(clinic)
    change(clinic, more=table)
    assert spent_on(clinic) == SPENT  # an owner adds a table: the budget goes on
    text = clinic.policy.read_text()
    only_staff = text[: text.index("[tables.visits]")] + table
    clinic.policy.write_text(only_staff)
    assert spent_on(clinic) == SPENT  # and takes the first one out
    clinic.policy.write_text(only_staff.replace('"clinic"', '"clinic2"'))
    with pytest.raises(LedgerClosed, match="as dataset 'clinic'"):
        spent_on(clinic)
    clinic.policy.write_text(text.replace('"clinic"', '"clinic2"').replace(table, ""))
    refused(clinic)


def test_g7_a_second_dataset_does_not_take_on_people_of_the_first(spent):
    own = spent.policy.read_text()
    table = other_file(spent)
    spent.policy.write_text(own[: own.index("[tables.visits]")].replace('"clinic"', '"staff"') + table)
    assert spent_on(spent) == PureLoss(epsilon=0)  # other people have a budget of their own
    spent.policy.write_text(own.replace('"clinic"', '"staff"') + table)
    refused(spent)
    spent.policy.write_text(own + table)
    with pytest.raises(LedgerClosed, match="as dataset 'staff'"):
        spent.ask(COUNT, epsilon=1)


def test_g7_a_folder_that_moves_as_a_whole_keeps_its_budget(spent, tmp_path):
    moved = tmp_path / "moved"
    shutil.move(spent.folder, moved)
    spent.folder, spent.policy = moved, moved / "clinic.toml"
    assert spent_on(spent) == SPENT
    renamed(spent, more=other_file(spent))
    refused(spent)


def test_g7_new_data_in_the_same_place_keeps_its_budget(spent):
    duckdb.sql(f"COPY (FROM '{spent.folder}/visits.parquet' LIMIT 9) TO '{spent.folder}/new.parquet'")
    (spent.folder / "new.parquet").replace(spent.folder / "visits.parquet")
    assert spent_on(spent) == SPENT
    renamed(spent, more=other_file(spent))
    refused(spent)


def test_g7_the_same_name_for_other_people_is_refused(spent):
    text = spent.policy.read_text()
    spent.policy.write_text(text[: text.index("[tables.visits]")] + other_file(spent))
    with pytest.raises(LedgerClosed, match="for other people"):
        spent_on(spent)


def test_g7_tables_and_views_of_a_database(tmp_path):
    clinic = Clinic(tmp_path / "clinic")
    with duckdb.connect(str(clinic.folder / "c.duckdb")) as database:
        database.execute(f"CREATE TABLE visits AS FROM '{clinic.folder}/visits.parquet'")
        database.execute("CREATE VIEW shown AS FROM visits")
    change(clinic, ('"visits.parquet"', '"c.duckdb#visits"'))
    clinic.ask(COUNT, epsilon=900)
    for other in ("c.duckdb#main.visits", "c.duckdb#VISITS", "c.duckdb#shown"):
        with_other = clinic.policy.read_text()
        renamed(clinic, ('"c.duckdb#visits"', f'"{other}"'), more=other_file(clinic))
        refused(clinic)
        clinic.policy.write_text(with_other)


def test_g7_what_an_account_knows_is_part_of_its_chain(spent):
    change(spent, more=other_file(spent))
    assert spent_on(spent) == SPENT
    with spent.open() as curator:
        curator._ledger.verify()
        kinds = [str(entry.kind) for entry in curator._ledger.entries("clinic")]
    assert kinds == ["opened", "data seen", "charged", "answered", "sources added"]
    assert spent.leaks() == []


def test_g7_opening_again_adds_nothing(spent):
    for _ in range(3):
        spent_on(spent)
    with spent.open() as curator:
        assert len(list(curator._ledger.entries("clinic"))) == 4


def test_g7_a_refusal_by_the_ledger_is_one_of_ours(spent):
    renamed(spent, more=other_file(spent))
    with pytest.raises(DiscreetError) as error:
        spent.ask(COUNT, epsilon=1)
    assert "ledger of its own" in error.value.remedy
    change(spent, ("[dataset]", '[dataset]\nledger = "own.ledger"'))
    assert spent_on(spent) == PureLoss(epsilon=0)
