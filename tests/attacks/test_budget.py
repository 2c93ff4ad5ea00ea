"""Attacks D1–D11: on the budget, and on what it is meant to bound."""

import inspect
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom

from discreet import BudgetExceeded, DiscreetError, EngineFailed, LedgerClosed, QueryRefused, TookTooLong
from discreet.apps.commands.main import main
from discreet.curator import Curator
from discreet.curator.open_policy import open_curator
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.privacy import PureLoss

from .ask import ROWS, Clinic, cell, stored_bytes

COUNT = "SELECT count(*) AS n FROM visits"


# D1: repeat and average.


def test_d1_the_same_question_has_one_answer_however_it_is_written(clinic):
    written = [
        "SELECT count(*) AS n FROM visits WHERE age > 30",
        "select COUNT( * ) as n from VISITS where AGE > 30",
        "SELECT count(*) AS n FROM visits WHERE (age > 30) -- again",
        "SELECT /* once more */ count(*) AS n\nFROM visits\nWHERE ((age > 30));",
        'SELECT count(*) AS n FROM "visits" WHERE "visits"."age" > 30',
        "SELECT count(*) AS n FROM visits AS v WHERE v.age > 30",
    ]
    answers = [clinic.ask(sql, epsilon=1, analyst=f"ana{i}") for i, sql in enumerate(written)]
    assert len({stored_bytes(answer) for answer in answers}) == 1
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))


def test_d1_what_means_the_same_and_is_not_recognised_is_paid_for_each_time(clinic):
    """Averaging is not free: its price is that of each question."""
    for i in range(20):
        clinic.ask(f"SELECT count(*) AS n{i} FROM visits WHERE age > 30 - {i} + {i}", epsilon=1)
        assert clinic.spent() == PureLoss(epsilon=Fraction(i + 1))


# D2: reconstruction (Dinur & Nissim 2003). Counts that differ by one person: tests/curator/test_curator.py.

SEATS = 300
LUCKIEST = 1e-6


def secret_bits():
    return np.array([random.SystemRandom().randrange(2) for _ in range(SEATS)])


def survey(folder, bits, *, epsilon):
    """One row a person: the seat is public, the bit is not."""
    rows = f"SELECT range, 'north', ({bits.tolist()})[1 + range], range, 'flu' FROM range({SEATS})"
    clinic = Clinic(folder, rows=rows, epsilon=epsilon)
    policy = clinic.policy.read_text().replace("max_rows = 3\nmax_groups = 2", "unique = true")
    clinic.policy.write_text(policy.replace("[0, 119]", f"[0, {SEATS - 1}]"))
    return clinic


def by_least_squares(clinic, *, epsilon, counts=450):
    """Counts of scattered halves of the seats, in as few questions as will do; guess what fits them best."""
    anything = random.SystemRandom()
    chosen = [(anything.randrange(1, 1009), anything.randrange(1009)) for _ in range(counts)]
    subsets = np.array([[(seat * a + b) % 1009 % 2 for seat in range(SEATS)] for a, b in chosen])
    noisy = []
    for first in range(0, counts, 90):
        outputs = [
            f"count(*) FILTER (WHERE cost = 1 AND (age * {a} + {b}) % 1009 % 2 = 1) AS q{i}"
            for i, (a, b) in enumerate(chosen[first : first + 90])
        ]
        answer = clinic.ask(
            f"SELECT {', '.join(outputs)} FROM visits", epsilon=Fraction(epsilon) * 90 / counts
        )
        noisy += [cell(answer, f"q{i}") for i in range(len(outputs))]
    fitted, *_ = np.linalg.lstsq(subsets, np.array(noisy), rcond=None)
    return (fitted > 0.5).astype(int)


def seat_by_seat(clinic, *, epsilon):
    """The best attack there is: every seat is a group of its own, and all groups cost as much as one."""
    answer = clinic.ask(
        "SELECT age, count(*) FILTER (WHERE cost = 1) AS n FROM visits GROUP BY age", epsilon=epsilon
    )
    return np.array([cell(answer, "n", seat) > 0.5 for seat in range(SEATS)], dtype=int)


@pytest.mark.parametrize("attack", [by_least_squares, seat_by_seat])
def test_d2_a_reconstruction_at_full_budget_does_no_better_than_the_bound(tmp_path, attack):
    """At ε = 1 every bit is guessed right with probability at most e/(1 + e) = 73 %, whatever all others are,
    so that the number of right guesses is at most binomial: more than 256 of 300 has probability below 10⁻⁶.
    """
    bits = secret_bits()
    clinic = survey(tmp_path, bits, epsilon=1)
    right = int((attack(clinic, epsilon=1) == bits).sum())
    assert clinic.open().budget().left == PureLoss(epsilon=Fraction(0))
    assert right <= binom.isf(LUCKIEST, SEATS, np.e / (1 + np.e))
    with pytest.raises(BudgetExceeded):
        clinic.ask(COUNT, epsilon=0.001)


def test_d2_the_best_attack_attains_the_bound(tmp_path):
    """So that noise any smaller would be noticed above: halved, 88 % are right. False alarm 10⁻⁶."""
    bits = secret_bits()
    right = int((seat_by_seat(survey(tmp_path, bits, epsilon=1), epsilon=1) == bits).sum())
    assert right >= binom.ppf(LUCKIEST, SEATS, np.e / (1 + np.e))


def test_d2_the_attack_works_where_there_is_no_budget_to_speak_of(tmp_path):
    """At ε = 900 each of 450 counts has ±1.5, and nearly every bit is found: the attack itself is sound.

    Each fitted bit is off by about 0.7/√(450/4 · 1/3), a tenth: ten wrong bits are far beyond 10⁻⁶.
    """
    bits = secret_bits()
    guessed = by_least_squares(survey(tmp_path, bits, epsilon=900), epsilon=900)
    assert int((guessed == bits).sum()) >= SEATS - 10


# D3 and D4, races and crashes: tests/curator/test_ask_durability.py, tests/ledger/test_processes.py.


# D5: refunds.


@pytest.mark.parametrize("failure", [EngineFailed("x", remedy="y"), MemoryError()])
def test_d5_a_question_for_which_nothing_was_drawn_has_no_refund_and_is_not_paid_twice(
    clinic, monkeypatch, failure
):
    def fails(*_, **__):
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(DuckDBEngine, "run", fails)
        with pytest.raises(EngineFailed, match="not charged twice"):
            clinic.open().ask(COUNT, epsilon=1)
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))
    assert not clinic.ask(COUNT, epsilon=1).repeated
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))  # paid, and at last answered


def test_d5_a_database_that_goes_on_failing_is_paid_for(clinic, monkeypatch):
    """Whoever can make it fail would have any number of looks at a question for one price."""
    told = []
    with monkeypatch.context() as patched:
        patched.setattr(DuckDBEngine, "run", lambda *_, **__: 1 / 0)
        for _ in range(4):
            with pytest.raises(EngineFailed) as failure:
                clinic.open().ask(COUNT, epsilon=1)
            told.append("charged anew" in str(failure.value))
    assert told == [False, True, False, True]
    assert clinic.spent() == PureLoss(epsilon=Fraction(2))


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), TookTooLong("x", remedy="y")])
def test_d5_a_question_that_was_stopped_is_used_up(clinic, monkeypatch, reason):
    """Else one charge would buy any number of looks at how long it takes."""

    def stopped(*_, **__):
        raise reason

    with monkeypatch.context() as patched:
        patched.setattr(DuckDBEngine, "run", stopped)
        with pytest.raises(type(reason)):
            clinic.open().ask(COUNT, epsilon=1)
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))
    clinic.ask(COUNT, epsilon=1)
    assert clinic.spent() == PureLoss(epsilon=Fraction(2))


def test_d5_ctrl_c_in_the_middle_of_a_question_keeps_the_charge(tmp_path):
    """A real signal to a real command that computes on ten million rows."""
    clinic = Clinic(tmp_path, rows="SELECT range % 5000000, 'north', 1.0, 50, 'flu' FROM range(10000000)")
    asked = subprocess.Popen(
        [sys.executable, "-m", "discreet", "ask", COUNT, "--epsilon", "1", "--policy", str(clinic.policy)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while asked.poll() is None:
        if clinic.policy.with_suffix(".ledger").exists() and clinic.spent().epsilon:
            asked.send_signal(signal.SIGINT)
            break
        time.sleep(0.01)
    output, errors = asked.communicate(timeout=60)
    clinic.see(output, errors)
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))
    assert b"Traceback" not in errors
    assert clinic.leaks() == []


# D6: an old ledger. All kinds of damage: tests/ledger/test_sqlite.py, tests/ledger/test_sqlite_damage.py.


def test_d6_a_ledger_from_a_backup_answers_nothing(clinic):
    ledger = clinic.policy.with_suffix(".ledger")
    clinic.ask(COUNT)
    shutil.copy(ledger, clinic.folder / "backup")
    clinic.ask("SELECT sum(cost) AS total FROM visits")
    clinic.close()  # whoever restores a backup closes the ledger first: an open handle would put its own back
    for leftover in clinic.folder.glob("clinic.ledger-*"):
        leftover.unlink()
    shutil.copy(clinic.folder / "backup", ledger)
    for sql in (COUNT, "SELECT avg(cost) FROM visits"):
        with pytest.raises(LedgerClosed):
            clinic.ask(sql)
    ledger.unlink()
    with pytest.raises(LedgerClosed):
        clinic.ask(COUNT)


# D7: the same people again. Each policy file has its own ledger: the docs say that their losses add up.


def rewritten(clinic, *changes):
    text = clinic.policy.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    clinic.policy.write_text(text)


@pytest.mark.parametrize(
    "changes",
    [
        [('name = "clinic"', 'name = "clinic2"')],
        [("epsilon = 900", "epsilon = 901")],
        [("epsilon = 900, delta = 0", "epsilon = 900, delta = 1e-6")],
        [('"add_remove"', '"replace_one"')],
        [('person = "patient"', 'person = "age"'), ("patient]", "cost2]")],
        [('name = "clinic"', 'name = "clinic2"'), ('"visits.parquet"', '"./visits.parquet"')],
    ],
    ids=[
        "another name",
        "another budget",
        "a delta",
        "another relation",
        "another person",
        "another spelling",
    ],
)
def test_d7_a_changed_policy_does_not_start_a_new_budget(clinic, changes):
    clinic.ask(COUNT, epsilon=900)
    rewritten(clinic, *changes)
    with pytest.raises(DiscreetError):
        clinic.ask(COUNT, epsilon=1)


# D8 and D9: many analysts, and one.


def test_d8_all_analysts_share_one_lifetime_budget(tmp_path):
    clinic = Clinic(tmp_path, epsilon=1)
    for i in range(10):
        clinic.ask(f"SELECT count(*) AS n FROM visits WHERE age < {i}", epsilon=0.1, analyst=f"account {i}")
    with pytest.raises(BudgetExceeded):
        clinic.ask("SELECT sum(cost) FROM visits", epsilon=0.001, analyst="account 11")


def test_d9_one_analyst_and_one_question_have_a_cap(tmp_path):
    caps = "per_analyst = { epsilon = 0.5 }\nper_question = { epsilon = 0.3 }"
    clinic = Clinic(tmp_path, epsilon=1, dataset=caps)
    with pytest.raises(QueryRefused):
        clinic.ask(COUNT, epsilon=0.31)
    clinic.ask(COUNT, epsilon=0.3)
    with pytest.raises(BudgetExceeded):
        clinic.ask("SELECT sum(cost) FROM visits", epsilon=0.21)
    clinic.ask("SELECT sum(cost) FROM visits", epsilon=0.2)
    clinic.ask("SELECT sum(cost) FROM visits", epsilon=0.3, analyst="ann")
    assert clinic.spent() == PureLoss(epsilon=Fraction(4, 5))


@pytest.mark.parametrize(
    "name", ["[/]", "[bold red]x", "\x1b[2J\x1b[1;1H", "a\nb", "\u202e", "", " ", "\0", "x" * 2_000]
)
def test_d9_the_name_of_an_analyst_cannot_spoil_the_owners_view(clinic, name):
    """Whoever asks chooses it, and the owner's terminal shows it."""
    question = ["ask", COUNT, "--epsilon", "1", "--as", name, "--policy", str(clinic.policy)]
    asked = CliRunner().invoke(main, question)
    assert asked.exit_code in (0, 2)
    shown = CliRunner().invoke(main, ["budget", "--policy", str(clinic.policy)])
    assert (shown.exit_code, shown.exception) == (0, None)
    assert not {"\x1b", "\u202e"} & set(shown.output)
    if asked.exit_code == 0 and name.isprintable():
        assert name.strip() in shown.output


@pytest.mark.parametrize("name", ["[/]", "[bold red]x[/]", "\x1b[2J", ":smile:"])
def test_d9_an_answer_is_shown_whatever_its_columns_are_called(clinic, name):
    """It is paid for, so that it must not fail on its way to the screen."""
    question = ["ask", f'SELECT ward, count(*) AS "{name}" FROM visits GROUP BY ward', "--epsilon", "1"]
    asked = CliRunner().invoke(main, [*question, "--policy", str(clinic.policy)])
    assert asked.exit_code in (0, 2)
    assert "\x1b" not in asked.output
    if asked.exit_code == 0 and name.isprintable():
        assert name in asked.output


# A refusal is cheap: what cannot be paid for is not planned by the database first.


def test_item9_what_cannot_be_paid_for_does_not_reach_the_database(tmp_path, monkeypatch):
    """With 200 columns planning is two thirds of the time of a refusal, which an analyst has for free."""
    clinic = Clinic(tmp_path / "poor", epsilon=1)
    planned = []
    with clinic.open() as curator:
        curator.ask("SELECT count(*) AS n FROM visits", epsilon=1)
        monkeypatch.setattr(curator._engine, "prepare", lambda sql, **_: planned.append(sql))
        with pytest.raises(BudgetExceeded):
            curator.ask("SELECT sum(age) AS n FROM visits", epsilon=1)
    assert planned == []


# D10: chance. Keystreams after a fork: tests/noise/test_entropy.py.


def test_d10_there_is_no_seed_to_set(clinic):
    for function in (Curator.ask, Curator.plan, Curator.__init__, open_curator):
        names = inspect.signature(function).parameters
        assert not [name for name in names if "seed" in name or "random" in name or "entropy" in name]
    answers = []
    for i in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        answers.append(cell(clinic.ask(f"SELECT count(*) AS n FROM visits WHERE age < {200 + i}"), "n"))
    assert answers[0] != answers[1]  # on a grid of 2⁻²⁰ with scale 3: equal with probability below 10⁻⁶


def test_d10_processes_that_are_forked_from_one_draw_noise_of_their_own(tmp_path):
    """Ten copies of one process, each with its noise warmed up before the fork; two alike: below 10⁻⁴⁰."""
    program = """
import json, os, sys
from discreet import DiscreteLaplace
from fractions import Fraction
mechanism = DiscreteLaplace(scale=Fraction(2**40))
mechanism.release([0])
pipes = []
for _ in range(10):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, json.dumps(mechanism.release([0, 0, 0, 0]).tolist()).encode())
        os._exit(0)
    os.close(writing)
    pipes.append(os.fdopen(reading).read())
print(json.dumps(pipes))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    drawn = json.loads(done.stdout)
    assert len(set(drawn)) == 10


# D11: what is told for free.


def test_d11_check_init_and_explain_say_the_same_of_any_data(tmp_path):
    told = []
    strange = (
        "SELECT 7::BIGINT, NULL::VARCHAR, 'nan'::DOUBLE, NULL::INTEGER, NULL::VARCHAR FROM range(100000)"
    )
    for rows in (None, f"{ROWS} LIMIT 0", strange):
        folder = tmp_path / "clinic"
        clinic = Clinic(folder, rows=rows)
        policy = ["--policy", str(clinic.policy)]
        commands = [
            ["check", *policy],
            ["explain", "SELECT ward, avg(cost) FROM visits GROUP BY ward", "--epsilon", "1", *policy],
            ["budget", *policy],
            [
                "init",
                str(folder / "visits.parquet"),
                "--person",
                "patient",
                "--out",
                str(folder / "draft.toml"),
            ],
        ]
        results = [CliRunner().invoke(main, command) for command in commands]
        assert [result.exit_code for result in results] == [0, 0, 0, 0]
        shown = [re.sub(r"[\d-]+ \d\d:\d\d(:\d\d)?", "now", result.output) for result in results]
        told.append((shown, (folder / "draft.toml").read_text()))
        shutil.rmtree(folder)
    assert told[0] == told[1] == told[2]


def test_d11_bounds_are_declared_and_never_read_from_the_data(tmp_path):
    clinic = Clinic(tmp_path)
    clinic.policy.write_text(clinic.policy.read_text().replace("bounds = [0, 100]", 'type = "number"'))
    for measure in ("sum(cost)", "avg(cost)", "variance(cost)"):
        with pytest.raises(QueryRefused, match="bounds"):
            clinic.ask(f"SELECT {measure} FROM visits")
    with SqliteLedger(clinic.policy.with_suffix(".ledger")) as ledger:
        assert ledger.balance("clinic").spent == PureLoss(epsilon=Fraction(0))
