"""The commands, asking a service: the same output as on data that is here."""

import json
import os
import pty
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from discreet.client import stored_login
from discreet.client.stored_login import login_file
from discreet.service.user_account import Role
from tests.client.running import COUNT, make_policy, running_service

from .clinic import run

BY_WARD = "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clinic")


@pytest.fixture(scope="module")
def running(folder):
    with running_service(make_policy(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def token(running):
    return running.add("ana")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, and nothing stored."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def at(running, token):
    return ("--server", running.url, "--token", token)


@pytest.fixture
def signed_in(running, token):
    result = run("login", running.url, "--token", token)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_answers_look_the_same(folder, at, output):
    run("ask", BY_WARD, "--epsilon", 0.1, *at)  # from now on it is repeated, here and there
    remote = run("ask", BY_WARD, "--epsilon", 0.1, *at, "--format", output)
    given = ("--policy", folder / "clinic.toml", "--as", "ana", "--format", output)
    local = run("ask", BY_WARD, "--epsilon", 0.1, *given)
    assert remote.exit_code == 0, remote.output
    assert remote.stdout == local.stdout
    assert remote.stderr == ""


@pytest.mark.parametrize("output", ["table", "json"])
def test_explanations_look_the_same(folder, at, output):
    """Of a question that nobody has asked: a service does not tell what was asked before."""
    sql = BY_WARD.replace("avg(cost)", "sum(age)")
    remote = run("explain", sql, "--epsilon", 0.1, *at, "--format", output)
    given = ("--policy", folder / "clinic.toml", "--as", "ana", "--format", output)
    assert remote.stdout == run("explain", sql, "--epsilon", 0.1, *given).stdout


REPORT = f"""-- The clinic.

-- Wards & costs
{BY_WARD};
{COUNT};
-- title: Days
SELECT day, count(*) AS n FROM visits GROUP BY day;
"""


@pytest.mark.parametrize("output", ["table", "json"])
def test_reports_look_the_same(folder, at, output):
    Path("questions.sql").write_text(REPORT)
    given = ("--policy", folder / "clinic.toml", "--as", "ana")
    asked = ("report", "questions.sql", "--epsilon", 0.5, "--format", output)
    explained = ("report", "-", *asked[2:], "--explain")
    new = REPORT.replace("avg(cost)", "sum(cost)")  # a service does not tell what was asked before
    remote = run(*explained, *at, answer=new)
    assert (remote.exit_code, remote.stderr) == (0, ""), remote.output
    assert remote.stdout == run(*explained, *given, answer=new).stdout
    run(*asked, *at)  # from now on it is repeated, here and there
    remote = run(*asked, *at)
    assert (remote.exit_code, remote.stderr) == (0, ""), remote.output
    assert remote.stdout == run(*asked, *given).stdout
    assert "Wards & costs" in remote.stdout


@pytest.mark.usefixtures("signed_in")
def test_reports_of_a_stored_service_are_written_as_those_of_a_policy(folder, running):
    Path("questions.sql").write_text(REPORT)
    given = ("--policy", folder / "clinic.toml", "--as", "ana")
    run("report", "questions.sql", "--epsilon", 0.5)
    for out in ("page.html", "report.json", "tables/"):
        written = []
        for options in ((), given):
            said = run("report", "questions.sql", "--epsilon", 0.5, "--out", out, *options)
            assert said.exit_code == 0, said.output
            assert "Wrote " in said.stdout
            files = sorted(Path(out).iterdir()) if out.endswith("/") else [Path(out)]
            written.append({file.name: file.read_text() for file in files})
        assert written[0] == written[1]
    assert sorted(written[0]) == ["1-wards-costs.csv", "2.csv", "3-days.csv"]
    piped = run("report", "-", "--epsilon", 0.5, answer=REPORT)
    assert (piped.exit_code, running.url in piped.stderr) == (0, True)
    assert "3. Days" in piped.stdout


@pytest.mark.parametrize(
    ("text", "price", "code", "words"),
    [
        (f"{COUNT};\n-- Doctors\nSELECT doctor FROM visits", 0.1, 2, "Question 2 (Doctors): "),
        (REPORT, 19.9, 3, "is left"),
        ("-- nothing", 0.1, 2, "There is no question in the standard input."),
        (REPORT, None, 2, "Give a price: --epsilon"),
    ],
)
def test_refused_reports_are_the_same(folder, at, text, price, code, words):
    run("ask", COUNT, "--epsilon", 0.2, *at)
    priced = () if price is None else ("--epsilon", price)
    remote = run("report", "-", *priced, *at, answer=text)
    local = run("report", "-", *priced, "--policy", folder / "clinic.toml", "--as", "ana", answer=text)
    assert (remote.exit_code, remote.stderr) == (local.exit_code, local.stderr)
    assert remote.exit_code == code
    assert words in remote.stderr


def test_the_purpose_of_a_report_is_sent_along(running):
    at = ("--server", running.url, "--token", running.add("thorough", approval_above=1))
    assert "what it is for" in run("report", "-", "--epsilon", 2, *at, answer=REPORT).stderr
    waits = run("report", "-", "--epsilon", 2, *at, "--purpose", "a paper", answer=REPORT)
    assert (waits.exit_code, "owner of the data decides" in waits.stderr) == (2, True)
    assert [each.purpose for each in running.service.approvals.all(account="thorough")] == ["a paper"]
    owner = ("--server", running.url, "--token", running.add("olga", Role.OWNER))
    assert run("report", "-", "--epsilon", 2, *owner, "--explain", answer=REPORT).exit_code == 0


def test_the_budget_of_a_service(at):
    run("ask", COUNT, "--epsilon", 0.2, *at)
    found = json.loads(run("budget", *at, "--format", "json").stdout)
    assert found["budget"] == {"epsilon": 20.0}
    assert found["analysts"].keys() == {"ana"}
    shown = run("budget", *at).stdout
    assert "clinic: " in shown
    assert "of it for you" in shown


SYNTH = ("synth", "--columns", "ward,cost", "--bins", "cost=5", "--epsilon", 0.5)


@pytest.mark.parametrize("output", ["table", "json"])
@pytest.mark.parametrize("workload", [False, True])
def test_synthetic_tables_are_explained_in_the_same_words(folder, at, output, workload):
    Path("questions.txt").write_text("marginals 2\n")
    more = ("--workload", "questions.txt") if workload else ()
    shown = (*SYNTH, *more, "--explain", "--format", output)
    local = run(*shown, "--policy", folder / "clinic.toml", "--as", "ana")
    remote = run(*shown, *at)
    assert (remote.exit_code, remote.stdout) == (0, local.stdout), remote.output


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_synthetic_rows_of_a_service(at, ending):
    said = run(*SYNTH, "--rows", 9, "--output", f"new.{ending}", *at)
    assert said.exit_code == 0, said.output
    assert f"9 rows of nobody are in new.{ending}." in said.stdout
    found = duckdb.sql(f"SELECT min(ward), max(cost), count(*) FROM 'new.{ending}'").fetchall()
    ((ward, cost, rows),) = found
    assert ward in ("attic", "north", "south", None)
    assert (cost is None or 0 <= cost <= 100, rows) == (True, 9)
    facts = json.loads(run(*SYNTH, "--rows", 2, "--output", "two.csv", "--format", "json", *at).stdout)
    assert (facts["rows"], facts["charged"]) == (2, {"epsilon": 0.0})
    refused = run(*SYNTH, "--output", "more.csv", "--report", "r.html", *at)
    assert (refused.exit_code, Path("more.csv").exists()) == (2, False)
    assert "--report" in refused.output


@pytest.mark.parametrize(
    ("sql", "price", "code", "words"),
    [
        ("SELECT patient FROM visits", 0.1, 2, "patient"),
        (COUNT, 19.9, 3, "is left"),
    ],
)
def test_refusals_and_exit_codes_are_the_same(folder, at, sql, price, code, words):
    run("ask", COUNT, "--epsilon", 0.2, *at)
    remote = run("ask", sql, "--epsilon", price, *at)
    local = run("ask", sql, "--epsilon", price, "--policy", folder / "clinic.toml", "--as", "ana")
    assert (remote.exit_code, remote.stderr) == (local.exit_code, local.stderr)
    assert remote.exit_code == code
    assert words in remote.stderr


def test_failures_say_what_to_do(at):
    wrong = run("ask", COUNT, "--epsilon", 0.1, *at[:2], "--token", "discreet_wrong")
    assert (wrong.exit_code, "ask the owner" in wrong.stderr) == (2, True)
    nobody = run("ask", COUNT, "--epsilon", 0.1, "--server", "http://127.0.0.1:9", *at[2:])
    assert (nobody.exit_code, "Check the address" in nobody.stderr) == (1, True)
    nameless = run("ask", COUNT, "--epsilon", 0.1, *at, "--dataset", "school")
    assert (nameless.exit_code, "It may use: clinic" in nameless.stderr) == (2, True)
    plain = run("ask", COUNT, "--epsilon", 0.1, "--server", "http://curator.example", *at[2:])
    assert (plain.exit_code, "--insecure" in plain.stderr) == (2, True)
    ported = run("ask", COUNT, "--epsilon", 0.1, "--server", "http://curator.example:8080", *at[2:])
    assert "Use https://curator.example:8080," in ported.stderr
    deeper = run("ask", COUNT, "--epsilon", 0.1, "--server", f"{at[1]}/console", *at[2:])
    assert (deeper.exit_code, "without anything after the port" in deeper.stderr) == (1, True)
    tokenless = run("ask", COUNT, "--epsilon", 0.1, *at[:2])
    assert (tokenless.exit_code, f"discreet login {at[1]}" in tokenless.stderr) == (2, True)


def test_the_token_may_be_in_the_environment(at, monkeypatch):
    monkeypatch.setenv("DISCREET_TOKEN", at[3])
    assert run("ask", COUNT, "--epsilon", 0.2, *at[:2]).exit_code == 0


def test_a_purpose_is_sent_along(running):
    token = running.add("careful", approval_above=1)
    at = ("--server", running.url, "--token", token)
    assert "what it is for" in run("ask", COUNT, "--epsilon", 2, *at).stderr
    waits = run("ask", COUNT, "--epsilon", 2, *at, "--purpose", "a paper")
    assert (waits.exit_code, "owner of the data decides" in waits.stderr) == (2, True)
    assert [each.purpose for each in running.service.approvals.all(account="careful")] == ["a paper"]


def test_login_stores_what_works_and_commands_use_it(running, signed_in):
    assert "You are ana, and may use clinic." in signed_in.output
    mode = stat.S_IMODE(login_file().stat().st_mode)
    assert mode == 0o600
    assert stat.S_IMODE(login_file().parent.stat().st_mode) == 0o700
    asked = run("ask", COUNT, "--epsilon", 0.2, "--format", "json")
    assert json.loads(asked.stdout)["columns"] == ["n"]
    assert running.url in asked.stderr
    assert run("explain", COUNT, "--epsilon", 0.2, "--server", running.url).exit_code == 0
    assert run("budget").exit_code == 0
    assert "Forgotten" in run("logout").output
    assert "nothing to forget" in run("logout").output
    assert "discreet.toml" in run("ask", COUNT, "--epsilon", 0.2).stderr


def test_without_a_policy_and_a_service_both_ways_are_told():
    Path("questions.sql").write_text(REPORT)
    report = ("report", "questions.sql", "--epsilon", 0.2)
    for command in (("ask", COUNT, "--epsilon", 0.2), report, ("budget",), ("tables",)):
        refused = run(*command)
        assert (refused.exit_code, "discreet login URL" in refused.stderr) == (2, True), command
        assert "discreet init" in refused.stderr


@pytest.mark.usefixtures("signed_in")
def test_tables_shows_what_a_service_can_be_asked():
    shown = run("tables").stdout
    assert "visits: a person is patient; max_rows = 2" in shown
    assert "'north', 'south'" in shown
    assert "0 … 100" in shown


def test_login_reads_the_token_from_a_pipe_in_silence(running, token):
    result = run("login", running.url, answer=f" {token}\n")
    assert result.exit_code == 0
    assert result.output.startswith("You are ana")
    assert token not in result.output


def test_login_asks_for_the_token_and_does_not_show_it(running, token):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "discreet", "login", running.url]
    ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(command, **ends, start_new_session=True) as process:
        os.close(theirs)
        said = b""
        while b"while you type" not in said:
            said += os.read(ours, 1024)
        os.write(ours, f"{token}\n".encode())
        with suppress(OSError):  # Linux says so at the end
            while more := os.read(ours, 1024):
                said += more
    os.close(ours)
    assert process.returncode == 0
    assert b"You are ana" in said
    assert token.encode() not in said


def test_login_says_that_nothing_is_there_before_a_token_is_typed():
    for url, words in (
        ("http://127.0.0.1:9", "Nothing answers"),
        ("http://curator.example", "not encrypted"),
    ):
        assert words in run("login", url).stderr


def test_login_stores_nothing_that_does_not_work(running):
    assert run("login", running.url, "--token", "discreet_wrong").exit_code == 2
    assert run("login", "http://127.0.0.1:9", "--token", "discreet_wrong").exit_code == 1
    assert run("login", running.url, "--token", running.add("bo"), "--dataset", "school").exit_code == 2
    assert not login_file().exists()


@pytest.mark.usefixtures("signed_in")
def test_a_stored_token_goes_to_its_own_service_only(monkeypatch):
    other = run("ask", COUNT, "--epsilon", 0.2, "--server", "http://127.0.0.1:9")
    assert "There is no token for http://127.0.0.1:9" in other.stderr
    monkeypatch.setenv("DISCREET_TOKEN", "discreet_of-another-service")
    assert run("ask", COUNT, "--epsilon", 0.2).exit_code == 0  # with the token that was stored


@pytest.mark.usefixtures("signed_in")
def test_a_stored_token_that_others_may_read_is_not_used():
    login_file().chmod(0o644)
    refused = run("ask", COUNT, "--epsilon", 0.2)
    assert (refused.exit_code, "chmod 600" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"url": 5}'])
def test_a_stored_login_that_is_damaged(text):
    login_file().write_text(text)
    refused = run("ask", COUNT, "--epsilon", 0.2)
    assert (refused.exit_code, "discreet login URL" in refused.stderr) == (2, True)
    assert run("logout").exit_code == 0


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(running, token, tmp_path):
    (tmp_path / "config").mkdir(mode=0o500)
    assert "cannot be written" in run("login", running.url, "--token", token).stderr


def test_a_folder_for_settings_that_is_a_file(running, token, tmp_path):
    (tmp_path / "config").write_text("")
    refused = run("login", running.url, "--token", token)
    assert (refused.exit_code, "DISCREET_TOKEN" in refused.stderr) == (2, True)
    assert stored_login.stored_login() is None


@pytest.mark.usefixtures("signed_in")
def test_the_policy_of_this_folder_comes_before_a_stored_service(tmp_path, running):
    before = running.local("ana").budget().spent
    make_policy(tmp_path, "discreet")
    local = run("ask", COUNT, "--epsilon", 7, "--as", "ana")
    assert local.exit_code == 0, local.output
    assert "Uses discreet.toml of this folder" in local.stderr
    assert running.local("ana").budget().spent == before
    login_file().write_text("damaged")
    assert run("ask", COUNT, "--epsilon", 7, "--as", "ana").exit_code == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--server", "http://127.0.0.1:9", "--policy", "clinic.toml"), "not both"),
        (("--server", "http://127.0.0.1:9", "--as", "bo"), "the token says who asks"),
        (("--policy", "clinic.toml", "--dataset", "clinic"), "--dataset is for a service"),
        (("--policy", "clinic.toml", "--token", "discreet_x"), "--token is for a service"),
        (("--policy", "clinic.toml", "--insecure"), "--insecure is for a service"),
        (("--dataset", "clinic"), "--dataset is for a service"),
    ],
)
def test_options_that_do_not_go_together(given, words):
    refused = run("ask", COUNT, "--epsilon", 0.1, *given)
    assert (refused.exit_code, words in refused.stderr) == (2, True)
