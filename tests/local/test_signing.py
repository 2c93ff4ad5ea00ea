"""A signed survey is read only as it was written, and only by who knows the key."""

import json
from datetime import date

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import InvalidInput
from discreet.local.signing import key_in, open_signed, sign
from discreet.local.survey import OneOf, Survey

SURVEY = Survey(
    name="health",
    epoch=1,
    expires=date(2030, 1, 1),
    questions=(OneOf.ask("smokes", "Do you smoke? 🚬", ["no", "yes"], epsilon=1),),
)
SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
FILE = sign(SURVEY, SECRET)
KEY = SECRET.public_key().public_bytes_raw().hex()


def test_what_was_signed_is_read():
    assert open_signed(FILE, key=KEY) == SURVEY
    assert key_in(FILE) == KEY


@pytest.mark.parametrize("key", ["", "00" * 32, "zz" * 32, KEY[:-2], KEY + "00"])
def test_another_key_is_refused(key):
    with pytest.raises(InvalidInput, match="not signed by the key"):
        open_signed(FILE, key=key)


def test_the_key_of_the_file_is_not_trusted():
    other = Ed25519PrivateKey.generate()
    forged = sign(SURVEY, other)
    assert key_in(forged) != KEY
    with pytest.raises(InvalidInput, match="not signed by the key"):
        open_signed(forged, key=KEY)


@pytest.mark.parametrize("place", ["survey", "signature"])
def test_any_change_is_noticed(place):
    content = json.loads(FILE)
    for at in range(0, len(content[place]), 7):
        letter = "0" if content[place][at] != "0" else "1"
        altered = content[place][:at] + letter + content[place][at + 1 :]
        with pytest.raises(InvalidInput):
            open_signed(json.dumps({**content, place: altered}), key=KEY)


def test_a_signature_on_the_bare_text_is_none_on_a_survey():
    bare = SECRET.sign(SURVEY.text().encode()).hex()
    with pytest.raises(InvalidInput, match="not signed by the key"):
        open_signed(json.dumps({**json.loads(FILE), "signature": bare}), key=KEY)


@pytest.mark.parametrize(
    "file", ["", "{}", "null", "[1]", '{"survey": 1, "signature": 2, "key": 3}', "[" * 10**5]
)
def test_other_files_are_refused(file):
    with pytest.raises(InvalidInput, match="not a signed survey"):
        open_signed(file, key=KEY)
