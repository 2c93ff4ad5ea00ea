"""The owner's commands: the ledger is checked and exported, data is announced, the budget is changed."""

import hashlib
import json
import shutil
import sqlite3

import pytest

from discreet.ledger.interface import Account
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.privacy import PureLoss
from tests.apps.clinic import COUNT, ask, declare, make_clinic, run


@pytest.fixture
def policy(tmp_path):
    policy = make_clinic(tmp_path)
    ask(policy, analyst="bob", epsilon=0.125)
    ask(policy, analyst="ann")
    return policy


def test_verify_says_what_was_checked(policy):
    result = run("ledger", "verify", "--policy", policy)
    assert result.exit_code == 0
    assert "6 entries" in result.output  # opened, data seen, and two questions with their answers
    assert "clinic" in result.output
    assert "ε = 0.375" in result.output
    assert "ε = 1" in result.output


def test_verify_needs_neither_data_nor_policy(policy, tmp_path):
    (tmp_path / "visits.parquet").unlink()
    policy.unlink()
    assert run("ledger", "verify", "--policy", policy).exit_code == 0
    assert run("ledger", "verify", "--ledger", tmp_path / "clinic.ledger").exit_code == 0


def test_a_ledger_that_was_changed_does_not_verify(policy, tmp_path):
    """An early entry, by somebody who puts the triggers back: only the whole chain can tell."""
    with sqlite3.connect(tmp_path / "clinic.ledger") as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute("UPDATE entries SET question = 'another' WHERE number = 2")
        for _, sql in triggers:
            connection.execute(sql)
    connection.close()
    assert run("budget", "--policy", policy).exit_code == 0
    result = run("ledger", "verify", "--policy", policy)
    assert result.exit_code == 1
    assert "✓" not in result.output


def test_a_restored_backup_does_not_verify(tmp_path):
    path, half = tmp_path / "own.ledger", PureLoss(epsilon=0.5)
    with SqliteLedger(path) as ledger:
        ledger.open_account(Account(dataset="d", budget=half, analyst_cap=half, fingerprint="people"))
    assert run("ledger", "verify", "--ledger", path).exit_code == 0
    shutil.copy(path, tmp_path / "backup")
    with SqliteLedger(path) as ledger:
        ledger.charge("d", analyst="ann", question="q", key="k", loss=half)
    shutil.copy(tmp_path / "backup", path)
    result = run("ledger", "verify", "--ledger", path)
    assert result.exit_code == 1
    assert "not the one it was" in result.output
    assert len(run("ledger", "export", "--ledger", path).output.splitlines()) == 1  # can still be looked at


@pytest.mark.parametrize(
    "command", [("ledger", "verify"), ("ledger", "export"), ("data", "refresh", "--yes")]
)
def test_looking_at_a_ledger_that_is_not_there_makes_none(tmp_path, command):
    policy = make_clinic(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = run(*command, "--policy", policy)
    assert result.exit_code == 2
    assert "There is no ledger" in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_an_export_can_be_checked_by_anybody(policy, tmp_path):
    out = tmp_path / "ledger.jsonl"
    assert run("ledger", "export", "--policy", policy, "--out", out).exit_code == 0
    previous = "0" * 64
    lines = out.read_text().splitlines()
    for line in lines:
        fields = json.loads(line)
        digest = fields.pop("digest")
        assert fields["previous"] == previous
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        previous = digest
    assert len(lines) == 6
    assert run("ledger", "export", "--policy", policy).output.splitlines() == lines


def test_an_export_overwrites_nothing(policy, tmp_path):
    out = tmp_path / "mine"
    out.write_text("precious")
    result = run("ledger", "export", "--policy", policy, "--out", out)
    assert result.exit_code == 2
    assert out.read_text() == "precious"
    assert run("ledger", "export", "--policy", policy, "--out", tmp_path / "no" / "way").exit_code == 2


def test_new_data_is_a_new_version_and_the_budget_goes_on(policy):
    assert json.loads(ask(policy).output)["receipt"]["repeated"] is True
    result = run("data", "refresh", "--policy", policy, answer="y\n")
    assert result.exit_code == 0
    assert "version 2" in result.output
    assert "ε = 0.375 of ε = 1 stays spent" in result.output
    again = json.loads(ask(policy).output)
    assert again["receipt"]["repeated"] is False
    assert again["left"] == {"epsilon": 0.375}


def restored(policy):
    """A backup, from before the last question at ε = 0.25."""
    ledger = policy.with_suffix(".ledger")
    shutil.copy(ledger, ledger.with_suffix(".backup"))
    ask(policy, sql="SELECT count(*) FROM visits WHERE ward = 'north'")
    shutil.copy(ledger.with_suffix(".backup"), ledger)
    assert "discreet ledger rebase" in run("budget", "--policy", policy).stderr


def rebase(policy, *options, answer=None):
    return run("ledger", "rebase", *options, "--reason", "of Monday", "--policy", policy, answer=answer)


def test_a_restored_ledger_goes_on_when_its_owner_writes_off_what_was_lost(policy):
    restored(policy)
    result = rebase(policy, "--epsilon", 0.25, answer="y\n")
    assert (result.exit_code, "Written off: ε = 0.375 is left." in result.output) == (0, True), result.output
    assert run("ledger", "verify", "--policy", policy).exit_code == 0
    assert "of Monday" in run("ledger", "export", "--policy", policy).output
    assert json.loads(ask(policy).output)["receipt"]["repeated"] is False


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_restored_ledger_may_lose_everything_or_nothing(tmp_path, delta):
    policy = make_clinic(tmp_path, delta=delta)
    ask(policy)
    restored(policy)
    assert rebase(policy, "--epsilon", 0, "--yes").exit_code == 0
    ask(policy, sql="SELECT count(*) FROM visits WHERE ward = 'south'")
    assert "is left" in rebase(policy, "--everything", "--yes").output
    assert "100.0%" in run("budget", "--policy", policy).output


def test_what_others_in_the_same_ledger_lose_is_told(policy):
    half = PureLoss(epsilon=0.5)
    with SqliteLedger(policy.with_suffix(".ledger")) as ledger:
        ledger.open_account(Account(dataset="d", budget=half, analyst_cap=half, fingerprint="people"))
    assert "has “d”: all that is left there" in rebase(policy, "--epsilon", 0, answer="n\n").output


@pytest.mark.parametrize(
    "options", [(), ("--epsilon", 0.1, "--everything"), ("--epsilon", -1), ("--epsilon", "nan")]
)
def test_what_writes_nothing_off_is_refused(policy, options):
    restored(policy)
    assert rebase(policy, *options, "--yes").exit_code == 2
    assert run("ledger", "verify", "--policy", policy).exit_code == 1


def test_an_epsilon_does_not_say_what_a_budget_with_a_delta_lost(tmp_path):
    policy = make_clinic(tmp_path, delta=1e-6)
    ask(policy)
    refused = rebase(policy, "--epsilon", 0.1, "--yes")
    assert (refused.exit_code, "--everything" in refused.stderr) == (2, True)


def test_without_a_yes_nothing_is_written_off(policy):
    restored(policy)
    assert rebase(policy, "--everything", answer="n\n").exit_code == 1
    assert run("ledger", "verify", "--policy", policy).exit_code == 1


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_refreshed(policy, answer):
    assert run("data", "refresh", "--policy", policy, answer=answer).exit_code == 1
    assert json.loads(ask(policy).output)["receipt"]["repeated"] is True


def test_another_budget_in_the_policy_is_refused_until_the_ledger_is_changed_too(policy, tmp_path):
    declare(tmp_path, epsilon=2.0, cap="per_analyst = { epsilon = 0.5 }")
    refused = run("ask", COUNT, "--epsilon", "0.25", "--policy", policy)
    assert refused.exit_code == 1
    assert "ε = 2 with ε = 0.5 for an analyst, and the ledger has a budget of ε = 1" in refused.output
    assert "discreet budget change" in refused.output
    assert "discreet budget change" in run("budget", "--policy", policy).output
    changed = run("budget", "change", "--policy", policy, "--reason", "approved", answer="y\n")
    assert changed.exit_code == 0
    assert "ε = 1.625 is left" in changed.output
    assert json.loads(ask(policy).output)["left"] == {"epsilon": 0.25}  # what this analyst may still spend
    assert "approved" in run("ledger", "export", "--policy", policy).output
    assert run("ledger", "verify", "--policy", policy).exit_code == 0


def test_a_budget_is_not_changed_without_a_yes_or_a_reason(policy, tmp_path):
    declare(tmp_path, epsilon=2.0)
    assert run("budget", "change", "--policy", policy, "--reason", "r", answer="n\n").exit_code == 1
    assert run("budget", "change", "--policy", policy, "--yes").exit_code == 2
    assert run("budget", "change", "--policy", policy, "--reason", " ", "--yes").exit_code == 2
    report = json.loads(run("budget", "--policy", policy, "--format", "json").output)
    assert report["budget"] == {"epsilon": 1.0}
    assert report["policy_agrees"] is False


@pytest.mark.parametrize("new", [{"epsilon": 0.25}, {"epsilon": 1.0, "delta": "1e-6"}])
def test_a_budget_below_what_is_spent_or_in_another_currency_is_refused(policy, tmp_path, new):
    declare(tmp_path, **new)
    assert run("budget", "change", "--policy", policy, "--reason", "r", "--yes").exit_code == 2
    declare(tmp_path)
    assert json.loads(ask(policy).output)["left"] == {"epsilon": 0.625}


def test_a_policy_given_before_the_subcommand_is_not_silently_dropped(policy):
    result = run("budget", "--policy", policy, "change", "--reason", "r", "--yes")
    assert result.exit_code == 2
    assert "after “change”" in result.output


def test_a_dataset_without_an_account(policy):
    policy.write_text(policy.read_text().replace('name = "clinic"', 'name = "other"'))
    result = run("data", "refresh", "--policy", policy, "--yes")
    assert result.exit_code == 2
    assert "no account of “other”" in result.output
