"""Local privacy at 10⁴ options, ε = 1 and a million reports: error, bytes, and everyone's time.

The squared error of one estimate varies by 1.4 %, so the mean of 40 is compared with its target.
"""

import sys
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from timing import Figure, at_least, at_most, best_of_rounds, for_information, judge, show

from discreet.local.estimate import estimate
from discreet.local.mechanisms.randomness import Draws
from discreet.local.survey import NumberBetween, OneOf
from discreet.noise.entropy import SYSTEM

OPTIONS, EPSILON, PEOPLE = 10**4, 1, 10**6
DEVICES = 2_000  # reports made one by one
ROUNDS = 3
ESTIMATES = 40


def figures() -> list[Figure]:
    return [*_options(), *_others()]


def _options() -> list[Figure]:
    question = OneOf.ask("word", "Which word did you type?", OPTIONS, epsilon=EPSILON)
    mechanism, draws = question.mechanism, Draws()
    answers = np.minimum(np.random.default_rng().zipf(1.5, size=PEOPLE) - 1, OPTIONS - 1)
    reports = mechanism.randomise_many(answers, SYSTEM)
    tally = mechanism.tally(reports)
    truth = np.bincount(answers, minlength=OPTIONS) / PEOPLE
    found = estimate(question, tally)
    measured = _mean_squares(question, answers, truth)
    some = [int(answer) for answer in np.random.default_rng().integers(OPTIONS, size=DEVICES)]
    seconds = best_of_rounds(
        ROUNDS,
        {
            "simulation": lambda: mechanism.randomise_many(answers, SYSTEM),
            "check": lambda: mechanism.valid(reports),
            "tally": lambda: mechanism.tally(reports),
            "estimate": lambda: estimate(question, tally),
            "client": lambda: [mechanism.randomise(answer, draws) for answer in some],
        },
    )
    rows = [(name, f"{1000 * value:.1f}") for name, value in seconds.items()]
    show(f"{mechanism.name}: milliseconds for 10⁶ reports (client: 2,000)", ("part", "ms"), rows)
    where = "k = 10⁴, ε = 1, n = 10⁶"
    server = seconds["check"] + seconds["tally"] + seconds["estimate"]
    return [
        at_most(f"local: n·MSE, {where}", measured, 3.8, ""),
        for_information("… in theory", f"{mechanism.mean_variance:.3f}"),
        for_information(
            "… of the nearest distribution",
            f"{PEOPLE * float(np.mean((found.distribution - truth) ** 2)):.3g}",
        ),
        at_most("local: bytes a report", mechanism.size, 3, ""),
        at_most(f"local: check, count and estimate, {where}", server, 0.1, " s"),
        at_most("local: one report, Python", 1e6 * seconds["client"] / DEVICES, 50, " µs"),
        at_least("local: simulated reports a second", PEOPLE / seconds["simulation"], 1e6, ""),
    ]


def _mean_squares(question: OneOf, answers: NDArray[np.int64], truth: NDArray[np.float64]) -> float:
    squares = []
    for _ in range(ESTIMATES):
        tally = question.mechanism.tally(question.mechanism.randomise_many(answers, SYSTEM))
        squares.append(PEOPLE * float(np.mean((estimate(question, tally).shares - truth) ** 2)))
    return float(np.mean(squares))


def _others() -> list[Figure]:
    """One report of the other mechanisms that surveys choose."""
    draws = Draws()
    questions = {
        "yes or no": OneOf.ask("a", "?", 2, epsilon=EPSILON),
        "one of 100": OneOf.ask("b", "?", 100, epsilon=EPSILON),
        "one of 2²⁴": OneOf.ask("c", "?", 2**24, epsilon=Fraction(1, 2)),
        "a number": NumberBetween.ask("d", "?", 0, 1, epsilon=EPSILON),
    }
    calls = {
        name: lambda mechanism=question.mechanism: [mechanism.randomise(1, draws) for _ in range(DEVICES)]
        for name, question in questions.items()
    }
    seconds = best_of_rounds(ROUNDS, calls)
    return [
        for_information(
            f"local: one report, {name} ({questions[name].mechanism.name})",
            f"{1e6 * value / DEVICES:.1f} µs",
        )
        for name, value in seconds.items()
    ]


if __name__ == "__main__":
    sys.exit(judge(figures()))
