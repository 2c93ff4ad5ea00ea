"""Answers from what is stored: new ones, and those that were paid for before."""

from dataclasses import replace
from datetime import datetime

from discreet.answers.answer import Answer
from discreet.bounds.calibrate import budget_of
from discreet.curator.charging import ChargedData
from discreet.model.receipt import Receipt
from discreet.release.noisy.noisy_release import NoisyRelease
from discreet.release.question_release import QuestionRelease


def answer_of(
    data: ChargedData,
    release: QuestionRelease | NoisyRelease,
    receipt: Receipt,
    stored: bytes,
    *,
    repeated: bool,
    changed: datetime | None,
) -> Answer:
    """An answer from what is stored; if it is given again, with what has to be known of that."""
    released = release.answer_from(receipt.key, stored, data.deadline())
    notes = repeat_notes(receipt, changed) if repeated else ()
    return Answer(
        released=replace(released, notes=(*notes, *released.notes)),
        charged=receipt.charged,
        left=data.left(),
        receipt=receipt,
        repeated=repeated,
        budget=budget_of(data.dataset),
    )


def repeat_notes(receipt: Receipt, changed: datetime | None) -> tuple[str, ...]:
    """What has to be known of an answer that is given again."""
    if changed is None:
        return ()
    return (
        f"It is from {receipt.at:%Y-%m-%d %H:%M} UTC. The files have changed since"
        f" {changed:%Y-%m-%d %H:%M} UTC, and no new version was announced.",
    )
