"""Who asks a question holds it, and others who ask the same wait."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger import question_lock as asking
from discreet.ledger.question_lock import held


def test_the_same_question_is_held_by_one_at_a_time_and_others_are_not_in_its_way(tmp_path):
    inside, most = [0], [0]
    lock = threading.Lock()

    def work(_):
        with held(tmp_path / "asking", "same"):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            with held(tmp_path / "asking", f"other {threading.get_ident()}"):
                pass
            with lock:
                inside[0] -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(200)))
    assert most == [1]
    assert list((tmp_path / "asking").iterdir()) == []


def test_item10_who_waited_too_long_is_told_for_whom(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.0)
    with (
        held(tmp_path, "same"),
        pytest.raises(LedgerClosed, match=f"Process {os.getpid()} has been answering"),
        held(tmp_path, "same"),
    ):
        pytest.fail("held twice")
    with held(tmp_path, "same"):
        pass


def test_item10_ctrl_c_while_waiting_leaves_no_handle_behind(tmp_path, monkeypatch):
    def pressed(_):
        raise KeyboardInterrupt

    handles = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None  # noqa: PTH112, PTH208
    if handles is None:
        pytest.skip("this system does not list the handles of a process")
    with held(tmp_path, "same"), monkeypatch.context() as patched:
        patched.setattr(asking.time, "sleep", pressed)
        for _ in range(20):
            with pytest.raises(KeyboardInterrupt), held(tmp_path, "same"):
                pytest.fail("held twice")
        assert len(os.listdir("/proc/self/fd")) <= handles + 1  # noqa: PTH208


def test_what_a_killed_process_left_behind_keeps_nobody(tmp_path):
    child = os.fork()
    if child == 0:
        with held(tmp_path, "same"):
            os._exit(9)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 1
    with held(tmp_path, "same"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_outlives_who_asked_keeps_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.0)
    reading, writing = os.pipe()
    asker = os.fork()
    if asker == 0:
        with held(tmp_path, "same"):
            if os.fork() == 0:
                os.close(writing)
                os.read(reading, 1)  # until the test ends
                os._exit(0)
            os._exit(9)
    os.waitpid(asker, 0)
    with held(tmp_path, "same"):
        pass
    os.close(writing)
    os.close(reading)


def test_a_child_lets_nothing_go_that_its_parent_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.0)
    parent = os.getpid()
    with held(tmp_path, "same"):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            with pytest.raises(LedgerClosed), held(tmp_path, "same"):
                pytest.fail("held twice")
    if os.getpid() != parent:
        os._exit(0)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "asking").write_text("not a folder")
    with pytest.raises(LedgerClosed, match="cannot be used"), held(tmp_path / "asking", "same"):
        pass
