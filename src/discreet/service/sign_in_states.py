"""What all processes and hosts of a service share for sign-ins at a provider."""

import secrets
from datetime import UTC, datetime, timedelta

from discreet.errors import NotSignedIn
from discreet.service.storage.database import Changes, ServiceDatabase
from discreet.service.storage.event_log import now_text
from discreet.service.tokens import digest_of

_KEY = "sign-in cookies"
_KEY_BYTES = 32
_KEPT = timedelta(hours=1)
"""Longer than the cookie of a sign-in lasts."""


class SignInStates:
    """The key that cookies of sign-ins are sealed with."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database
        self._key: bytes | None = None

    def key(self) -> bytes:
        """Made by whoever needs it first."""
        if self._key is None:
            with self._database.transaction() as changes:
                changes.change(
                    "INSERT INTO secrets VALUES (:name, :value) ON CONFLICT (name) DO NOTHING",
                    name=_KEY,
                    value=secrets.token_hex(_KEY_BYTES),
                )
                rows = changes.rows("SELECT value FROM secrets WHERE name = :name", name=_KEY)
            self._key = bytes.fromhex(rows[0]["value"])
        return self._key


def use_once(changes: Changes, state: str) -> None:
    """NotSignedIn if this sign-in was used before, by whichever process."""
    changes.change("DELETE FROM used_sign_ins WHERE expires < :now", now=now_text())
    added = changes.change(
        "INSERT INTO used_sign_ins VALUES (:state, :expires) ON CONFLICT (state) DO NOTHING",
        state=digest_of(state),
        expires=(datetime.now(UTC) + _KEPT).isoformat(),
    )
    if not added:
        raise NotSignedIn("This sign-in was used before.", remedy="Sign in again.")
