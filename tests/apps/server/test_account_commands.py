"""`discreet account` and `discreet log`: as the owner types them."""

import json

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.errors import NotSignedIn
from discreet.service.service import open_people
from tests.attacks.ask import Clinic


@pytest.fixture
def policy(tmp_path):
    return Clinic(tmp_path / "clinic", epsilon=10).policy


@pytest.fixture
def run(policy):
    def run(*words, status=0):
        done = CliRunner().invoke(main, [*words, "--policy", str(policy)])
        assert done.exit_code == status, done.output
        return done

    return run


def owner_of(policy, token):
    people = open_people(policy)
    try:
        return people.accounts.with_token(token)
    finally:
        people.close()


def test_the_token_stands_alone_on_the_last_line(run, policy):
    settings = ["--epsilon", "1", "--default-epsilon", "0.1", "--approval-above", "0.5"]
    run("account", "project", "sepsis", "--epsilon", "3")
    done = run("account", "add", "ana", "--role", "analyst", *settings, "--project", "sepsis")
    (token,) = done.stdout.splitlines()
    account = owner_of(policy, token)
    assert (account.name, account.role.value, account.datasets) == ("ana", "analyst", ("clinic",))
    assert [account.most_epsilon, account.default_epsilon * 10, account.approval_above * 2] == [1, 1, 1]
    assert account.project == "sepsis"


def test_a_dataset_that_the_policy_does_not_have_is_told(run):
    assert "about “clinic”" in run("account", "add", "ana", "--role", "analyst", "--dataset", "klinic").stderr
    assert "about" not in run("account", "add", "bo", "--role", "analyst", "--dataset", "clinic").stderr


def test_accounts_are_listed_changed_and_revoked(run, policy):
    token = run("account", "add", "ana", "--role", "analyst").stdout.strip()
    run("account", "change", "ana", "--epsilon", "2", "--role", "auditor")
    assert "auditor" in run("account", "list").stdout
    (listed,) = json.loads(run("account", "list", "--format", "json").stdout)["accounts"]
    assert (listed["role"], listed["most_epsilon"], listed["default_epsilon"]) == ("auditor", 2, None)
    run("account", "revoke", "ana")
    with pytest.raises(NotSignedIn):
        owner_of(policy, token)
    assert "(revoked)" in run("account", "list").stdout
    run("account", "token", "ana", status=2)


def test_a_new_token_ends_those_before_it_unless_they_are_kept(run, policy):
    first = run("account", "add", "ana", "--role", "analyst").stdout.strip()
    second = run("account", "token", "ana", "--keep-others", "--days", "7").stdout.strip()
    assert owner_of(policy, first) == owner_of(policy, second)
    third = run("account", "token", "ana").stdout.strip()
    assert owner_of(policy, third).name == "ana"
    for old in (first, second):
        with pytest.raises(NotSignedIn):
            owner_of(policy, old)


@pytest.mark.parametrize(
    "words",
    [
        ["account", "add", "ana"],
        ["account", "add", "_ana", "--role", "analyst"],
        ["account", "add", "ana", "--role", "king"],
        ["account", "add", "ana", "--role", "analyst", "--epsilon", "-1"],
        ["account", "add", "ana", "--role", "analyst", "--epsilon", "nan"],
        ["account", "add", "ana", "--role", "analyst", "--days", "0"],
        ["account", "add", "ana", "--role", "analyst", "--project", "none"],
        ["account", "change", "nobody", "--epsilon", "1"],
        ["account", "revoke", "nobody"],
        ["account", "token", "nobody"],
        ["account", "project", "p", "--epsilon", "0"],
    ],
)
def test_what_is_not_allowed_is_refused(run, words):
    assert not run(*words, status=2).stdout.startswith("discreet_")


def test_the_log_is_verified_and_exported(run, tmp_path):
    run("account", "add", "ana", "--role", "analyst")
    assert "1 events" in run("log", "verify").stdout
    (line,) = run("log", "export").stdout.splitlines()
    assert json.loads(line)["action"] == "account added"
    out = tmp_path / "log.jsonl"
    run("log", "export", "--out", str(out))
    assert out.read_text().strip() == line
    run("log", "export", "--out", str(out), status=2)
