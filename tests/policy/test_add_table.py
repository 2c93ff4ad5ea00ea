"""`discreet init` adds a table to a policy, writes wide tables short, and knows whole numbers of pandas."""

import tomllib

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.engines.open_engine import schema_of
from discreet.model.policy import ValueType

OWN = """# Mine.
[dataset]
name = "clinic"   # as everybody calls it
neighbours = "add_remove"
budget = { epsilon = 1, delta = 0 }

[tables.visits]
source = "visits.csv"
person = "patient"
max_rows = 3
columns.patient = { type = "integer" }"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("patient,cost\n1,2.5\n2,3.5\n")
    (tmp_path / "labs.csv").write_text("patient,value,day\n1,2.5,2024-03-17\n2,3.5,2024-05-01\n")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def tables(policy):
    return list(tomllib.loads(policy.read_text())["tables"])


@pytest.mark.parametrize("before", [OWN, f"{OWN}\n", OWN.replace("\n", "\r\n") + "\r\n", f"\n{OWN}\n\n# end"])
def test_every_byte_of_the_owner_stays(folder, before):
    policy = folder / "mine.toml"
    policy.write_bytes(before.encode())
    told = run("init", "labs.csv", "--person", "patient", "--policy", "mine.toml").output
    text = policy.read_bytes()
    assert text.startswith(before.encode())
    assert b"\r\n" not in text or b"\n" not in text.replace(b"\r\n", b"")
    assert tables(policy) == ["visits", "labs"]
    assert run("check", "--policy", "mine.toml").exit_code == 0
    assert "Added the table “labs” to mine.toml." in told
    assert "value" in told
    assert "the budget" not in told
    assert "discreet check --policy mine.toml" in told


def test_a_name_that_exists_is_refused_and_the_remedy_works(folder):
    (folder / "discreet.toml").write_text(OWN)
    call = ("init", "visits.csv", "--person", "patient", "--policy", "discreet.toml")
    assert "has a table “visits” already" in refused(*call)
    assert "--table NAME" in refused(*call)
    assert (folder / "discreet.toml").read_text() == OWN
    assert run(*call, "--table", "visits 2").exit_code == 0
    assert tables(folder / "discreet.toml") == ["visits", "visits 2"]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (None, "cannot be read"),
        ("[dataset", "is not TOML"),
        ('tables = { visits = { source = "visits.csv", person = "row" } }\n', "one place"),
    ],
)
def test_what_is_no_policy_is_refused_and_stays(folder, policy, told):
    path = folder / "other.toml"
    if policy is not None:
        path.write_text(policy)
    assert told in refused("init", "labs.csv", "--person", "patient", "--policy", "other.toml")
    assert (path.read_text() if path.exists() else None) == policy


def test_one_of_the_two_is_given(folder):
    assert "--out to write a new policy" in refused(
        "init", "labs.csv", "--person", "patient", "--policy", "a.toml", "--out", "b.toml"
    )
    assert run("init", "labs.csv", "--person", "patient", "--table", "tests").exit_code == 0
    assert tables(folder / "discreet.toml") == ["tests"]


def test_a_source_is_named_from_where_the_policy_is(folder):
    (folder / "policies").mkdir()
    (folder / "policies/mine.toml").write_text(OWN.replace('"visits.csv"', '"../visits.csv"'))
    run("init", "labs.csv", "--person", "patient", "--policy", "policies/mine.toml")
    assert 'source = "../labs.csv"' in (folder / "policies/mine.toml").read_text()
    assert run("check", "--policy", "policies/mine.toml").exit_code == 0


# Wide tables


def test_a_wide_table_has_a_line_for_each_column(folder):
    names = [f"answer {i}" for i in range(58)]
    rows = [",".join(["7", "2024-03-17", *["3"] * 58]), ",".join(["8", "2024-05-01", *["yes"] * 58])]
    (folder / "wide.csv").write_text("\n".join([",".join(["patient", "day", *names]), *rows]) + "\n")
    assert run("init", "wide.csv", "--person", "patient").exit_code == 0
    text = (folder / "discreet.toml").read_text()
    assert len(text.splitlines()) < 60 + 40
    assert len(tomllib.loads(text)["tables"]["wide"]["columns"]) == 60
    assert run("check").exit_code == 0
    filled = text.replace(
        'day = { type = "date" }', 'day = { type = "date", bounds = [2024-01-01, 2024-12-31] }'
    )
    assert filled != text
    (folder / "discreet.toml").write_text(filled)
    assert "2024-01-01 to 2024-12-31" in run("check").output


def test_a_wide_table_with_types_of_its_own_declares_nothing_by_itself(folder):
    import duckdb

    columns = ", ".join(f"i AS n{i}" for i in range(60))
    duckdb.execute(f"COPY (SELECT {columns} FROM range(3) AS r(i)) TO 'wide.parquet'")
    run("init", "wide.parquet", "--person", "n0")
    text = (folder / "discreet.toml").read_text()
    assert "# n7 = { bounds = [LOW, HIGH] }" in text
    assert "# n0" not in text
    assert run("check").exit_code == 0
    (folder / "discreet.toml").write_text(
        text.replace("# n7 = { bounds = [LOW, HIGH] }", "n7 = { bounds = [0, 9] }")
    )
    assert run("check").exit_code == 0
    assert "0 to 9" in run("check").output


# Whole numbers of pandas


def test_whole_numbers_that_are_written_as_floats_are_integers_and_flags(folder):
    (folder / "survey.csv").write_text(
        "patient,born,smokes,cost,weight,none\n1.0,1999.0,0.0,2.0,70.5,\n2.0,,1.0,3.,81.0,\n3.0,2001.0,,-4.0,,\n"
    )
    found = schema_of("survey.csv", folder)
    integers = {name for name, kind in found.types.items() if kind is ValueType.INTEGER}
    assert integers == {"patient", "born", "smokes", "cost"}
    assert found.whole == integers
    assert found.flags == {"smokes"}
    run("init", "survey.csv", "--person", "patient")
    text = (folder / "discreet.toml").read_text()
    assert text.count("# written as 1.0") == 4
    assert text.count("# keys = [0, 1]") == 1
    (folder / "discreet.toml").write_text(text.replace("# keys = [0, 1]", "keys = [0, 1]"))
    assert run("check").exit_code == 0


def test_they_are_read_as_what_they_are(folder):
    """Of 600 people 200 smoke. At ε = 20 the noise of a count is beyond 10 with probability below e⁻¹⁰⁰."""
    import discreet

    rows = "".join(f"{i}.0,{float(i % 3 == 0)}\n" for i in range(600))
    (folder / "survey.csv").write_text(f"patient,smokes\n{rows}")
    run("init", "survey.csv", "--person", "patient")
    text = (folder / "discreet.toml").read_text().replace("# keys = [0, 1]", "keys = [0, 1]")
    text = text.replace("max_rows = 10", "max_rows = 1").replace(
        "epsilon = 1.0, delta = 1e-6", "epsilon = 20, delta = 0"
    )
    (folder / "discreet.toml").write_text(text)
    with discreet.open("discreet.toml", analyst="ann") as curator:
        answer = curator.ask("SELECT smokes, count(*) AS n FROM survey GROUP BY smokes", epsilon=20)
    assert [abs(n - wanted) < 10 for n, wanted in zip(answer["n"], (400, 200), strict=True)] == [True, True]
