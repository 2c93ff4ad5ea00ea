"""Answers that were paid at a higher price: they serve every cheaper request for the same, free.

That is post-processing of what is stored. What was asked then is planned again, by the policy of today. If
the plan has the key that is in the ledger, what was drawn is that of this plan.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar, cast

from discreet.bounds.calibrate import Plan
from discreet.bounds.leaves import LeavesPlan
from discreet.bounds.paid_key import PaidKey
from discreet.curator.charging import ChargedData
from discreet.errors import DiscreetError
from discreet.ledger.interface import Answered
from discreet.model.request import Request, Within
from discreet.release.noisy.noisy_release import NoisyRelease
from discreet.release.question_release import QuestionRelease
from discreet.release.report.report_release import ReportRelease

_MOST_KEYS, _MOST_PLANS = 64, 8
"""How many dearer answers are looked at, and how many of them are planned again, before it is charged."""

DearerQuestion: TypeAlias = "DearerAnswers[QuestionRelease | NoisyRelease]"
R = TypeVar("R", bound=QuestionRelease | NoisyRelease | ReportRelease)
P = TypeVar("P", bound=Plan | LeavesPlan)


@dataclass(frozen=True, slots=True, kw_only=True)
class DearerAnswers(Generic[R]):
    """Those of one question, or of one report."""

    data: ChargedData
    release: R
    again: Callable[[Request], R]
    """The same question at another price, or within another error."""
    before: Callable[[Request], R] | None = None
    """The same as older versions planned it, if they did so in another way."""

    def find(self) -> Answered | None:
        """The most accurate one that costs no less in ε, or in ρ and in δ; None if there is none."""
        return self._find(self.release) or self._find(self._planned_before())

    def _planned_before(self) -> R | None:
        if self.before is not None:
            with suppress(DiscreetError):
                return self.before(self.release.plan.request)
        return None

    def _find(self, release: R | None) -> Answered | None:
        own = None if release is None else PaidKey.read(release.identity())
        if own is None:
            return None
        name, ledger = self.data.dataset.name, self.data.ledger
        keys = ledger.stored_keys(name, *own.dearer(), most=_MOST_KEYS)
        known = [(key, found) for key in keys if (found := PaidKey.read(key)) and found.covers(own)]
        known.sort(key=lambda each: each[1].digest != own.digest)  # the same draw, asked for in other words
        for key, _ in known[:_MOST_PLANS]:
            if self._planned(key) is not None:
                return ledger.stored_answer(name, key)
        return None

    def stored(self) -> Answered | None:
        """What was drawn before, at this price or a higher one. Never charges."""
        return self.data.stored(self.release) or self.find()

    def is_dearer(self, key: str) -> bool:
        """Whether what has this key cost more than this."""
        own, paid = PaidKey.read(self.release.identity()), PaidKey.read(key)
        return own is not None and paid is not None and (paid.amount, paid.delta) != (own.amount, own.delta)

    def release_of(self, key: str) -> R:
        """The release that was drawn under this key: this one, or a dearer one."""
        found = None if key == self.release.identity() else self._planned(key)
        return self.release if found is None else found

    def _planned(self, key: str) -> R | None:
        """What was asked under a key of the ledger; None if it is another today, or not accurate enough."""
        paid, request = PaidKey.read(key), self.release.plan.request
        asked = None if paid is None else paid.asked(request)
        if asked is None:
            return None
        for again in (self.again, *([] if self.before is None else [self.before])):
            with suppress(DiscreetError):
                found = again(asked)
                plan = _at_confidence(found.plan, request.confidence)
                if found.identity() == key and _is_within(plan, request):
                    return cast(R, replace(cast(Any, found), plan=plan))
        return None


def _at_confidence(plan: P, confidence: Fraction) -> P:
    """The same noise; its errors are stated at another confidence."""
    request = replace(plan.request, confidence=confidence)
    if isinstance(plan, LeavesPlan):
        leaves = tuple(_at_confidence(leaf, confidence) for leaf in plan.leaves)
        return replace(plan, leaves=leaves, request=request)
    return replace(plan, request=request)


def _is_within(plan: Plan | LeavesPlan, request: Request) -> bool:
    """Whether it is as accurate as was asked for, if an accuracy was."""
    if not isinstance(request.price, Within):
        return True
    plans = plan.leaves if isinstance(plan, LeavesPlan) else (plan,)
    return all(
        each.error(measure).high <= request.price.error for each in plans for measure in each.bounded.measures
    )
