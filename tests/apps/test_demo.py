"""The demo, as a newcomer runs it: what it shows holds, and what it leaves can be played with."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from discreet.apps.demo.attack import attack_all, exact_counts, pick_targets
from discreet.apps.demo.data import MOST_VISITS, make_clinic
from discreet.apps.demo.tour import ATTACK_EPSILON, SUSPECTED
from discreet.errors import InvalidInput
from discreet.policy.reader import read_policy
from tests.apps.clinic import run


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "a folder"
    result = run("demo", folder)
    assert result.exit_code == 0, result.output
    return folder, result.output


def share(output, name):
    return float(re.search(rf"{name}[^%]*? (\d+\.\d)%", output)[1]) / 100


def test_the_attack_succeeds_on_exact_counts_and_fails_through_discreet(played):
    """With two noises of ε = 0.25 each, this attack is right with a probability of 0.532. That it is right
    70 % of the time has a probability below 10⁻⁷, at 400 targets (Hoeffding: exp(−2·400·0.168²) = 2·10⁻¹⁰);
    that there are fewer, of 1,920 that may be and 700 on average, one of exp(−2·300²/1920) < 10⁻⁴⁰."""
    _, output = played
    assert share(output, "on exact counts") == 1
    assert int(re.search(r"attack on (\d+) patients", output)[1]) >= 400
    assert 0.3 < share(output, "through discreet, ε = 0.5") < 0.7
    assert ATTACK_EPSILON == 0.5
    assert share(output, "at most, by the mathematics") == 0.623  # 62.2459…: up


def test_every_scene_is_played(played):
    _, output = played
    words = " ".join(output.split())
    for ward in ("cardiology", "psychiatry"):
        assert ward in output
    assert "├" in output
    assert "▲" in output
    assert "Promised before anything is read: costs ε = 0.2" in words
    assert "clinic: ε = 0.9 of ε = 2 spent (45.0%), ε = 1.1 left; 3 questions by 2 analysts." in words
    assert "the same answer, free" in output
    assert "This costs ε = 1.5, and 1.1 of 2 is left." in words


def test_the_commands_that_it_ends_with_work_in_the_folder(played, monkeypatch):
    folder, output = played
    assert f"cd '{folder}'" in output
    monkeypatch.chdir(folder)
    commands = re.findall(r"^  discreet (\w+.*)$", output, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        if command != "audit":  # has tests of its own, and takes a minute
            words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
            result = run(*words)
            assert result.exit_code == 0, result.output


def test_only_the_clinic_is_left(played):
    folder, _ = played
    names = {path.name for path in folder.iterdir()}
    assert {"visits.parquet", "discreet.toml", "discreet.ledger"} <= names
    assert all(name.startswith(("visits.parquet", "discreet.")) for name in names)


def test_a_folder_that_exists_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("discreet-demo").mkdir()
    result = run("demo")
    assert result.exit_code == 2
    assert "exists already" in result.output
    assert list(Path("discreet-demo").iterdir()) == []
    Path("file").write_text("precious")
    assert run("demo", "file").exit_code == 2
    assert Path("file").read_text() == "precious"
    assert run("demo", "file/below").exit_code == 2


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return make_clinic(tmp_path_factory.mktemp("made") / "clinic")


def test_the_clinic_is_as_large_and_skewed_as_it_says(clinic):
    per_patient = dict(
        clinic.exact(
            "SELECT n, count(*) FROM (SELECT count(*) AS n FROM visits GROUP BY patient_id) GROUP BY n"
        )
    )
    assert 180_000 < clinic.rows < 240_000
    assert max(per_patient) == MOST_VISITS
    assert per_patient[1] > 2 * per_patient[6] > 2 * per_patient[11]
    assert read_policy(clinic.policy).dataset.name == "clinic"
    [(lowest, highest)] = clinic.exact("SELECT min(cost), max(cost) FROM visits")
    assert 0 < lowest < highest <= 2_000


def test_targets_are_found_out_one_by_one_and_only_the_coin_decides(clinic):
    targets = pick_targets(clinic, SUSPECTED)
    assert attack_all(targets, exact_counts(clinic)) == 1
    having = sum(target.has_it for target in targets)
    # Hoeffding: with n fair coins, off by more than 3·√n has a probability below 2·exp(−18) < 4·10⁻⁸
    assert abs(having - len(targets) / 2) < 3 * len(targets) ** 0.5
    told_nothing = attack_all(targets, lambda _: defaultdict(float))
    assert told_nothing == pytest.approx(1 - having / len(targets))


def test_a_clinic_is_made_once(clinic):
    with pytest.raises(InvalidInput, match="exists already"):
        make_clinic(clinic.folder)
