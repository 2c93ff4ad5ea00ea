"""Ledgers that older versions wrote are opened, verified, and give what was paid for, free and unchanged."""

import json
import shutil
from pathlib import Path

import pytest

import discreet
from tests.older.write import KINDS, ask_all, policy_of, write_data

HERE = Path(__file__).parent
VERSIONS = sorted(folder.name for folder in HERE.iterdir() if folder.name.isdigit())


@pytest.fixture(params=[(version, kind) for version in VERSIONS for kind in KINDS], ids=lambda p: "-".join(p))
def older(request, tmp_path):
    version, kind = request.param
    for file in (HERE / version).glob(f"{kind}.ledger*"):
        shutil.copy(file, tmp_path)
    write_data(tmp_path)
    told = json.loads((HERE / version / "told.json").read_text())[kind]
    return policy_of(tmp_path, kind, more="least_price = 1e-9\n"), KINDS[kind], told


def test_what_was_paid_for_is_given_free_and_unchanged(older):
    policy, delta, told = older
    with discreet.open(policy, analyst="anna") as curator:
        curator._ledger.verify()
        before = curator.budget().spent
        answers, others, found = ask_all(curator, delta)
        assert curator.budget().spent == before
        curator._ledger.verify()
    assert all(answer.repeated or answer.cached for answer in found.values())
    assert answers == told["answers"]
    assert others == told["others"]


def test_at_another_price_it_is_paid_for(older):
    policy, _, _ = older
    with discreet.open(policy, analyst="anna") as curator:
        assert not curator.ask("SELECT count(*) FROM visits", epsilon=2.6).repeated
        assert curator.ask("SELECT count(*) FROM visits", epsilon=2.6).repeated
