"""Who somebody is to an identity provider: `https://login.clinic.example#sub=24400320`.

An account is bound to one identity: the provider's address, what of a person it goes by (a claim of OpenID
Connect), and the value of that. The value is what the provider alone assigns. What people can choose
themselves, such as a name, would let one become another.
"""

import re
from dataclasses import dataclass

from discreet.errors import InvalidInput

_CHOSEN_BY_PEOPLE = ("name", "given_name", "family_name", "nickname", "preferred_username", "phone_number")
_NOT_OF_A_PERSON = (
    *("iss", "aud", "azp", "exp", "iat", "nbf", "nonce", "acr", "amr", "auth_time", "at_hash", "jti", "sid"),
    *("updated_at", "email_verified", "phone_number_verified", "locale", "zoneinfo", "gender", "birthdate"),
)
_CLAIM = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,99}")
_LONGEST_VALUE = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`str` gives the text that accounts are bound to."""

    issuer: str
    claim: str
    value: str

    def __str__(self) -> str:
        return f"{self.issuer}#{self.claim}={self.value}"


def read_identity(text: str) -> Identity:
    """From its text, which is as `str` writes it."""
    issuer, _, rest = text.strip().partition("#")
    claim, _, value = rest.partition("=")
    if not issuer.startswith(("https://", "http://")) or any(each in issuer for each in ' "?\\'):
        raise _no_identity()
    return checked_identity(issuer, claim, value)


def checked_identity(issuer: str, claim: str, value: object) -> Identity:
    """Email addresses are the same in capitals and small letters, if they are plain ASCII."""
    check_claim(claim)
    if not isinstance(value, str) or not value.isprintable() or not 1 <= len(value) <= _LONGEST_VALUE:
        raise _no_identity()
    if value != value.strip():
        raise _no_identity()
    same = value.lower() if claim == "email" and value.isascii() else value
    return Identity(issuer=issuer, claim=claim, value=same)


def check_claim(claim: str) -> None:
    """InvalidInput if it does not tell people apart for good."""
    if claim in _CHOSEN_BY_PEOPLE:
        raise InvalidInput(
            f"People can choose their “{claim}” themselves, so it cannot say who they are.",
            remedy="Use the claim sub, or email, or another that the provider alone assigns.",
        )
    if claim in _NOT_OF_A_PERSON or not _CLAIM.fullmatch(claim):
        raise InvalidInput(
            f"“{claim[:100]}” is not a claim that names a person.", remedy="Use the claim sub, or email."
        )


def _no_identity() -> InvalidInput:
    return InvalidInput(
        "This is not an identity.",
        remedy="Write the issuer, #, the claim, = and its value: https://login.clinic.example#sub=24400320",
    )
