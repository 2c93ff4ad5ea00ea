"""A guess that passed its test, as text: everything in it is released."""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidInput
from discreet.synth.online.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The count of a question is near the guess, with a confidence. Numbers are in 1/unit of a person."""

    question: str
    """Its digest."""
    guess: int
    within: int
    confidence: Fraction

    def serves(self, question: str, within: Fraction, confidence: Fraction) -> bool:
        """Whether it answers what is asked now."""
        same = question == self.question
        return same and self.within <= within and self.confidence >= confidence

    def encode(self) -> bytes:
        fields = [self.question, self.guess, self.within, str(self.confidence)]
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> "Passed":
        try:
            question, guess, within, confidence = json.loads(stored)
            return cls(
                question=str(question),
                guess=int(guess),
                within=int(within),
                confidence=Fraction(confidence),
            )
        except (ValueError, TypeError, ZeroDivisionError):
            raise InvalidInput(
                "A stored answer that passed its test is damaged.", remedy="Run: discreet ledger verify"
            ) from None


def digest_of(question: Question) -> str:
    """The same for the same question, and only for it."""
    attributes, mask = question.key
    return hashlib.sha256(repr((attributes, question.mask.shape)).encode() + mask).hexdigest()
