"""The key of a paid question: what it asks, its price, and the digest of exactly what is run.

    question-3:FAMILY:PRICE:REQUEST:DIGEST

All answers of one question at any price begin with the same family, and are sorted by their price. So a
ledger finds those that cost more with one look into its index. The request says how to plan such an answer
again: it is used only if that gives its key, to the last digit of the digest. So a family may be too large,
and never makes an answer wrong.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from discreet.bounds.calibrate import Plan
from discreet.bounds.facts import bounded_facts
from discreet.bounds.identity import question_identity
from discreet.errors import DiscreetError
from discreet.model.identity import Facts, identity_of
from discreet.model.privacy import AMOUNT_UNITS, DELTA_UNITS, PureLoss, Spend, amount_of
from discreet.model.request import ByEpsilon, ByRho, Request, Within

_ONE, _SEVERAL = "question-3", "questions-2"
_LONGEST_REQUEST = 120
"""Of a longer one, such as a fraction of many digits, the answer serves the same question only."""
_OF_LIMITS = frozenset({"weight", "largest", "values", "rows"})
"""What limits change. The best limits depend on the price, if there is a profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidKey:
    """The key of a question, taken apart."""

    family: str
    """With the kind and the currency."""
    amount: int
    delta: int
    request: str
    digest: str

    def __str__(self) -> str:
        return f"{self.family}{self.amount:024d}+{self.delta:020d}:{self.request}:{self.digest}"

    @classmethod
    def read(cls, key: str) -> "PaidKey | None":
        """None for all other keys."""
        kind, *rest = key.split(":")
        if kind not in (_ONE, _SEVERAL) or len(rest) != 4:
            return None
        family, price, request, digest = rest
        amount, _, delta = price[1:].partition("+")
        return cls(
            family=f"{kind}:{family}:{price[:1]}",
            amount=int(amount),
            delta=int(delta),
            request=request,
            digest=digest,
        )

    def dearer(self) -> tuple[str, str]:
        """The first key at this price or above, and the first that is none of this question."""
        return f"{self.family}{self.amount:024d}", f"{self.family}:"

    def covers(self, other: "PaidKey") -> bool:
        """Whether it is of the same question, and no component of its price is lower."""
        return self.family == other.family and self.amount >= other.amount and self.delta >= other.delta

    def asked(self, request: Request) -> Request | None:
        """What was asked then, at the confidence of this request unless it decided the price."""
        name, _, amount = self.request.partition("=")
        amount, _, confidence = amount.partition("@")
        with suppress(DiscreetError, ValueError, ZeroDivisionError):
            number = Fraction(amount)
            match name:
                case "epsilon":
                    return Request(price=ByEpsilon(epsilon=number), confidence=request.confidence)
                case "rho":
                    return Request(price=ByRho(rho=number), confidence=request.confidence)
                case "within":
                    return Request(price=Within(error=number), confidence=Fraction(confidence))
        return None


def question_key(plan: Plan) -> PaidKey:
    """The key of one private question."""
    return _key(_ONE, _family(plan), plan.loss, plan.request, question_identity(plan))


def questions_key(plans: Sequence[Plan], loss: Spend, request: Request) -> PaidKey:
    """The key of several that are drawn at once."""
    families: Facts = [*sorted(map(_family, plans))]
    return _key(_SEVERAL, _digest(families), loss, request, questions_identity(plans))


def questions_identity(plans: Sequence[Plan]) -> str:
    """What several were known by before keys had a price: of any of their orders the same."""
    return identity_of("questions", [*sorted(map(question_identity, plans))])


def _key(kind: str, family: str, loss: Spend, request: Request, identity: str) -> PaidKey:
    return PaidKey(
        family=f"{kind}:{family}:{'e' if isinstance(loss, PureLoss) else 'r'}",
        amount=ceil(amount_of(loss) * AMOUNT_UNITS),
        delta=ceil(loss.delta * DELTA_UNITS),
        request=_request_text(request),
        digest=digest_of(identity),
    )


def digest_of(identity: str) -> str:
    """Of exactly what is run, which is all of an identity but its kind and version."""
    return identity.rpartition(":")[2]


def _family(plan: Plan) -> str:
    """A digest of what is asked, without price and limits."""
    facts, picks = bounded_facts(plan.bounded), plan.bounded.query.picks
    parts = facts.pop("parts")
    texts = [
        json.dumps({name: fact for name, fact in part.items() if name not in _OF_LIMITS}, sort_keys=True)
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and "left_out_of" not in part
    ]
    chosen: Facts = None if picks is None else [picks.count, picks.aggregate.value]
    return _digest({**facts, "parts": [*sorted(texts)], "picks": chosen})


def _digest(facts: Facts) -> str:
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _request_text(request: Request) -> str:
    match request.price:
        case ByEpsilon(epsilon=epsilon):
            text = f"epsilon={epsilon}"
        case ByRho(rho=rho):
            text = f"rho={rho}"
        case Within(error=error):
            text = f"within={error}@{request.confidence}"
    return text if len(text) <= _LONGEST_REQUEST else "-"
