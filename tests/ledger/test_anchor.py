"""What the anchor notices, and what happens between a commit and its anchor."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger import anchor as anchors
from discreet.ledger.anchor import AnchorFile
from discreet.model.privacy import PureLoss

from .places import TENTH, account, charge, closed_at_every_call


def test_what_is_committed_but_not_anchored_is_taken_over(place, ledger, anchor, monkeypatch):
    before = anchor.read_bytes()

    def power_cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(AnchorFile, "publish", power_cut)
        with pytest.raises(KeyboardInterrupt):
            charge(ledger, "k")
    assert anchor.read_bytes() == before
    with place.open() as other:
        assert other.balance("staff").spent == TENTH
    assert anchor.read_bytes() != before
    charge(ledger, "another")
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.2)


def test_an_anchor_that_cannot_be_published_is_told_and_the_charge_stays(ledger, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(AnchorFile, "publish", full)
        with pytest.raises(LedgerClosed, match="cannot be anchored"):
            charge(ledger, "k")
    assert ledger.balance("staff").spent == TENTH
    charge(ledger, "k")
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.2)
    ledger.verify()


def test_a_restored_backup_is_noticed_and_rebased(used):
    backup = used.backup()
    with used.open() as ledger:
        charge(ledger, "lost")
        ledger.open_account(account("pupils"))
    used.restore(backup)
    closed_at_every_call(used, "it is not the one it was")
    with used.open() as ledger:
        assert len(list(ledger.export())) == 3  # the owner may still look
        ledger.rebase(write_off={"staff": PureLoss(epsilon=0.5)}, reason="restored after a fire")
        assert ledger.balance("staff").spent == PureLoss(epsilon=0.6)
        assert ledger.stored_answer("staff", "k") is None
        with pytest.raises(LedgerClosed, match="lost with a restored backup"):
            ledger.open_account(account("pupils"))
        ledger.verify()


def test_a_rebased_ledger_is_not_taken_for_the_one_that_was_lost(used):
    """The entry that is written off has the number of one that was lost."""
    backup = used.backup()
    with used.open() as ledger:
        charge(ledger, "lost")
    used.restore(backup)
    with used.open() as ledger:
        ledger.rebase(write_off={"staff": TENTH}, reason="restored")
        ledger.verify()
    with used.open() as ledger:
        charge(ledger, "more")
        ledger.verify()


def test_a_backup_from_between_charge_and_answer_is_noticed(place):
    """Else the charge would look unused, and a second draw of its noise would be free."""
    with place.open() as ledger:
        ledger.open_account(account())
        receipt = charge(ledger, "k")
    backup = place.backup()
    with place.open() as ledger:
        ledger.store_answer(receipt, b"first draw, shown")
    place.restore(backup)
    with place.open() as ledger, pytest.raises(LedgerClosed):
        ledger.store_answer(receipt, b"second draw")


def test_a_missing_anchor_closes_the_ledger_until_its_owner_decides(used, anchor):
    anchor.unlink()
    closed_at_every_call(used, "anchor of this ledger is missing")
    with used.open() as ledger:
        ledger.rebase(write_off="everything", reason="nobody knows")
        assert ledger.balance("staff").left == PureLoss(epsilon=0)
        ledger.verify()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"number": "3", "digest": "x", "datasets": []}',
        '{"number": -1, "digest": "x", "datasets": []}',
        '{"number": true, "digest": "x", "datasets": []}',
        '{"number": 3, "digest": 3, "datasets": []}',
        '{"number": 3, "digest": "x", "datasets": [1]}',
        '{"number": 3, "digest": "x"',
        b"\xff\xfe",
    ],
)
def test_an_anchor_that_is_not_one_closes_the_ledger(used, anchor, text):
    anchor.write_bytes(text if isinstance(text, bytes) else text.encode())
    closed_at_every_call(used, "anchor .* cannot be read")
    with used.open() as ledger:
        ledger.rebase(write_off="everything", reason="the anchor was damaged")
        ledger.verify()


def test_an_anchor_that_was_edited_closes_the_ledger(used, anchor):
    honest = AnchorFile(anchor).read()
    for number in (2, 4, 2**70):
        anchor.write_bytes(b"".join(written(replace(honest, number=number))))
        closed_at_every_call(used, "not the one it was")


def written(found):
    return anchors._slot(found), anchors._slot(found), anchors._tail(found)


def test_an_anchor_of_the_older_kind_is_read_and_renewed(used, anchor):
    found = AnchorFile(anchor).read()
    older = {"number": found.number, "digest": found.digest, "datasets": found.datasets}
    anchor.write_text(json.dumps(older) + "\n")
    with used.open() as ledger:
        charge(ledger, "more")
        ledger.verify()
    assert AnchorFile(anchor).read().number == found.number + 1
    assert anchor.read_bytes() != json.dumps(older).encode()


@pytest.mark.parametrize("length", [*range(0, 256, 17), 255])
def test_a_slot_that_was_written_in_part_is_not_read(used, anchor, length):
    """The other one holds, and no later entry is taken for the last."""
    before = AnchorFile(anchor).read()
    with used.open() as ledger:
        charge(ledger, "more")
    content, after = anchor.read_bytes(), AnchorFile(anchor).read()
    place = content.index(anchors._slot(after))
    torn = content[:place] + content[place : place + length] + b"\0" * (256 - length) + content[place + 256 :]
    anchor.write_bytes(torn)
    assert AnchorFile(anchor).read() == before
    with used.open() as ledger:
        ledger.verify()
    assert AnchorFile(anchor).read() == after


def test_a_lost_database_is_not_started_anew(used):
    used.lose()
    closed_at_every_call(used, "not the one it was")
    with used.open() as ledger, pytest.raises(LedgerClosed, match="no account"):
        ledger.rebase(write_off="everything", reason="the file is gone")


def test_a_crash_before_the_first_anchor_is_no_harm(place, anchor):
    with place.open() as ledger:
        with pytest.raises(InvalidInput):
            ledger.balance("staff")  # makes the tables and the first anchor
        anchor.unlink()
        ledger.open_account(account())
        ledger.verify()


def test_nobody_is_let_in_between_a_commit_and_its_anchor(place, ledger, monkeypatch):
    """Two processes of a machine share the file: the second would publish what the first one prepared."""
    with place.open() as other, ThreadPoolExecutor(1) as thread:
        other.balance("staff")
        waiting = []

        def publish(self, anchor):
            if not waiting:
                waiting.append(thread.submit(charge, other, "second"))
                with pytest.raises(TimeoutError):
                    waiting[0].result(timeout=0.2)
            honest(self, anchor)

        honest = AnchorFile.publish
        monkeypatch.setattr(AnchorFile, "publish", publish)
        charge(ledger, "first")
        assert waiting[0].result().number == 3
    ledger.verify()
