"""A process that was stopped inside the ledger: others look, and are told who it is if they would pay."""

import os

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.errors import LedgerClosed
from discreet.ledger.sqlite import file as sqlite_file
from discreet.model.privacy import PureLoss
from tests.ledger.holders import stopped_in_its_turn
from tests.ledger.places import sqlite_place

COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def kept(clinic):
    """The id of a process that keeps the clinic's ledger, after one question was asked."""
    clinic.ask(COUNT, epsilon=1)
    with stopped_in_its_turn(sqlite_place(clinic.folder / "clinic.ledger")) as process:
        yield process


@pytest.mark.usefixtures("kept")
def test_item10_prices_budgets_and_given_answers_wait_for_nobody(clinic):
    with clinic.open() as curator:
        curator.explain("SELECT sum(cost) FROM visits", epsilon=1)
        assert curator.budget().spent == PureLoss(epsilon=1)
        assert curator.ask(COUNT, epsilon=1).repeated


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    "command", [["budget"], ["explain", COUNT, "--epsilon", "1"], ["ledger", "verify"], ["ledger", "export"]]
)
def test_item10_commands_that_only_look_wait_for_nobody(clinic, command):
    shown = CliRunner().invoke(main, [*command, "--policy", str(clinic.policy)])
    assert (shown.exit_code, shown.exception) == (0, None)


def test_item10_whoever_would_pay_is_told_who_keeps_the_ledger(clinic, kept, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.3)
    with pytest.raises(LedgerClosed, match=f"Process {kept} on {os.uname().nodename} has kept the ledger"):
        clinic.ask("SELECT sum(cost) FROM visits", epsilon=1)
    assert clinic.spent() == PureLoss(epsilon=1)
