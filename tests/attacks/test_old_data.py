"""Files that were replaced without a word: their old answers are told as such."""

import warnings

import duckdb
import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from discreet.curator.ledgers import open_ledger, place_named_by

COUNT = "SELECT count(*) AS n FROM visits"


def replace_data(clinic):
    duckdb.sql(
        f"COPY (SELECT * REPLACE (age + 1 AS age) FROM '{clinic.folder / 'visits.parquet'}' LIMIT 10)"
        f" TO '{clinic.folder / 'new.parquet'}'"
    )
    (clinic.folder / "new.parquet").replace(clinic.folder / "visits.parquet")


def test_item13_an_answer_of_old_data_says_so(clinic):
    first = clinic.ask(COUNT, epsilon=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clinic.open()
    replace_data(clinic)
    with pytest.warns(UserWarning, match="discreet data refresh"):
        again = clinic.open().ask(COUNT, epsilon=1)
    assert again.repeated
    assert again.scalar() == first.scalar()
    assert f"on {first.receipt.at:%Y-%m-%d}, of version 1 of the data" in again.price()
    with open_ledger(place_named_by(clinic.policy)) as ledger:
        ledger.refresh("clinic")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        renewed = clinic.open().ask(COUNT, epsilon=1)
    assert not renewed.repeated


def test_item13_the_command_line_says_it_beside_the_answer(clinic):
    ask = ["ask", COUNT, "--epsilon", "1", "--format", "json", "--policy", str(clinic.policy)]
    before = CliRunner().invoke(main, ask)
    replace_data(clinic)
    after = CliRunner().invoke(main, ask)
    assert (before.stderr, after.exit_code) == ("", 0)
    assert "discreet data refresh" in after.stderr
    assert "Warning" not in after.stderr
    assert after.stdout.startswith("{")
