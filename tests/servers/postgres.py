"""A real PostgreSQL for the tests: a cluster of its own in memory, which trusts whoever connects.

Nothing is written through to the disk (fsync=off): the tests kill our processes, not the machine.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import missing

INSTALL = "apt-get install postgresql"
UNTRUSTED = "untrusted"
"""The one role that needs a password, for tests that make it."""
PATIENCE_SECONDS = 60

_ACCESS = f"""
host all {UNTRUSTED} 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
    "temp_file_limit": "4GB",  # they are in memory
}
_UNTIL_ITS_PARENT_ENDS = """
"$@" &
server=$!
read -r word
kill -INT $server
wait $server
[ "$word" = stop ] || rm -rf "$0"
"""
"""The shell waits for a word from the tests. If it finds the end of its input instead, they are no more."""


@dataclass(frozen=True)
class PostgresServer:
    """A server that runs; `url` is its superuser's."""

    port: int
    folder: Path

    @property
    def url(self):
        return self.url_of("postgres")

    def url_of(self, database, *, role="postgres"):
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"


@contextmanager
def running_postgres():
    """Start a server, and stop and remove it at the end."""
    programs = _programs()
    memory = Path("/dev/shm")  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-", dir=memory if memory.is_dir() else None))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        cluster = folder / "cluster"
        _initdb(programs, cluster)
        (cluster / "pg_hba.conf").write_text(_ACCESS)
        with _serving(programs, folder) as port:
            yield PostgresServer(port=port, folder=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_program(name, *arguments, **options):
    """Run one of PostgreSQL's own programs, such as pg_dump; what it writes."""
    done = subprocess.run(
        [_programs() / name, *arguments], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _programs():
    """Where initdb is: on the PATH, or where Debian keeps it, by version."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    versions = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda found: float(found.parts[4])
    )
    return versions[-1].parent if versions else missing("PostgreSQL", INSTALL)


def _as_owner(command):
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


def _initdb(programs, cluster):
    options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
    done = subprocess.run(
        _as_owner([programs / "initdb", "-D", cluster, *options]), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def _serving(programs, folder):
    for _ in range(3):  # somebody else may take the free port before the server does
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = [f"--{name}={value}" for name, value in {**_SETTINGS, "port": port}.items()]
        server = [programs / "postgres", "-D", folder / "cluster", *settings]
        shell = ["sh", "-c", _UNTIL_ITS_PARENT_ENDS, folder, *server]
        log = folder / "server.log"  # a pipe that nobody reads gets full, and the server waits for ever
        with (
            log.open("wb") as errors,
            subprocess.Popen(_as_owner(shell), stdin=subprocess.PIPE, stderr=errors) as process,
        ):
            try:
                if _answers(programs, port, process):
                    yield port
                    return
            finally:
                process.communicate(b"stop\n")
    raise AssertionError(f"PostgreSQL does not start: {log.read_text(errors='replace')}")


def _answers(programs, port, process):
    """Whether the server takes connections, before it ends or the patience does."""
    asked = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if subprocess.run(asked, check=False).returncode == 0:
            return True
        time.sleep(0.05)
    return False
