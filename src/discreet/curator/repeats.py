"""Answers that were paid for before, at the same price or at a higher one: that serves cheaper requests."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from discreet.answers.answer import Answer
from discreet.answers.wording import charge_text
from discreet.bounds.calibrate import Plan, budget_of
from discreet.curator.charging import ChargedData
from discreet.errors import DiscreetError
from discreet.ledger.interface import Answered
from discreet.model.policy import Dataset
from discreet.model.privacy import PureLoss, Spend, amount_of
from discreet.model.receipt import Receipt
from discreet.model.request import Within
from discreet.release.question_release import QuestionRelease


def dearer_answer(
    data: ChargedData, plan_at: Callable[..., Plan], release: QuestionRelease, *, changed: datetime | None
) -> Answer | None:
    """The answer of the same question that was paid for at the highest price, if that is higher.

    It is planned anew at that price (`plan_at`): what is stored is read by the plan that it was drawn for.
    """
    for receipt, stored in _dearer(data, release):
        try:
            plan = plan_at(**_price_of(receipt), confidence=release.plan.request.confidence)
        except DiscreetError:  # the policy allows no such price any more
            continue
        other = QuestionRelease(plan=plan, dataset=data.dataset)
        if other.identity() == receipt.key and _serves(plan, release.plan):
            return answer_of(
                data, other, receipt, stored, repeated=True, changed=changed, instead_of=release.loss
            )
    return None


def answer_of(
    data: ChargedData,
    release: QuestionRelease,
    receipt: Receipt,
    stored: bytes,
    *,
    repeated: bool,
    changed: datetime | None,
    instead_of: Spend | None = None,
) -> Answer:
    """An answer from what is stored; if it is given again, with what has to be known of that."""
    released = release.answer_from(receipt.key, stored, data.deadline())
    notes = _repeat_notes(receipt, data.dataset, instead_of, changed) if repeated else ()
    return Answer(
        released=replace(released, notes=(*notes, *released.notes)),
        charged=receipt.charged,
        left=data.left(),
        receipt=receipt,
        repeated=repeated,
        budget=budget_of(data.dataset),
    )


def _dearer(data: ChargedData, release: QuestionRelease) -> list[Answered]:
    """All answers of this question on this version of the data that cost more than this, the dearest first.

    None if there is one at this very price: that one is given again.
    """
    stored = data.ledger.stored_answers(data.dataset.name, release.at_any_price())
    least, key = amount_of(release.loss), release.identity()
    if any(each.receipt.key == key for each in stored):
        return []
    found = [each for each in stored if amount_of(each.receipt.charged) > least]
    return sorted(found, key=lambda each: -amount_of(each.receipt.charged))


def _price_of(receipt: Receipt) -> dict[str, Fraction]:
    """What was paid, to plan the same once more."""
    if isinstance(receipt.charged, PureLoss):
        return {"epsilon": receipt.charged.epsilon}
    return {"rho": receipt.charged.rho}


def _serves(paid: Plan, asked: Plan) -> bool:
    """Whether an answer is as accurate as was asked for. At a higher price it is; an error is compared."""
    if not isinstance(asked.request.price, Within):
        return True
    error = asked.request.price.error
    return all(paid.error(measure).high <= error for measure in paid.bounded.measures)


def _repeat_notes(
    receipt: Receipt, dataset: Dataset, instead_of: Spend | None, changed_since: datetime | None
) -> tuple[str, ...]:
    """What has to be known of an answer that is given again."""
    notes = []
    if instead_of is not None:
        paid, asked = (charge_text(loss, budget_of(dataset)) for loss in (receipt.charged, instead_of))
        notes.append(f"It was paid for before at {paid}, and is more accurate than was asked for at {asked}.")
    if changed_since is not None:
        notes.append(
            f"It is from {receipt.at:%Y-%m-%d %H:%M} UTC. The files have changed since"
            f" {changed_since:%Y-%m-%d %H:%M} UTC, and no new version was announced."
        )
    return tuple(notes)
