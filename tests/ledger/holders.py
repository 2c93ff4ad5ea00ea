"""Run as a program: takes a turn in a ledger and stops in it, as SIGSTOP or a debugger stops a process."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.ledger.places import place_at

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def stopped_in_its_turn(place):
    """The id of a process that has stopped inside the ledger. At the end it is killed."""
    command = [sys.executable, "-m", "tests.ledger.holders", place.address, str(place.anchor)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert holder.stdout.readline() == "inside\n"
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


if __name__ == "__main__":
    with place_at(*sys.argv[1:]).open() as ledger, ledger._database.transaction():
        sys.stdout.write("inside\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSTOP)
