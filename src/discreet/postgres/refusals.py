"""Why a database in PostgreSQL cannot be used, in our words: the server's own may quote anything."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The problem, as words that follow the name of a source, and what to do about it."""

    problem: str
    remedy: str
    of_database: bool = False
    """Whether the problem is the database itself, not its server. Errors about a table in it then say so."""
    may_pass: bool = False
    """Whether the problem may be over soon."""

    @property
    def problem_inside(self) -> str:
        """What follows the name of something that is in the database."""
        return f"is in a database that {self.problem}" if self.of_database else self.problem


PASSWORD_PLACES = "the file that PGPASSFILE or PGSERVICEFILE names, or as PGPASSWORD"  # noqa: S105

NO_DATABASE = Refusal(
    problem="is not there.",
    remedy="Check its name in the address, or PGDATABASE.",
    of_database=True,
)
NO_RIGHTS = Refusal(
    problem="does not let this role in.",
    remedy="Let its owner give this role the right to connect.",
    of_database=True,
)
NOT_UNICODE = Refusal(
    problem="does not keep text as UTF-8, and so cannot hold all texts.",
    remedy="Use a database that was created with ENCODING 'UTF8'.",
    of_database=True,
)

_NOT_FROM_HERE = Refusal(
    problem="is on a server that does not let this role in from here.",
    remedy="Look at the server's pg_hba.conf.",
)
_UNREACHABLE = Refusal(
    problem="cannot be reached.",
    remedy="Check the address, and whether psql can connect to it.",
    may_pass=True,
)
_BY_WORDS = (
    (
        "resolve host|translate host name|name or service not known",
        Refusal(
            problem="is on a host that nobody knows by this name.", remedy="Check the host in the address."
        ),
    ),
    ("pg_hba", _NOT_FROM_HERE),
    (
        "password",
        Refusal(
            problem="is on a server that wants another password.",
            remedy=f"Give it in {PASSWORD_PLACES}.",
        ),
    ),
    (
        "role .*does not exist",
        Refusal(
            problem="is on a server that does not know this role.",
            remedy="Check the user in the address, or PGUSER.",
        ),
    ),
    ("database .*does not exist", NO_DATABASE),
    ("permission denied for", NO_RIGHTS),
    (
        "certificate|ssl|tls",
        Refusal(
            problem="is on a server with which no encrypted connection can be made as asked for.",
            remedy="Check sslmode and sslrootcert in the address, and the server's certificate.",
        ),
    ),
    ("authentication", _NOT_FROM_HERE),
    (
        "timeout|timed out",
        Refusal(
            problem="is on a server that does not answer in time.",
            remedy="Check the host and the port in the address.",
            may_pass=True,
        ),
    ),
    (
        "connection refused|no route to host|network is unreachable|no such file",
        Refusal(
            problem="is on a server that does not answer.",
            remedy="Check the host and the port, and that PostgreSQL runs.",
            may_pass=True,
        ),
    ),
    (
        "too many|connection slots",
        Refusal(
            problem="is on a server that has no connection left.",
            remedy="Ask again soon, or raise max_connections there.",
            may_pass=True,
        ),
    ),
    (
        "starting up|shutting down|recovery",
        Refusal(
            problem="is on a server that starts or stops just now.", remedy="Ask again soon.", may_pass=True
        ),
    ),
)
"""A failed connection has no error code, only a message. One in another language matches none of these."""
_NAMES = re.compile(r"""".*?"|'.*?'""")


def why_unreachable(words: str) -> Refusal:
    """Why there is no connection, told from the driver's message. Nothing of the message is passed on.

    Names in it are skipped: a database may be called “password”.
    """
    said = _NAMES.sub("", words)
    for pattern, refusal in _BY_WORDS:
        if re.search(pattern, said, re.IGNORECASE):
            return refusal
    return _UNREACHABLE


def too_old(oldest: int) -> Refusal:
    return Refusal(
        problem=f"is on a server that is too old, older than PostgreSQL {oldest}.",
        remedy=f"Use PostgreSQL {oldest} or later.",
    )
