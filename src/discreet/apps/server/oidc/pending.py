"""What a browser keeps while it is at the provider: sealed, in a cookie, for ten minutes.

So every process and every host that serves can take up what another began, and visitors who never come back
leave nothing behind. That a sign-in is used once is kept in the service's database, when it succeeds.
"""

import base64
import hashlib
import json
import secrets
from dataclasses import asdict, dataclass

from cryptography.fernet import Fernet, InvalidToken

PENDING_SECONDS = 600
_LONGEST = 4_000
_LONGEST_PATH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """One sign-in that was begun."""

    state: str
    """Comes back in the address: what was not begun in this browser is refused."""
    nonce: str
    """Comes back inside the ID token: one that was made for another sign-in is refused."""
    verifier: str
    """Of PKCE: whoever finds the code on its way cannot use it."""
    then: str
    """The page to go to."""

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def new_pending(then: str) -> PendingSignIn:
    """All random. A path that is too long for a cookie is forgotten."""
    short = then if len(then.encode(errors="replace")) <= _LONGEST_PATH else ""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return PendingSignIn(state=state, nonce=nonce, verifier=verifier, then=short)


def sealed(pending: PendingSignIn, key: bytes) -> str:
    """For a cookie. Only who has the key can read or make it."""
    text = json.dumps(asdict(pending), ensure_ascii=False).encode(errors="replace")
    return _box(key).encrypt(text).decode("ascii")


def unsealed(text: str, key: bytes) -> PendingSignIn | None:
    """None if it is not ours, or too old."""
    if not text or len(text) > _LONGEST or not text.isascii():
        return None
    try:
        return PendingSignIn(**json.loads(_box(key).decrypt(text.encode("ascii"), ttl=PENDING_SECONDS)))
    except (InvalidToken, ValueError, TypeError):
        return None


def _box(key: bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(key))
