"""Answers that were paid at a higher price: they serve every cheaper request for the same, free.

That is post-processing of what is stored. What was asked then is planned again, by the policy of today. If
the plan has the key that is in the ledger, what was drawn is that of this plan.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
    _known: dict[str, R] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was planned when an answer was found: with a profile that is learnt of since, plans are others."""

    def find(self) -> Answered | None:
        """The most accurate one that costs no less in ε, or in ρ and in δ; None if there is none.

        Older versions knew the same question by other keys.
        """
        for release in self._as_before(self.release, self.release.plan.request):
            own = PaidKey.read(release.identity())
            found = None if own is None else self._found(own)
            if found is not None:
                return found
        return None

    def _as_before(self, release: R, request: Request) -> Iterator[R]:
        """A release, and the same as older versions planned it: with a part for each vector, or with joins
        along keys as all others on the person.
        """
        yield release
        ways = [release]
        if self.before is not None:
            with suppress(DiscreetError):
                ways.append(self.before(request))
                yield ways[-1]
        for way in ways:
            apart = way.apart()
            if apart is not None:
                yield cast(R, apart)

    def _found(self, own: PaidKey) -> Answered | None:
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
        if key not in self._known:
            found = self._planned_again(key)
            if found is None:
                return None
            self._known[key] = found
        return self._known[key]

    def _planned_again(self, key: str) -> R | None:
        paid, request = PaidKey.read(key), self.release.plan.request
        asked = None if paid is None else paid.asked(request)
        if asked is None:
            return None
        with suppress(DiscreetError):
            for found in self._as_before(self.again(asked), asked):
                if found.identity() == key:
                    plan = _at_confidence(found.plan, request.confidence)
                    return (
                        cast(R, replace(cast(Any, found), plan=plan)) if _is_within(plan, request) else None
                    )
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
