"""Secrets that sign somebody in. They are shown once, and only their digests are kept.

A token has 256 random bits, so a plain SHA-256 of it cannot be reversed, and one index look-up by the digest
tells nothing by its time: whoever cannot guess the token cannot steer the digest.
"""

import hashlib
import secrets

_PREFIX = "discreet_"
_BYTES = 32


def new_token() -> str:
    """A token that nobody has; the prefix lets scanners of leaked secrets find it."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
