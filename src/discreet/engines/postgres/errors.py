"""Why a database in PostgreSQL cannot be opened, in our words: the server's own may quote anything."""

from discreet.errors import PolicyError
from discreet.postgres.address import TABLE_FORM, DatabaseAddress
from discreet.postgres.refusals import NO_RIGHTS, PASSWORD_PLACES, Refusal

_RIGHTS = "Let its owner give this role the rights of docs/how-to/postgresql.md."


def refused(database: DatabaseAddress, refusal: Refusal) -> PolicyError:
    remedy = _RIGHTS if refusal is NO_RIGHTS else refusal.remedy
    return _cannot_open(database.name, refusal.problem, remedy)


def no_address(database: DatabaseAddress) -> PolicyError:
    return _cannot_open(database.name, "is no address of PostgreSQL.", TABLE_FORM)


def password_in_policy(database: DatabaseAddress) -> PolicyError:
    return _cannot_open(
        database.name,
        "has a password in it, and everybody may read a policy.",
        f"Take it out, change it, and give it in {PASSWORD_PLACES}.",
    )


def lost(database: DatabaseAddress) -> PolicyError:
    return _cannot_open(
        database.name, "has ended the connection.", "Ask again; nothing was spent by this call."
    )


def locked(database: DatabaseAddress) -> PolicyError:
    return _cannot_open(
        database.name,
        "keeps a table locked for another program.",
        "Ask again when that is done; nothing was spent by this call.",
    )


def settings_lost(database: DatabaseAddress) -> PolicyError:
    return _cannot_open(
        database.name,
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


def no_permission_behind(database: DatabaseAddress) -> PolicyError:
    """The catalogue lets this role read what the policy names; yet the server does not."""
    return _cannot_open(
        database.name,
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
