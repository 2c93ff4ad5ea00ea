"""What PostgreSQL says, in our words: its own may quote an entry, and are in the language of its server."""

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerBusy, LedgerClosed
from discreet.ledger.chain import RESTORE
from discreet.ledger.database import not_holdable
from discreet.ledger.files import ADDED_NOTHING
from discreet.postgres.address import LedgerAddress
from discreet.postgres.refusals import NO_DATABASE, NO_RIGHTS, Refusal

if TYPE_CHECKING:
    import psycopg

_AGAIN = f"Ask again: {ADDED_NOTHING}"
_LOOK = f"Look at the server: {ADDED_NOTHING}"
_LOST = ("has lost the connection to its server.", _AGAIN)
_SILENT = (
    "is on a server that no longer answers.",
    f"Look at the server and at the network to it: {ADDED_NOTHING}",
)
_RIGHTS = "Let its owner give this role the rights that the reference of the ledger lists."

_READ_ONLY = (
    "is on a server that can only be read, such as a standby.",
    "Name the primary, or add ?target_session_attrs=read-write to the address.",
)

_BY_STATE = {
    "0A000": _READ_ONLY,  # a standby knows no transactions that write
    "25006": _READ_ONLY,
    "40001": ("was changed by another program at the same moment.", _AGAIN),
    "40P01": ("was changed by another program at the same moment.", _AGAIN),
    "42501": ("does not let this role in.", _RIGHTS),
    "42P01": ("has lost its tables.", RESTORE),
    "3F000": ("has lost its tables.", RESTORE),
    "53100": ("cannot be written: the disk is full.", "Free some space and ask again."),
    "55P03": ("is kept busy by another program.", "End the program that keeps its tables locked."),
    "57014": ("is kept busy by another program.", "End the program that keeps its tables locked."),
    "XX001": ("is damaged.", RESTORE),
    "XX002": ("is damaged.", RESTORE),
}
_BUSY_STATES = ("40001", "40P01", "55P03", "57014")

_OWN_REMEDIES = {NO_RIGHTS: _RIGHTS, NO_DATABASE: "Check its name, or create it: CREATE DATABASE …"}


def refused(address: LedgerAddress, refusal: Refusal) -> LedgerClosed:
    """Why its database cannot be used."""
    told_as = _busy if refusal.may_pass else _closed
    return told_as(address, refusal.problem_inside, _OWN_REMEDIES.get(refusal, refusal.remedy))


def told(address: LedgerAddress, error: "psycopg.Error") -> DiscreetError:
    """What went wrong on a connection that was there."""
    import psycopg

    from discreet.ledger.postgres.connection import Silent

    if isinstance(error, psycopg.DataError):
        return not_holdable()
    if isinstance(error, Silent):
        return _busy(address, *_SILENT)
    if is_lost(error):
        return _busy(address, *_LOST)
    state = error.sqlstate or ""
    told_as = _busy if state in _BUSY_STATES else _closed
    return told_as(address, *_BY_STATE.get(state, (f"cannot be used ({state}).", _LOOK)))


def is_lost(error: "psycopg.Error") -> bool:
    """Whether the server said nothing, or ended the connection: what it was doing may be done or not."""
    return error.diag.severity_nonlocalized != "ERROR"


def commit_unknown(address: LedgerAddress) -> LedgerClosed:
    """Nobody but the server knows whether the commit came through."""
    return _busy(
        address,
        "has lost the connection while an entry was written, so that it may have been made or not.",
        "Ask again. A charge that was made stays, and asking again is charged anew.",
    )


def not_taken(address: LedgerAddress) -> LedgerClosed:
    return _busy(address, "did not take what was added.", _AGAIN)


def kept_busy(address: LedgerAddress, holder: tuple[int, str | None] | None) -> LedgerClosed:
    """Somebody keeps the tables locked: a session of the server, and our process behind it, if known."""
    if holder is None:
        return _busy(address, *_BY_STATE["55P03"])
    session, process = holder
    who = "another program" if process is None else process
    return _busy(
        address,
        f"is kept busy by {who}, in session {session} of the server.",
        f"Look at that program, or end its session: SELECT pg_terminate_backend({session});",
    )


def no_rights(address: LedgerAddress) -> LedgerClosed:
    return _closed(address, *_BY_STATE["42501"])


def not_makeable(address: LedgerAddress) -> LedgerClosed:
    """Neither the schema nor its tables are there, and the role may not create them."""
    return _closed(
        address,
        "is not there yet, and this role may not make it.",
        f"Let an administrator run: CREATE SCHEMA {address.schema} AUTHORIZATION …, with this role.",
    )


def _closed(address: LedgerAddress, problem: str, remedy: str) -> LedgerClosed:
    return LedgerClosed(f"The ledger {address.name} {problem}", remedy=remedy)


def _busy(address: LedgerAddress, problem: str, remedy: str) -> LedgerBusy:
    """It may be over soon."""
    return LedgerBusy(f"The ledger {address.name} {problem}", remedy=remedy)
