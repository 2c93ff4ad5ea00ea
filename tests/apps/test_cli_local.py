"""Local privacy on the command line, as owners, devices and collectors meet it."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date, timedelta

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.errors import InvalidInput
from discreet.local.batch import read_batch, write_batch
from discreet.local.collector.store import Collector
from discreet.local.signing import key_in, open_signed
from discreet.local.survey_file import SURVEY_SETTINGS, read_survey_toml, template
from tests.local.collector.processes import Sender, running, stopped
from tests.local.collector.surveys import batches_of, reports_of

TOML = f"""
name = "health"
epoch = 2
expires = {date.today() + timedelta(days=30)}

[questions.smokes]
text = "Do you smoke?"
options = ["no", "yes"]
epsilon = 1

[questions.town]
text = "Where do you live?"
options = 1000
epsilon = 2.5
refresh = "epoch"

[questions.sleep]
text = "How many hours do you sleep?"
lower = 0
upper = 24
steps = 24
epsilon = 0.5
"""


def run(*arguments):
    return CliRunner().invoke(main, ["local", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.toml").write_text(TOML)
    return tmp_path


@pytest.fixture
def key(folder):
    """Of a survey that is made."""
    assert run("new", "survey.toml").exit_code == 0
    return key_in((folder / "survey.json").read_text())


@pytest.fixture
def survey(folder, key):
    return open_signed((folder / "survey.json").read_text(), key=key)


def collected(survey, folder, count, *, answers=(0, 1, 12)):
    with Collector(folder, survey) as collector:
        for place, answer in enumerate(answers):
            sent = reports_of(survey, place, np.full(count, answer))
            collector.add(write_batch(survey, [(place, report) for report in sent]))


def test_help_does_not_load_what_it_does_not_need():
    heavy = "[name for name in ('rich', 'starlette', 'uvicorn', 'duckdb') if name in sys.modules]"
    code = f"import sys; from discreet.apps.commands.local import local; print({heavy})"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_a_new_survey_is_signed_and_shown(folder):
    result = run("new", "survey.toml")
    assert result.exit_code == 0, result.output
    key = key_in((folder / "survey.json").read_text())
    assert key in result.output
    for word in (
        "smokes",
        "subset",
        "projective",
        "number",
        "5.9 points",
        "1.9 points",
        "0.59 points",
        "ε = 4",
    ):
        assert word in result.output
    survey = open_signed((folder / "survey.json").read_text(), key=key)
    assert (survey.name, survey.epoch, len(survey.questions)) == ("health", 2, 3)
    assert survey.questions[1].refresh == "epoch"
    assert survey.questions[2].mechanism.steps == 24


def test_the_key_is_its_owners_and_is_kept(folder):
    run("new", "survey.toml")
    secret = (folder / "survey.key").read_bytes()
    assert (folder / "survey.key").stat().st_mode & 0o777 == 0o600
    (folder / "survey.toml").write_text(TOML.replace("epoch = 2", "epoch = 3"))
    refused = run("new", "survey.toml")
    assert refused.exit_code == 2
    assert "not overwritten" in refused.output
    assert run("new", "survey.toml", "--output", "next.json").exit_code == 0
    assert (folder / "survey.key").read_bytes() == secret
    keys = {key_in((folder / name).read_text()) for name in ("survey.json", "next.json")}
    assert len(keys) == 1


def test_to_make_the_same_survey_again_changes_nothing(folder):
    run("new", "survey.toml")
    before = (folder / "survey.json").read_bytes()
    assert run("new", "survey.toml").exit_code == 0
    assert (folder / "survey.json").read_bytes() == before


@pytest.mark.parametrize(
    "content", ["", "not a key", "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----"]
)
def test_a_file_that_is_no_key_is_refused_and_left_alone(folder, content):
    (folder / "survey.key").write_text(content)
    result = run("new", "survey.toml")
    assert result.exit_code == 2
    assert "--signing-key" in result.output
    assert (folder / "survey.key").read_text() == content
    assert not (folder / "survey.json").exists()


def test_the_template_is_a_survey(folder):
    assert run("new", "mine.toml", "--template").exit_code == 0
    assert (folder / "mine.toml").read_text() == template()
    assert run("new", "mine.toml").exit_code == 0
    again = run("new", "mine.toml", "--template")
    assert again.exit_code == 2
    assert "not overwritten" in again.output


def test_the_template_names_every_setting_but_steps():
    settings = {setting for section in SURVEY_SETTINGS.values() for setting in section}
    assert [name for name in sorted(settings) if name not in template()] == ["steps"]


def test_without_a_file_the_template_is_offered(folder):
    (folder / "survey.toml").unlink()
    result = run("new", "survey.toml")
    assert result.exit_code == 2
    assert "--template" in result.output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "health"', "", "“name” is missing"),
        ('name = "health"', 'name = "Health survey"', "lower-case"),
        ("epoch = 2", "epoch = 0", "line 3"),
        ("epoch = 2", 'epoc = "2"', "epoc"),
        ("expires = ", "expires = 5 #", "must be a day"),
        ("expires = ", 'expires = "soon" #', "must be a day"),
        ("expires = ", "expires = 2020-01-01 #", "past"),
        ("expires = ", 'expires = "2020-01-01" #', "past"),
        ('options = ["no", "yes"]', 'options = ["no"]', "options"),
        ('options = ["no", "yes"]', "options = []", "options"),
        ('options = ["no", "yes"]', "options = [1, 2]", "list of texts"),
        ('options = ["no", "yes"]', "options = true", "whole number"),
        ('options = ["no", "yes"]', 'options = ["no", "no"]', "twice"),
        ('options = ["no", "yes"]', "", "lower"),
        ('options = ["no", "yes"]', 'options = ["no", "yes"]\nlower = 1', "for a number"),
        ("options = 1000", "options = 1", "options"),
        ("options = 1000", "options = 10000000000", "options"),
        ("epsilon = 1\n", "", "“epsilon” is missing"),
        ("epsilon = 1\n", "epsilon = 0\n", "epsilon"),
        ("epsilon = 1\n", "epsilon = 17\n", "epsilon"),
        ("epsilon = 1\n", "epsilon = 0.12345678\n", "six decimals"),
        ("epsilon = 1\n", 'epsilon = "1"\n', "epsilon"),
        ('refresh = "epoch"', 'refresh = "epok"', "Did you mean “epoch”"),
        ("upper = 24", "upper = 0", "lower"),
        ("upper = 24", "upper = nan", "bounds"),
        ("upper = 24", 'upper = "24"', "must be a number"),
        ("upper = 24", "upper = 1e999", "bounds"),
        ("steps = 24", "steps = 100000000", "steps"),
        ('text = "Do you smoke?"', "", "“text” is missing"),
        ("[questions.smokes]", "[questions.Smokes]", "lower-case"),
        ("[questions.smokes]", "[questionz.smokes]", "questionz"),
        ("[questions.smokes]", "[questions.smokes", "not TOML"),
    ],
)
def test_a_mistake_in_a_survey_is_said_with_its_place(tmp_path, old, new, said):
    assert old in TOML
    (tmp_path / "survey.toml").write_text(TOML.replace(old, new, 1))
    with pytest.raises(InvalidInput) as refused:
        read_survey_toml(tmp_path / "survey.toml")
    assert said in str(refused.value)
    assert "survey.toml" in refused.value.problem
    assert refused.value.remedy


def test_a_survey_is_shown_with_and_without_its_key(key):
    checked = run("show", "survey.json", "--key", key)
    assert "Signed by the key" in checked.output
    unchecked = run("show", "survey.json")
    assert key in unchecked.output
    assert "somebody you trust" in unchecked.output
    for wrong in ("00" * 32, "zz", ""):
        refused = run("show", "survey.json", "--key", wrong)
        assert refused.exit_code == 2
        assert "not signed by the key" in refused.output


def test_a_changed_survey_is_refused_everywhere(folder, key):
    text = (folder / "survey.json").read_text()
    (folder / "survey.json").write_text(text.replace("Do you smoke?", "Do you drink?"))
    for command in (
        ("show", "survey.json", "--key", key),
        (
            "answer",
            "survey.json",
            "--key",
            key,
            "--memory",
            "m",
            "--limit",
            "5",
            "smokes=no",
            "--output",
            "b",
        ),
        ("collect", "survey.json", "--key", key, "--folder", "reports"),
        ("estimate", "survey.json", "--key", key, "reports"),
    ):
        refused = run(*command)
        assert refused.exit_code == 2
        assert "not signed by the key" in refused.output
    assert sorted(path.name for path in folder.iterdir()) == ["survey.json", "survey.key", "survey.toml"]


def answer(key, *arguments):
    return run("answer", "survey.json", "--key", key, "--memory", "device", *arguments)


def test_a_device_answers_once_and_repeats(folder, key, survey):
    first = answer(key, "--limit", "5", "smokes=no", "sleep=7.5", "town=12", "--output", "one")
    assert first.exit_code == 0, first.output
    assert "ε = 4" in first.output
    second = answer(key, "smokes=yes", "sleep=1", "town=999", "--output", "two")
    assert "ε = 4" in second.output
    reports = [read_batch((folder / name).read_bytes(), survey).reports for name in ("one", "two")]
    for place in range(3):
        assert reports[0][place].tobytes() == reports[1][place].tobytes()
        assert reports[0][place].tobytes().hex() in first.output


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("smokes=no", "--output", "b"), "--limit 5", 2),
        (("--limit", "5", "smokes=maybe", "--output", "b"), "not an option", 2),
        (("--limit", "5", "smokes", "--output", "b"), "QUESTION=ANSWER", 2),
        (("--limit", "5", "smokes=no", "smokes=yes", "--output", "b"), "twice", 2),
        (("--limit", "5", "drinks=no", "--output", "b"), "It asks: smokes", 2),
        (("--limit", "5", "town=north", "--output", "b"), "must be a number", 2),
        (("--limit", "5", "town=1000", "--output", "b"), "between", 2),
        (("--limit", "5", "sleep=much", "--output", "b"), "must be a number", 2),
        (("--limit", "5", "sleep=nan", "--output", "b"), "must be a number", 2),
        (("--limit", "2", "town=1", "--output", "b"), "may give away 2 more", 3),
        (("--limit", "5", "smokes=no"), "--to URL", 2),
        (("--limit", "5", "smokes=no", "--to", "ftp://x"), "http://", 2),
        (("--limit", "5", "smokes=no", "--output", "survey.toml"), "cannot be written", 2),
    ],
)
def test_a_device_says_why_it_does_not_answer(key, arguments, said, code):
    result = answer(key, *arguments)
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_a_device_that_lost_its_memory_does_not_answer(folder, key):
    answer(key, "--limit", "5", "smokes=no", "--output", "one")
    (folder / "device").write_text("{")
    result = answer(key, "--limit", "5", "smokes=no", "--output", "two")
    assert result.exit_code == 2
    assert "damaged" in result.output
    assert not (folder / "two").exists()


def test_devices_collectors_and_estimates_together(folder, key):
    with running(folder / "survey.json", key, folder / "reports", "--show-estimates", "--minimum", "1") as (
        _,
        port,
    ):
        for device in range(3):
            sent = run(
                *("answer", "survey.json", "--key", key, "--memory", f"device{device}", "--limit", "5"),
                *("smokes=no", "sleep=7.5", "town=12", "--to", f"http://127.0.0.1:{port}"),
            )
            assert sent.exit_code == 0, sent.output
            assert "The collector took 3" in sent.output
        other = run("estimate", "survey.json", "--key", key, "reports", "--minimum", "1")
    assert "3 reports" in other.output
    assert run("counts", "reports", "--output", "all.counts").exit_code == 0
    found = run("estimate", "survey.json", "--key", key, "all.counts", "--minimum", "1", "--format", "json")
    assert [question["reports"] for question in json.loads(found.output)["questions"]] == [3, 3, 3]


def test_a_collector_that_refuses_or_is_not_there(folder, key):
    with running(folder / "survey.json", key, folder / "reports") as (_, port):
        (folder / "survey.toml").write_text(TOML.replace("epoch = 2", "epoch = 3"))
        run("new", "survey.toml", "--output", "next.json")
        result = run(
            *("answer", "next.json", "--key", key, "--memory", "device", "--limit", "5", "smokes=no"),
            *("--to", f"http://127.0.0.1:{port}/reports"),
        )
        assert result.exit_code == 2
        assert "another survey" in result.output
    result = answer(key, "--limit", "5", "smokes=no", "--to", f"http://127.0.0.1:{port}")
    assert result.exit_code == 1
    assert "did not acknowledge" in result.output


def test_estimates_of_several_collectors_are_added_up(folder, key, survey):
    """Each of three estimates is within 5.4 σ of the truth, or with probability 7e-8 is not."""
    collected(survey, folder / "north", 3000)
    collected(survey, folder / "south", 2000)
    assert run("counts", "south", "--output", "south.counts").exit_code == 0
    result = run("estimate", "survey.json", "--key", key, "north", "south.counts", "--plot", "all.svg")
    assert result.exit_code == 0, result.output
    assert "5,000 reports" in result.output
    assert "980 others" in result.output
    assert "█" in result.output
    assert "distribution" in result.output
    assert "Rejected" not in result.output
    assert ET.parse(folder / "all.svg").getroot().tag.endswith("svg")  # noqa: S314  written just now
    found = json.loads(
        run("estimate", "survey.json", "--key", key, "north", "south", "--format", "json").output
    )
    smokes, town, sleep = found["questions"]
    assert len(town["shares"]) == 1000
    assert abs(smokes["shares"][0]["share"] - 1) < 2.76 * smokes["shares"][0]["error"]
    assert abs(town["shares"][1]["share"] - 1) < 2.76 * town["shares"][1]["error"]
    assert abs(sleep["mean"] - 12) < 2.76 * sleep["error"]


def test_what_collectors_rejected_is_shown(folder, key, survey):
    for name in ("north", "south"):
        with Collector(folder / name, survey) as collector, pytest.raises(InvalidInput):
            collector.add(b"x")
    assert "Rejected: malformed 2." in run("estimate", "survey.json", "--key", key, "north", "south").output
    found = run("estimate", "survey.json", "--key", key, "north", "--format", "json").output
    assert json.loads(found)["rejected"] == {"malformed": 1}


def test_reports_at_rest_are_estimated(key, survey):
    reports = [("smokes", report) for report in reports_of(survey, 0, np.zeros(500))] + [("smokes", b"\x03")]
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE reports (question VARCHAR, report BLOB)")
        connection.executemany("INSERT INTO reports VALUES (?, ?)", reports)
        connection.execute("COPY reports TO 'reports.parquet'")
    result = run("estimate", "survey.json", "--key", key, "--reports", "reports.parquet")
    assert result.exit_code == 0, result.output
    assert "(500 reports)" in result.output
    assert "out of range 1" in result.output
    assert "100 are needed" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to estimate from"),
        (("north", "north"), "twice"),
        (("survey.toml",), "not a file of counts"),
        (("nowhere",), "cannot be read"),
        (("empty",), "not the folder of a collector"),
        (("--reports", "nowhere.csv"), "no file"),
        (("north", "--minimum", "0"), "minimum"),
        (("north", "--confidence", "1"), "confidence"),
    ],
)
def test_what_cannot_be_estimated_is_said(folder, key, survey, arguments, said):
    collected(survey, folder / "north", 200)
    (folder / "empty").mkdir()
    result = run("estimate", "survey.json", "--key", key, *arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_counts_of_another_epoch_are_refused(folder, key, survey):
    collected(survey, folder / "north", 200)
    (folder / "survey.toml").write_text(TOML.replace("epoch = 2", "epoch = 3"))
    run("new", "survey.toml", "--output", "next.json")
    result = run("estimate", "next.json", "--key", key, "north")
    assert result.exit_code == 2
    assert "another survey" in result.output


def test_a_collector_says_what_is_wrong_before_it_starts(folder, key):
    (folder / "file").write_text("")
    for arguments, said in (
        (("--folder", "file"), "folder"),
        (("--folder", "reports", "--cap", "0"), "cap"),
        (("--folder", "reports", "--minimum", "0"), "minimum"),
        (("--folder", "reports", "--port", "70000"), "port"),
    ):
        result = run("collect", "survey.json", "--key", key, *arguments)
        assert result.exit_code in (1, 2)
        assert said in result.output


def test_without_the_extra_it_says_what_to_install(key, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("collect", "survey.json", "--key", key, "--folder", "reports")
    assert result.exit_code == 2
    assert 'pip install "discreet[server]"' in result.output
    assert not os.path.exists("reports")  # noqa: PTH110


def test_before_anyone_chooses_local_the_error_is_compared():
    result = run("compare", "--people", "100000", "--options", "2", "--epsilon", "1")
    assert result.exit_code == 0, result.output
    assert "0.59 points" in result.output
    assert "0.003 points" in result.output
    refused = run("compare", "--people", "0", "--options", "2", "--epsilon", "1")
    assert refused.exit_code == 2
    assert "people" in refused.output


def test_a_collector_of_a_survey_that_has_ended_says_so(folder, survey):
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    from discreet.local.signing import sign

    owner = load_pem_private_key((folder / "survey.key").read_bytes(), password=None)
    text = sign(replace(survey, expires=date(2020, 1, 1)), owner)
    (folder / "old.json").write_text(text)
    with (
        running(folder / "old.json", key_in(text), folder / "reports") as (process, port),
        Sender(port) as sender,
    ):
        status, told = sender.post(batches_of(replace(survey, expires=date(2020, 1, 1)), 1)[0])
        assert (status, told["problem"]) == (400, "The survey has ended.")
        assert "has ended" in stopped(process)
