"""Answers from what is stored: new ones, and those that were paid for before."""

from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.answers.wording import charge_text
from discreet.bounds.calibrate import budget_of
from discreet.curator.charging import ChargedData
from discreet.curator.dearer_answers import DearerQuestion
from discreet.model.policy import Dataset
from discreet.model.privacy import share_of
from discreet.model.receipt import Receipt


def answer_of(
    data: ChargedData,
    dearer: DearerQuestion,
    receipt: Receipt,
    stored: bytes,
    *,
    repeated: bool,
    changed: datetime | None,
) -> Answer:
    """An answer from what is stored; if it is given again, with what has to be known of that."""
    released = dearer.release_of(receipt.key).answer_from(receipt.key, stored, data.deadline())
    notes = repeat_notes(receipt, changed) if repeated else ()
    return Answer(
        released=replace(released, notes=(*notes, *released.notes)),
        charged=receipt.charged,
        left=data.left(),
        receipt=receipt,
        repeated=repeated,
        dearer=repeated and dearer.is_dearer(receipt.key),
        budget=budget_of(data.dataset),
    )


def told_free(found: Explanation, receipt: Receipt, dataset: Dataset) -> Explanation:
    """The explanation of what was paid for before: nothing more is spent, and nothing more is told."""
    budget = budget_of(dataset)
    paid = charge_text(receipt.charged, budget, of=" of the budget")
    return replace(
        found,
        loss=share_of(budget, Fraction(0)),
        epsilon=0.0,
        share=0.0,
        questions_left=None,
        posterior=0.5,
        posterior_chance=0.0,
        alternatives=(),
        way=f"It was answered before, on {receipt.at:%Y-%m-%d}, at {paid}: that answer is given again, free.",
    )


def repeat_notes(receipt: Receipt, changed: datetime | None) -> tuple[str, ...]:
    """What has to be known of an answer that is given again."""
    if changed is None:
        return ()
    return (
        f"It is from {receipt.at:%Y-%m-%d %H:%M} UTC. The files have changed since"
        f" {changed:%Y-%m-%d %H:%M} UTC, and no new version was announced.",
    )
