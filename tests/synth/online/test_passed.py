"""A guess that passed, as the ledger keeps it: for the question that it answers, and for no other."""

from fractions import Fraction

import pytest

from discreet.errors import InvalidInput
from discreet.synth.domain import Domain
from discreet.synth.online.passed import Passed, digest_of
from discreet.synth.online.question import Question

DOMAIN = Domain(sizes=(4, 4, 2))
PASSED = Passed(question="abc", guess=-3, within=40, confidence=Fraction(95, 100))


def test_it_is_read_as_it_was_written():
    assert Passed.decode(PASSED.encode()) == PASSED


@pytest.mark.parametrize(
    "stored",
    [b"", b"[]", b"{}", b"\xff", b'["a",1,2]', b'["a","x",2,"1/2"]', b'["a",1,2,"1/0"]', b"[1,2,3,null]"],
)
def test_what_is_damaged_is_refused(stored):
    with pytest.raises(InvalidInput, match="damaged"):
        Passed.decode(stored)


def test_no_two_questions_share_an_answer():
    """Also where columns of one size are asked about alike."""
    asked = [
        {},
        {0: [1]},
        {1: [1]},
        {0: [1, 2]},
        {2: [1]},
        {0: [1], 1: [1]},
        {0: [1], 2: [1]},
        {1: [1], 2: [1]},
    ]
    assert len({digest_of(Question.where(DOMAIN, each)) for each in asked}) == len(asked)
    assert digest_of(Question.where(DOMAIN, {1: [1], 0: [1]})) == digest_of(Question.where(DOMAIN, asked[5]))
