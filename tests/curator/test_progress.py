"""The bar of a long question: on a terminal and in a notebook, both real; and nowhere else."""

import os
import pty
import subprocess
import sys

import pytest
from jupyter_client.manager import start_new_kernel

import discreet
from discreet.curator.progress import Bar
from discreet.errors import EngineFailed
from tests.apps.clinic import make_clinic

SHOWN = "from discreet.curator.progress import Bar\nbar = Bar()\nbar(None)\nbar(0.25)\n"
OVER = SHOWN + "bar(1.0)\n"


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def displayed(client, code):
    """What a cell shows, and what that becomes, in order."""
    pages = []

    def collect(message):
        assert message["msg_type"] != "error", message["content"]
        if "data" in message["content"]:
            pages.append(message["content"]["data"]["text/html"])

    client.execute_interactive(code, output_hook=collect, timeout=60)
    return pages


def on_a_terminal(code):
    """What a process writes that has a terminal for its standard error."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=environment) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:  # so Linux says that a terminal has been left
                block = b""
            if not block:
                break
            written += block
    os.close(ours)
    assert process.returncode == 0
    return written.decode()


def test_a_notebook_shows_a_bar_that_goes(kernel):
    unknown, begun, quarter, gone = displayed(kernel, "import discreet\n" + OVER + "bar(1.0)")
    assert unknown == begun == "Asking <progress></progress> 0:00"
    assert quarter == 'Asking <progress value="0.250"></progress> 0:00'
    assert gone == ""


def test_the_next_question_has_a_bar_of_its_own(kernel):
    assert len(displayed(kernel, OVER + "bar(0.5)\nbar(1.0)")) == 7


def test_a_terminal_shows_a_bar_that_goes():
    written = on_a_terminal(OVER)
    assert "Asking" in written
    assert "0:00:00" in written
    assert written.rstrip("\r\n").endswith("\x1b[2K")  # the line is cleared


def test_nobody_is_told_where_nobody_watches(capfd):
    bar = Bar()
    for share in (None, 0.5, 1.0):
        bar(share)
    assert capfd.readouterr() == ("", "")


def test_a_bar_goes_however_the_question_ends(tmp_path, monkeypatch):
    shares = []
    policy = make_clinic(tmp_path)
    with discreet.open(policy, progress=True) as curator:
        assert isinstance(curator.watch, Bar)
        curator.watch = shares.append
        curator.ask("SELECT count(*) FROM visits", epsilon=0.1)
        assert shares[-1] == 1.0
        shares.clear()

        def fails(*_, **__):
            raise EngineFailed("It failed.", remedy="Try again.")

        monkeypatch.setattr(type(curator._engine), "run_each", fails)
        with pytest.raises(EngineFailed):
            curator.ask("SELECT count(*) FROM visits", epsilon=0.2)
        assert shares == [1.0]
    with discreet.open(policy) as curator:
        assert curator.watch is None
