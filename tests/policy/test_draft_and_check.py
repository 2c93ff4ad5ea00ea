"""From a file to a checked policy, as an owner goes."""

import os
import re
import time

import duckdb
import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.apps.views.check import warnings
from discreet.model.declaration import complete_with_schema
from discreet.model.policy import ValueType
from discreet.policy.reader import read_policy

CANARY = "canary-77d0"


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = (
        f"i % 10 AS patient_id, i / 2 AS cost, '{CANARY}' AS ward, DATE '2020-01-01' AS day, [i] AS list"
    )
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT {columns} FROM range(50) AS r(i)")
        connection.execute("COPY visits TO 'visits.parquet'")
        connection.execute("COPY (SELECT * EXCLUDE list FROM visits) TO 'visits.csv'")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert CANARY not in result.output
    return result


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def edit(old, new, path="discreet.toml"):
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  the current folder is the test's
        text = file.read()
    assert old in text
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text.replace(old, new, 1))


@pytest.mark.parametrize("data", ["visits.parquet", "visits.csv", "vis*.parquet", "clinic.duckdb#visits"])
def test_init_writes_a_policy_that_checks(clinic, data):
    result = run("init", data, "--person", "patient_id")
    assert result.exit_code == 0
    for left in ("budget", "max_rows", "cost", "ward"):
        assert left in result.output
    assert ("guessed" in result.output) == data.endswith(".csv")
    text = (clinic / "discreet.toml").read_text()
    assert ("guessed" in text) == data.endswith(".csv")
    assert CANARY not in text
    checked = run("check")
    assert checked.exit_code == 0
    assert "SUM and AVG will be refused: cost" in " ".join(checked.output.split())
    assert ("list" in checked.output) == (not data.endswith(".csv"))


@pytest.mark.usefixtures("clinic")
def test_the_draft_becomes_a_full_policy_by_filling_in_what_it_asks_for():
    run("init", "visits.csv", "--person", "patient_id")
    edit("# bounds = [LOW, HIGH]", "bounds = [0, 500]")
    edit("max_rows = 10", "max_rows = 5")
    edit('# keys = ["…", "…"]', 'keys = ["north", "south"]')
    output = run("check").output
    assert "refused" not in output
    for shown in ("0 to 500", "2 keys", "sum, avg", "max_rows 5", "count people"):
        assert shown in output


def test_the_draft_says_what_max_rows_does_and_follows_from_no_row(clinic):
    run("init", "visits.parquet", "--person", "patient_id")
    first = (clinic / "discreet.toml").read_text()
    assert "max_rows = 10" in first
    assert "weighed down, so that together they count as this many" in first.replace("\n# ", " ")
    assert "follows from no data" in first
    (clinic / "discreet.toml").unlink()
    duckdb.execute("COPY (SELECT * REPLACE (1 AS patient_id) FROM 'visits.parquet') TO 'other.parquet'")
    (clinic / "other.parquet").rename(clinic / "visits.parquet")
    run("init", "visits.parquet", "--person", "patient_id")
    assert [line for line in (clinic / "discreet.toml").read_text().splitlines() if "max_" in line] == [
        line for line in first.splitlines() if "max_" in line
    ]


def test_check_says_what_the_profile_found_or_that_there_is_none(clinic):
    """With people by ε = 0.5 there is hardly any noise beside 4,000 people: chance decides nothing."""
    duckdb.execute(
        "COPY (SELECT p AS patient_id, p % 40 AS cost FROM range(4000) AS r(p), range(4) AS s(v)"
        " WHERE v = 0 OR p % 10 = 0) TO 'many.parquet'"
    )
    run("init", "many.parquet", "--person", "patient_id")
    edit("# bounds = [LOW, HIGH]", "bounds = [0, 29]")
    edit("max_rows = 10", "max_rows = 2")
    assert "no profile of “many”" in " ".join(run("check").output.split())
    assert not list(clinic.glob("*.ledger"))  # looking makes none
    assert run("profile", "--epsilon", "0.5").exit_code == 0
    output = " ".join(run("check").output.split())
    assert "no profile" not in output
    assert re.search(r"About 1[3-8]\.\d% of all rows are beyond max_rows = 2", output)  # 800 of 5,200
    assert re.search(r"2[2-8]% ± \d% of people have a cost that is above its bounds", output)
    edit("max_rows = 2", 'max_rows = 2\nlimits = "facts"')
    assert "profile" not in run("check").output


def test_a_person_a_row(clinic):
    run("init", "visits.parquet", "--person", "row")
    assert "max_rows" not in (clinic / "discreet.toml").read_text()
    assert "every row is a person" in run("check").output


def test_init_never_overwrites(clinic):
    (clinic / "discreet.toml").write_text("mine")
    assert "exists already" in refused("init", "visits.parquet", "--person", "patient_id")
    assert (clinic / "discreet.toml").read_text() == "mine"


def test_init_into_another_folder_keeps_the_source_reachable(clinic):
    (clinic / "policies").mkdir()
    run("init", "visits.parquet", "--person", "patient_id", "--out", "policies/clinic.toml")
    assert 'source = "../visits.parquet"' in (clinic / "policies/clinic.toml").read_text()
    assert run("check", "--policy", "policies/clinic.toml").exit_code == 0
    absolute = str(clinic / "visits.parquet")
    run("init", absolute, "--person", "patient_id", "--out", "policies/absolute.toml")
    assert run("check", "--policy", "policies/absolute.toml").exit_code == 0


@pytest.mark.usefixtures("clinic")
def test_unicode_and_quotes_in_names():
    with duckdb.connect() as connection:
        connection.execute('COPY (SELECT 1 AS "Größe ""x"".y", 2 AS "ид") TO \'Bögen "2".parquet\'')
    assert run("init", 'Bögen "2".parquet', "--person", "ид").exit_code == 0
    result = run("check")
    assert result.exit_code == 0
    assert 'Größe "x".y' in result.output


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["visits.parquet", "--person", "patientid"], "“patient_id”"),
        (["visits.parquet", "--person", "list"], "no usable column"),
        (["none.parquet", "--person", "x"], "no file"),
        (["none*.csv", "--person", "x"], "no file"),
        (["visits.parquet"], "--person"),
        (["clinic.duckdb", "--person", "x"], "FILE.duckdb#TABLE"),
        (["clinic.duckdb#none", "--person", "x"], "table in it exists"),
        (["visits.parquet", "--person", "patient_id", "--out", "no/such/folder/x.toml"], "cannot be written"),
    ],
)
def test_mistakes_at_init(clinic, arguments, hint):
    assert hint in refused("init", *arguments)
    assert not (clinic / "discreet.toml").exists()


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("visits.parquet", "visit.parquet", "no file “visit.parquet”"),
        ("visits.parquet", "*.none.csv", "no file"),
        ("[tables.visits.columns.cost]", "[tables.visits.columns.csot]", "“cost”"),
        ('person = "patient_id"', 'person = "patient"', "“patient_id”"),
        ('person = "patient_id"', 'person = "cost"', "does not identify a person"),
        ('# type = "number"', 'type = "date"', "is number in its source, not date"),
        ('# keys = ["…", "…"]', "keys = [1, 2]", "type, text"),
        ('# keys = ["…", "…"]', 'type = "integer"\nkeys = [1, 2]', "is text in its source, not integer"),
        ('# keys = ["…", "…"]', "bounds = [0, 1]", "no bounds"),
        ("# bounds = [LOW, HIGH]", "bounds = [9, 1]", "below"),
        ("max_rows = 10", "maxrows = 10", "“max_rows”"),
        ("[dataset]", "[dataset", "line 4"),
    ],
)
def test_mistakes_in_the_policy(old, new, hint):
    run("init", "visits.parquet", "--person", "patient_id")
    edit(old, new)
    assert hint in refused("check")


@pytest.mark.usefixtures("clinic")
def test_a_source_whose_schema_changed():
    run("init", "visits.parquet", "--person", "patient_id")
    edit("# bounds = [LOW, HIGH]", "bounds = [0, 500]")
    assert run("check").exit_code == 0
    duckdb.execute("COPY (SELECT 1 AS patient_id, 'a' AS ward, 5 AS price) TO 'visits.parquet'")
    assert "“cost”" in refused("check")
    duckdb.execute("COPY (SELECT 1 AS patient_id, 'a' AS ward, 'x' AS cost) TO 'visits.parquet'")
    assert "no bounds" in refused("check")


@pytest.mark.usefixtures("clinic")
def test_check_without_a_policy():
    assert "discreet init" in refused("check")
    assert "There is no policy" in refused("check", "--policy", "other.toml")


def test_check_says_of_which_columns_the_keys_are_public(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = "1 AS id, 2 AS age, 3 AS code, true AS urgent, 4.5 AS cost"
    duckdb.execute(f"COPY (SELECT {columns}) TO 'visits.parquet'")
    run("init", "visits.parquet", "--person", "id")
    age = "[tables.visits.columns.age]\n"
    edit(age, f"{age}bounds = [0, 110]\n")
    found = [line.split(maxsplit=2) for line in run("check").output.splitlines()]
    asked = {cells[0]: cells[2].strip() for cells in found if len(cells) == 3}
    assert asked["age"].endswith("count, filter, group, sum, avg, quantiles")
    assert asked["code"] == "count, filter, group (private keys)"
    assert asked["urgent"] == "count, filter, group"
    assert asked["cost"] == "count, filter"


@pytest.mark.usefixtures("clinic")
def test_warnings():
    run("init", "visits.parquet", "--person", "patient_id")
    schemas = {"visits": {"patient_id": ValueType.INTEGER, "cost": ValueType.NUMBER, "ward": ValueType.TEXT}}

    def told():
        return "\n".join(warnings(complete_with_schema(read_policy("discreet.toml"), schemas)))

    assert "one over the number of people" in told()
    assert "above 1e-5" not in told()
    edit("delta = 1e-6", "delta = 1e-4")
    assert "above 1e-5" in told()
    edit("delta = 1e-4", "delta = 0")
    assert "δ" not in told()
    assert "together count as one" not in told()
    edit("max_rows = 10", "max_rows = 1")
    assert "max_rows = 1 in “visits”: all rows of a person together count as one" in told()
    assert "max_groups" not in told()
    edit("max_rows = 1", "max_rows = 3\nmax_groups = 1")
    assert "max_groups = 1 in “visits”: a person in several groups counts less" in told()
    assert "max_rows" not in told()
    edit("max_rows = 3\nmax_groups = 1", "unique = true")
    assert "count as one" not in told()
    assert "your word" in told()
    assert "well-formed" not in told()
    edit("unique = true", "unique = true\nwell_formed = true")
    assert "well-formed is your word" in told()
    assert "group (private keys)" not in run("check").output


def test_check_reads_no_row_and_init_reads_none_of_parquet(clinic):
    """Every page is garbage, only the footer is whole."""
    path = clinic / "visits.parquet"
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\xff" * (len(content) - footer - 4)
    path.write_bytes(content)
    os.utime(path, (time.time(), time.time()))
    assert run("init", "visits.parquet", "--person", "patient_id").exit_code == 0
    assert run("check").exit_code == 0
