"""Which ledger belongs to a policy. Everything that opens one goes through here."""

from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InvalidInput
from discreet.ledger.database_ledger import DatabaseLedger
from discreet.ledger.postgres.ledger import PostgresLedger
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.policy.reader import read_policy
from discreet.postgres.address import is_postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPlace:
    """Where a ledger is, and where its anchor is."""

    location: str
    """A file, or postgresql://HOST/DATABASE#SCHEMA."""
    anchor: Path


def place_of(policy: Path, declared: str | None) -> LedgerPlace:
    """Beside the policy if it declares nothing else: clinic.toml has clinic.ledger and clinic.ledger.anchor.

    A ledger that moves into PostgreSQL keeps this anchor. So it cannot start anew and forget what was spent.
    """
    if declared is not None and is_postgres(declared):
        return place_named(declared, policy)
    file = policy.with_suffix(".ledger") if declared is None else policy.parent / declared
    return place_named(str(file), policy)


def place_named(location: str, policy: Path) -> LedgerPlace:
    """A file's anchor is beside it; that of a server is beside the policy."""
    file = policy.with_suffix(".ledger") if is_postgres(location) else Path(location)
    return LedgerPlace(location=location, anchor=file.with_name(file.name + ".anchor"))


def place_named_by(policy: Path) -> LedgerPlace:
    """The place that a policy declares; a policy that is not there declares nothing."""
    return place_of(policy, read_policy(policy).ledger if policy.exists() else None)


def open_ledger(place: LedgerPlace) -> DatabaseLedger:
    if is_postgres(place.location):
        return PostgresLedger(place.location, anchor=place.anchor)
    return SqliteLedger(place.location, anchor=place.anchor)


def open_existing(place: LedgerPlace) -> DatabaseLedger:
    """A ledger that is there already: looking at one must not make one."""
    ledger = open_ledger(place)
    if not ledger.exists():
        shown = ledger.name if is_postgres(place.location) else place.location
        raise InvalidInput(
            f"There is no ledger “{shown}”.",
            remedy="It is made by the first question; name it with --policy or --ledger.",
        )
    return ledger
