"""An answer that is given again says when it is from, and if the files have changed since."""

import os

import pytest

import discreet
from tests.curator.test_curator import curator_of, folder  # noqa: F401  a fixture

BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


def test_a_repeated_answer_says_that_the_files_have_changed(folder):  # noqa: F811
    with curator_of(folder, epsilon=2) as curator:
        first = curator.ask(BY_WARD, epsilon=0.5)
        assert curator.ask(BY_WARD, epsilon=0.5).released.notes == first.released.notes
    os.utime(folder / "visits.parquet", (1, 1))
    with pytest.warns(UserWarning, match="have changed"):
        curator = discreet.open(folder / "clinic.toml", analyst="ann")
    with curator:
        again = curator.ask(BY_WARD, epsilon=0.5)
        assert again.repeated
        when = f"It is from {first.receipt.at:%Y-%m-%d %H:%M} UTC. The files have changed"
        assert again.released.notes[0].startswith(when)
        assert "of version 1 of the data" in again.price()
        fresh = curator.ask("SELECT count(*) AS n FROM visits", epsilon=0.5)
        assert not any("have changed" in note for note in fresh.released.notes)
