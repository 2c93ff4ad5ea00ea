"""Online answers: 2,000 random two-way range counts over four columns, each in ±1 % of all people at 95 %.

What they cost, in ε and in ρ: each paid by itself; by private multiplicative weights, at the best of several
learning rates (`pmw.py`); and by `discreet.synth.cached`. Whether the promised error holds is counted.
With `--adult FILE` the same on the Adult census (columns coded as integers, in a CSV file with a header).
"""

import argparse
import csv
import sys
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pmw import PrivateMultiplicativeWeights, WeightSettings
from timing import Figure, at_least, at_most, best_of_rounds, judge, show

from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.cached.readings import Pricing, Reading
from discreet.synth.cached.resolutions import radices
from discreet.synth.cached.strategy import Buy, FromCache, Online
from discreet.synth.core.domain import Domain

QUESTIONS, CONFIDENCE, SHARE = 2_000, Fraction(95, 100), Fraction(1, 100)
RUNS = 4
RATES = (0.05, 0.1, 0.2)
THRESHOLDS = (0.4, 0.6)
TABLE, SINGLE = Sensitivity.histogram(Neighbours.ADD_REMOVE), Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
SIZES = (9, 16, 7, 6)
COLUMNS = ("age", "education-num", "marital-status", "relationship")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Counts by four columns, and questions with their true answers."""

    domain: Domain
    counts: NDArray[np.int64]
    questions: list[CountingQuestion]

    @property
    def within(self) -> int:
        return int(SHARE * int(self.counts.sum()))

    def table(self, question: CountingQuestion) -> NDArray[np.int64]:
        return _margin(self.counts, question)

    def truth(self, question: CountingQuestion) -> int:
        return question.count(self.table(question))


def figures(adult: Path | None = None) -> list[Figure]:
    found = _compared("made-up people", _people())
    if adult:
        found += _compared("Adult", _adult(adult))
    return [*found, *_speed()]


def _compared(name: str, counts: NDArray[np.int64]) -> list[Figure]:
    domain = Domain(sizes=counts.shape)
    workload = Workload(domain=domain, counts=counts, questions=_ranges(domain))
    each = {
        "ε": QUESTIONS * DiscreteLaplace.for_error(workload.within, CONFIDENCE).loss(SINGLE).epsilon,
        "ρ": QUESTIONS * DiscreteGaussian.for_error(workload.within, CONFIDENCE).loss(SINGLE).rho,
    }
    weights = _best_weights(workload)
    rows, found = [], []
    for unit in ("ε", "ρ"):
        spent, held, kinds = _online(workload, concentrated=unit == "ρ")
        rows.append(
            (unit, f"{float(each[unit]):.4g}", f"{weights[unit]:.4g}", f"{spent:.4g}", f"{held:.1%}", kinds)
        )
        found += [
            at_least(f"online, {name}: {unit} of paying each / ours", float(each[unit]) / spent, 5, "×"),
            at_least(
                f"online, {name}: {unit} of multiplicative weights / ours", weights[unit] / spent, 1.7, "×"
            ),
            at_least(f"online, {name}: answers in ±1 %, {unit}", 100 * held, 95, " %"),
        ]
    columns = ("budget", "paying each", "weights", "ours", "answers in ±1 %", "cache / paid / bought")
    show(
        f"{name}: {QUESTIONS:,} range counts, n = {int(counts.sum()):,}, {domain.cells:,} cells",
        columns,
        rows,
    )
    return found


def _online(workload: Workload, *, concentrated: bool) -> tuple[float, float, str]:
    """The mean cost, the share of answers within the error, and how often which way was taken."""
    pricing = Pricing(concentrated=concentrated, table=TABLE, single=SINGLE)
    spent, held, kinds = 0.0, 0, {"FromCache": 0, "Pay": 0, "Buy": 0}
    for _ in range(RUNS):
        online = Online(workload.domain, pricing)
        for question in workload.questions:
            step = online.decide(question, within=workload.within, confidence=CONFIDENCE)
            kinds[type(step).__name__] += 1
            if not isinstance(step, FromCache):
                bought = isinstance(step, Buy)
                exact = workload.table(question) if bought else workload.truth(question)
                online.learn(*step.measure(exact))
                spent += _amount(step.loss)
            held += abs(online.answer(question).value - workload.truth(question)) <= workload.within
    shown = " / ".join(f"{count / RUNS:.0f}" for count in kinds.values())
    return spent / RUNS, held / (RUNS * QUESTIONS), shown


def _best_weights(workload: Workload) -> dict[str, float]:
    """The least that private multiplicative weights cost, over learning rates and thresholds."""
    people = float(workload.counts.sum())
    normal = DiscreteGaussian.for_error(workload.within, CONFIDENCE).loss(SINGLE).rho
    best = {"ε": float("inf"), "ρ": float("inf")}
    for rate in RATES:
        for share in THRESHOLDS:
            settings = WeightSettings.for_error(workload.within, CONFIDENCE, SINGLE, rate=rate, share=share)
            charged: list[Any] = []
            learnt = PrivateMultiplicativeWeights(
                workload.domain, settings, SINGLE, charged.append, people=people
            )
            for question in workload.questions:
                learnt.ask(question, workload.truth(question))
            runs = len(charged) - learnt.updates
            tests = settings.test.loss(SINGLE).concentrated().rho
            best["ε"] = min(best["ε"], float(sum(loss.epsilon for loss in charged)))
            best["ρ"] = min(best["ρ"], float(runs * tests + learnt.updates * normal))
    return best


def _speed() -> list[Figure]:
    """A range over a table of 2¹⁶ cells, where other tables are known too."""
    pricing = Pricing(concentrated=True, table=TABLE, single=SINGLE)
    domain, noise = Domain(sizes=(256, 256, 16)), pricing.single_noise(4.0)
    online = Online(domain, pricing)
    for attributes in ((0, 1), (0, 2), (1, 2), (0,), (1,)):
        levels = tuple(len(radices(domain.sizes[a])) for a in attributes)
        counts = noise.release(np.zeros(prod(domain.sizes[a] for a in attributes), dtype=np.int64))
        online.learn(Reading(attributes=attributes, levels=levels, mask=None, noise=noise, counts=counts))
    question = CountingQuestion.where(domain, {0: range(20, 200), 1: range(10, 99)})
    calls = {
        "decide": lambda: online.decide(question, within=10**6, confidence=CONFIDENCE),
        "answer": lambda: online.answer(question),
    }
    seconds = best_of_rounds(10, calls)
    both = 1000 * (seconds["decide"] + seconds["answer"])
    return [at_most("online: decide and answer from the cache, 2¹⁶ cells", both, 20, " ms")]


def _ranges(domain: Domain) -> list[CountingQuestion]:
    chance, found = np.random.default_rng(1), []
    for _ in range(QUESTIONS):
        chosen = chance.choice(len(domain.sizes), 2, replace=False)
        ends = {int(a): sorted(chance.integers(0, domain.sizes[a], 2)) for a in chosen}
        found.append(
            CountingQuestion.where(domain, {a: range(low, high + 1) for a, (low, high) in ends.items()})
        )
    return found


def _people(count: int = 50_000) -> NDArray[np.int64]:
    """Four strongly dependent columns: uneven, and each drawn near its predecessor."""
    chance = np.random.default_rng(2)
    first = np.minimum(chance.gamma(3.0, 1.2, count), SIZES[0] - 1).astype(np.int64)
    columns = [first]
    for size in SIZES[1:]:
        centre = columns[-1] * size / (columns[-1].max() + 1)
        near = np.clip(np.round(chance.normal(centre, size / 8)), 0, size - 1).astype(np.int64)
        columns.append(np.where(chance.random(count) < 0.7, near, chance.zipf(2.0, count) % size))
    return _counted(columns, SIZES)


def _adult(file: Path) -> NDArray[np.int64]:
    """Age in decades, years of education, marital status, relationship."""
    with file.open(newline="") as rows:
        people = list(csv.DictReader(rows))
    columns = [np.array([int(person[name]) for person in people]) for name in COLUMNS]
    columns[0] = np.minimum(columns[0] // 10, 8)
    return _counted(columns, SIZES)


def _counted(columns: list[NDArray[np.int64]], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    counts = np.zeros(sizes, dtype=np.int64)
    np.add.at(counts, tuple(columns), 1)
    return counts


def _margin(counts: NDArray[np.int64], question: CountingQuestion) -> NDArray[np.int64]:
    others = tuple(a for a in range(counts.ndim) if a not in question.attributes)
    return np.asarray(counts.sum(axis=others))


def _amount(loss: Any) -> float:
    return float(loss.rho if hasattr(loss, "rho") else loss.epsilon)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path)
    sys.exit(judge(figures(parser.parse_args().adult)))
