"""What `discreet budget` shows: totals, the line over time, a forecast, analysts, the latest questions."""

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from discreet.apps.views.budget import readable
from discreet.apps.views.burn_down import forecast, spent_by
from discreet.ledger.interface import Entry, EntryKind
from discreet.ledger.units import Currency, Units
from discreet.model.privacy import AMOUNT_UNITS
from tests.apps.clinic import ask, make_clinic, run

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


def history(*charges, opened):
    """Entries of an account, from (days ago, ε) each."""
    entries, spent = [], Fraction(0)
    for days, epsilon in ((opened, 0), *charges):
        taken = Fraction(str(epsilon))
        spent += taken
        entries.append(
            Entry(
                number=len(entries) + 1,
                kind=EntryKind.CHARGED if taken else EntryKind.OPENED,
                dataset="clinic",
                version=1,
                analyst="ann" if taken else "",
                question="q" if taken else "",
                key="k" if taken else "",
                taken=Units(Currency.PURE, int(taken * AMOUNT_UNITS), 0),
                spent=Units(Currency.PURE, int(spent * AMOUNT_UNITS), 0),
                note="",
                at=NOW - timedelta(days=days),
                digest="",
            )
        )
    return entries


def test_the_forecast_goes_on_at_the_rate_of_the_last_seven_days():
    entries = history((20, 0.5), (6, 0.1), (1, 0.04), opened=30)
    found = forecast(entries, left=0.36, now=NOW)
    assert found.a_day == pytest.approx(0.02)
    assert found.until == pytest.approx(NOW + timedelta(days=18), abs=timedelta(minutes=1))
    assert "last 7 days" in found.text
    assert "18 April 2026" in found.text


def test_a_young_account_is_judged_by_its_own_age():
    found = forecast(history((1, 0.1), opened=2), left=0.5, now=NOW)
    assert found.a_day == pytest.approx(0.05)
    assert "last 2 days" in found.text


@pytest.mark.parametrize(
    ("entries", "left", "says"),
    [
        ([], 1.0, "Nothing has been spent"),
        (history(opened=5), 1.0, "Nothing has been spent"),
        (history((0.1, 0.5), opened=0.5), 0.5, "Too little to forecast"),
        (history((9, 0.5), opened=10), 0.5, "Nothing was spent in the last 7 days"),
        (history((2, 1), opened=10), 0.0, "Nothing is left"),
        (history((2, "1e-6"), opened=10), 1.0, "more than a hundred years"),
    ],
)
def test_what_cannot_be_forecast_is_said(entries, left, says):
    found = forecast(entries, left=left, now=NOW)
    assert says in found.text
    assert found.until is None or left == 0


def test_the_line_steps_up_where_something_was_spent():
    entries = history((8, 0.5), (2, 0.25), opened=10)
    ends = [NOW - timedelta(days=days) for days in (9, 7, 5, 1, 0)]
    assert spent_by(entries, ends) == [0, 0.5, 0.5, 0.75, 0.75]


def test_before_the_first_question_all_is_left_and_no_ledger_is_made(tmp_path):
    policy = make_clinic(tmp_path)
    report = json.loads(run("budget", "--policy", policy, "--format", "json").output)
    assert report["left"] == {"epsilon": 1.0}
    assert report["questions"] == 0
    assert "0 questions" in run("budget", "--policy", policy).output
    assert not (tmp_path / "clinic.ledger").exists()


@pytest.fixture
def policy(tmp_path):
    policy = make_clinic(tmp_path, cap="per_analyst = { epsilon = 0.75 }")
    ask(policy, analyst="bob", epsilon=0.125)
    ask(policy, analyst="ann", epsilon=0.5)
    ask(policy, analyst="bob", epsilon=0.125)  # free
    (tmp_path / "visits.parquet").unlink()  # the budget can be seen without the data
    return policy


def test_the_json_has_it_all(policy):
    report = json.loads(run("budget", "--policy", policy, "--format", "json").output)
    assert report["spent"] == {"epsilon": 0.625}
    assert report["left"] == {"epsilon": 0.375}
    assert report["analysts"] == {"ann": {"epsilon": 0.5}, "bob": {"epsilon": 0.125}}
    assert report["analyst_cap"] == {"epsilon": 0.75}
    assert report["questions"] == 2
    assert report["questions_by_analyst"] == {"ann": 1, "bob": 1}
    assert report["policy_agrees"] is True
    assert report["forecast"]["until"] is None
    assert [entry["kind"] for entry in report["history"]] == ["opened", "charged", "charged"]
    assert [entry["spent"]["epsilon"] for entry in report["history"]] == [0, 0.125, 0.625]
    assert report["history"][2]["question"] == "SELECT count(*) AS n FROM visits"


def test_people_see_totals_a_line_analysts_and_questions(policy):
    output = run("budget", "--policy", policy).output
    words = " ".join(output.split())
    assert "ε = 0.625 of ε = 1 spent (62.5%), ε = 0.375 left; 2 questions by 2 analysts." in words
    assert "█" in output
    assert "of what they may" in output
    assert "67%" in output  # ann: 0.5 of 0.75
    assert "SELECT count(*)" in output
    assert "Too little to forecast" in output


def test_only_the_ten_latest_are_listed(tmp_path):
    policy = make_clinic(tmp_path)
    for i in range(12):
        ask(policy, epsilon=0.01, sql=f"SELECT count(*) AS n{i} FROM visits WHERE patient < {i + 1}")
    output = run("budget", "--policy", policy).output
    assert "n2 " in output
    assert "n1 " not in output
    assert "n11 " in output


def test_a_budget_with_a_delta_is_shown_in_rho(tmp_path):
    policy = make_clinic(tmp_path, delta="1e-6")
    ask(policy)
    assert "ρ = " in run("budget", "--policy", policy).output
    assert set(json.loads(run("budget", "--policy", policy, "--format", "json").output)["left"]) == {
        "rho",
        "delta",
    }


def test_what_others_wrote_cannot_play_with_the_terminal(tmp_path):
    policy = make_clinic(tmp_path)
    ask(policy, analyst="[red]eve\x1b[2J")
    output = run("budget", "--policy", policy).output
    assert "\x1b[2J" not in output
    assert "[red]eve" in output
    assert "\x1b" not in readable("\x1b]0;title\x07")
