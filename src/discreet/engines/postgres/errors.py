"""Why a database in PostgreSQL cannot be opened, in our words: the server's own may quote anything."""

import re

from discreet.errors import PolicyError

_RIGHTS = "Let its owner give this role the rights of docs/how-to/postgresql.md."

_REFUSALS = (
    (
        "resolve host|translate host name|name or service not known",
        ("is on a host that nobody knows by this name.", "Check the host in the source."),
    ),
    (
        "pg_hba",
        ("is on a server that does not let this role in from here.", "Look at the server's pg_hba.conf."),
    ),
    (
        "password",
        (
            "is on a server that wants another password.",
            "Give it in the file that PGPASSFILE or PGSERVICEFILE names, or as PGPASSWORD.",
        ),
    ),
    (
        "role .*does not exist",
        ("is on a server that does not know this role.", "Check the user in the source, or PGUSER."),
    ),
    ("database .*does not exist", ("is not there.", "Check its name in the source, or PGDATABASE.")),
    ("permission denied for", ("does not let this role in.", _RIGHTS)),
    (
        "certificate|ssl|tls",
        (
            "is on a server with which no encrypted connection can be made as asked for.",
            "Check sslmode and sslrootcert in the source, and the server's certificate.",
        ),
    ),
    (
        "authentication",
        ("is on a server that does not let this role in from here.", "Look at the server's pg_hba.conf."),
    ),
    (
        "timeout|timed out",
        ("is on a server that does not answer in time.", "Check the host and the port in the source."),
    ),
    (
        "connection refused|no route to host|network is unreachable|no such file",
        ("is on a server that does not answer.", "Check the host and the port, and that PostgreSQL runs."),
    ),
    (
        "too many|connection slots",
        ("is on a server that has no connection left.", "Ask again soon, or raise max_connections there."),
    ),
    (
        "starting up|shutting down|recovery",
        ("is on a server that starts or stops just now.", "Ask again soon."),
    ),
)
"""A connection that fails has no code, only words; in another language they are all told as one."""
_NAMES = re.compile(r"""".*?"|'.*?'""")


def unreachable(database: str, words: str) -> PolicyError:
    """Why there is no connection, by the driver's words, of which none is passed on.

    Names in them are not looked at: a database may be called “password”.
    """
    said = _NAMES.sub("", words)
    for pattern, (problem, remedy) in _REFUSALS:
        if re.search(pattern, said, re.IGNORECASE):
            return _cannot_open(database, problem, remedy)
    return _cannot_open(
        database, "cannot be reached.", "Check the source, and whether psql can connect to it."
    )


def lost(database: str) -> PolicyError:
    return _cannot_open(database, "has ended the connection.", "Ask again; nothing was spent by this call.")


def locked(database: str) -> PolicyError:
    return _cannot_open(
        database,
        "keeps a table locked for another program.",
        "Ask again when that is done; nothing was spent by this call.",
    )


def too_old(database: str, oldest: int) -> PolicyError:
    return _cannot_open(
        database, f"is on a server older than PostgreSQL {oldest}.", "Use a newer one, or a copy of the data."
    )


def not_unicode(database: str) -> PolicyError:
    return _cannot_open(
        database, "does not keep text as UTF-8.", "Copy the tables into a database with ENCODING 'UTF8'."
    )


def settings_lost(database: str) -> PolicyError:
    return _cannot_open(
        database,
        "does not keep the settings that make it read-only.",
        "Connect to PostgreSQL itself, not to something that changes what it is told.",
    )


def missing_table(name: str) -> PolicyError:
    return _cannot_open(
        name,
        "is not there.",
        "Check schema and table after the #; names with capitals stand in quotes.",
    )


def not_a_table(name: str) -> PolicyError:
    return _cannot_open(name, "is neither a table nor a view.", "Name a table or a view after the #.")


def no_permission(name: str) -> PolicyError:
    return _cannot_open(name, "may not be read by this role.", _RIGHTS)


def no_permission_behind(database: str) -> PolicyError:
    """The catalogue lets this role read what the policy names; yet the server does not."""
    return _cannot_open(
        database,
        "does not let this role read a table of this policy, or what a view of it is made of.",
        "Look at the rights of the view's owner, and at row-level security; nothing was spent by this call.",
    )


def changed(name: str) -> PolicyError:
    return PolicyError(
        f"The table {name} was dropped, re-created, altered or closed to this role since it was opened.",
        remedy="Open the policy again; run “discreet check” if it no longer opens.",
    )


def _cannot_open(name: str, problem: str, remedy: str) -> PolicyError:
    return PolicyError(f"The source {name} {problem}", remedy=remedy)
