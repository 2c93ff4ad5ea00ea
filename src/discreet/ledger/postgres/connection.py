"""A connection to PostgreSQL that does not wait for an answer for ever.

The server's own limits end what takes too long, if the server is there to do so. One that was stopped, or
that the network no longer reaches, says nothing at all, and libpq would wait for it.
"""

import os
import re
import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

_HOLDER = re.compile(r"discreet ledger, process \d{1,10} on [\w.-]{1,40}", re.ASCII)
_BUSY = """
SELECT pid, coalesce(application_name, '') AS name FROM pg_catalog.pg_locks AS held
LEFT JOIN pg_catalog.pg_stat_activity USING (pid)
WHERE held.relation = %s::regclass AND held.granted AND held.mode <> 'AccessShareLock'
    AND pid <> pg_backend_pid()
ORDER BY pid LIMIT 1
"""


class Silent(psycopg.OperationalError):
    """The server has said nothing for too long; what it was told may be done or not."""


class LimitedConnection(psycopg.Connection[DictRow]):
    """It is closed when the server is silent."""

    longest_silence: float
    """In seconds."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return super().wait(self._limited(gen), *args, **kwargs)
        except Silent:
            self.close()
            raise

    def _limited(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The same steps, with a time limit. psycopg resumes them several times a second in any case."""
        end = time.monotonic() + self.longest_silence
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    raise Silent
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value


def connect(options: dict[str, Any], *, longest_silence: float) -> LimitedConnection:
    """Every statement is a transaction of its own, unless it begins one. Others see who is connected."""
    own_name = f"discreet ledger, process {os.getpid()} on {os.uname().nodename[:30]}"
    connection = LimitedConnection.connect(
        **{"application_name": own_name, **options},
        autocommit=True,
        prepare_threshold=None,
        row_factory=dict_row,
    )
    connection.longest_silence = longest_silence
    connection.read_only, connection.isolation_level = False, psycopg.IsolationLevel.READ_COMMITTED
    return connection


def holder_of(connection: LimitedConnection, table: str) -> tuple[int, str | None] | None:
    """The session that keeps a table, and which of our processes that is; None if nobody does any more.

    A name that is not ours may be anything, and is not shown.
    """
    found = connection.execute(_BUSY, [table]).fetchone()
    if found is None:
        return None
    named = _HOLDER.fullmatch(found["name"])
    return found["pid"], None if named is None else found["name"].removeprefix("discreet ledger, ")
