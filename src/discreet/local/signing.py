"""Who wrote a survey: an Ed25519 signature over its text (RFC 8032).

The signature is over the very bytes that are read, never over a rearrangement of them. A device pins the
key of whoever it was enrolled by; that a file brings its own key says nothing about who wrote it.
"""

import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import InvalidInput
from discreet.local.survey import LONGEST_TEXT, Survey, read_survey

_PREFIX = b"discreet survey\n"
"""So that a signature on something else is never one on a survey."""


def sign(survey: Survey, key: Ed25519PrivateKey) -> str:
    """The file that devices and collectors read."""
    text = survey.text()
    content = {
        "survey": text,
        "key": key.public_key().public_bytes_raw().hex(),
        "signature": key.sign(_PREFIX + text.encode()).hex(),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def open_signed(file: str, *, key: str) -> Survey:
    """The survey in a signed file, if whoever holds this key (32 bytes in hex) signed it."""
    text, signature, _ = _parts(file)
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            bytes.fromhex(signature), _PREFIX + text.encode()
        )
    except (InvalidSignature, ValueError):
        raise InvalidInput(
            "The survey is not signed by the key that you gave.",
            remedy="Ask whoever runs the survey for its file and its key.",
        ) from None
    return read_survey(text)


def key_in(file: str) -> str:
    """The key that a file says it is signed with: good to show to its owner, never to trust."""
    return _parts(file)[2]


def _parts(file: str) -> tuple[str, str, str]:
    try:
        content = json.loads(file[: 2 * LONGEST_TEXT])
        parts = content["survey"], content["signature"], content["key"]
    except (ValueError, TypeError, KeyError, RecursionError):
        parts = (None, None, None)
    if not all(isinstance(part, str) for part in parts):
        raise InvalidInput("This is not a signed survey.", remedy="Make one with `discreet local new`.")
    return parts
