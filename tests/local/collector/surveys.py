"""A survey with every kind of question, and people who answer it."""

from datetime import date

import numpy as np

from discreet.local.batch import write_batch
from discreet.local.survey import NumberBetween, OneOf, Survey
from discreet.noise.entropy import SystemEntropy

TODAY = date(2026, 11, 1)


def survey(*, epoch=1, expires=date(2026, 12, 31)):
    return Survey(
        name="health",
        epoch=epoch,
        expires=expires,
        questions=(
            OneOf.ask("smokes", "Do you smoke?", ["no", "yes"], epsilon=1),
            OneOf.ask("town", "Where do you live?", 1000, epsilon=2),
            NumberBetween.ask("hours", "How long do you sleep?", 0, 24, epsilon=1),
        ),
    )


def reports_of(asked, place, answers):
    """The randomised reports of people with these answers, as bytes."""
    mechanism = asked.questions[place].mechanism
    many = mechanism.randomise_many(np.asarray(answers, dtype=np.int64), SystemEntropy())
    return [row.tobytes() for row in many]


def people(asked, count):
    """One report of each person to each question: (place, report) of person after person."""
    columns = [
        reports_of(asked, place, np.arange(count) % min(3, question.mechanism.answers))
        for place, question in enumerate(asked.questions)
    ]
    return [[(place, column[person]) for place, column in enumerate(columns)] for person in range(count)]


def batches_of(asked, count, *, size=10):
    """Batches of `size` people each."""
    everyone = people(asked, count)
    return [
        write_batch(asked, [report for person in everyone[start : start + size] for report in person])
        for start in range(0, count, size)
    ]


def tallies_of(asked, batches):
    """What the batches come to, added up one by one with nothing that a collector does."""
    from discreet.local.batch import read_batch

    tallies = [np.zeros(question.mechanism.cells, dtype=np.int64) for question in asked.questions]
    for batch in batches:
        for place, reports in read_batch(batch, asked).reports.items():
            tallies[place] += asked.questions[place].mechanism.tally(reports)
    return tallies


def same(tallies, others):
    return len(tallies) == len(others) and all(
        np.array_equal(a, b) for a, b in zip(tallies, others, strict=True)
    )
