"""A million reports about one of 10,000 options through two collector processes, merged and estimated.

Reports come over HTTP, in batches of 1,000 as from a relay, and then 10,000 more one by one as from devices:
each is acknowledged when it is on the disk. Senders, collectors and disk share this machine.
"""

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter

import numpy as np
from timing import CONSOLE, Figure, at_least, at_most, for_information, judge, show

from discreet.local.batch import write_batch
from discreet.local.collector.counts import merge
from discreet.local.collector.store import counts_of_folder
from discreet.local.estimate import Shares, estimate
from discreet.local.survey import OneOf, Survey
from discreet.noise.entropy import SystemEntropy

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.local.collector.processes import Sender, running, signed_file

OPTIONS, REPORTS, SINGLE, BATCH = 10_000, 1_000_000, 10_000, 1_000
SENDERS = 16
LEAST_BATCHED, LEAST_SINGLE, LARGEST_ERROR = 50_000, 200, 3.8 * 1.1


def survey() -> Survey:
    question = OneOf.ask("town", "Where do you live?", OPTIONS, epsilon=1)
    return Survey(name="bench", epoch=1, expires=date.today() + timedelta(days=2), questions=(question,))


def sent(ports: Sequence[int], batches: Sequence[bytes]) -> float:
    """Seconds until all are acknowledged; the senders take turns between the collectors."""

    def keep_sending(sender: int) -> None:
        with Sender(ports[sender % len(ports)]) as connection:
            for batch in batches[sender::SENDERS]:
                status, receipt = connection.post(batch)
                if status != 200 or receipt["rejected"] or receipt["repeated"]:
                    raise RuntimeError(f"a batch was not taken: {status} {receipt}")

    start = perf_counter()
    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(keep_sending, range(SENDERS)))
    return perf_counter() - start


def figures() -> list[Figure]:
    asked = survey()
    (question,) = asked.questions
    answers = np.minimum(np.random.default_rng().geometric(0.05, REPORTS + SINGLE) - 1, OPTIONS - 1)
    reports = question.mechanism.randomise_many(answers.astype(np.int64), SystemEntropy())
    rows = [(0, row.tobytes()) for row in reports]
    many = [write_batch(asked, rows[start : start + BATCH]) for start in range(0, REPORTS, BATCH)]
    single = [write_batch(asked, [row]) for row in rows[REPORTS:]]
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        folder = Path(directory)
        path, key = signed_file(folder, asked)
        ports = [stack.enter_context(running(path, key, folder / name))[1] for name in ("north", "south")]
        batched, one_by_one = sent(ports, many), sent(ports, single)
        start = perf_counter()
        merged = merge(*(counts_of_folder(folder / name)[1] for name in ("north", "south")))
        found = estimate(question, merged.tallies[0])
        estimated = perf_counter() - start
    return shown(question, answers, found, merged.tallies[0], reports, batched, one_by_one, estimated)


def shown(
    question: OneOf,
    answers: np.ndarray,
    found: Shares,
    tally: np.ndarray,
    reports: np.ndarray,
    batched: float,
    one_by_one: float,
    estimated: float,
) -> list[Figure]:
    truth = np.bincount(answers, minlength=OPTIONS) / len(answers)
    off = found.shares - truth
    exact = np.array_equal(tally, question.mechanism.tally(reports))
    inside = float((np.abs(off) <= found.errors).mean())
    top = np.argsort(-truth)[:5]
    show(
        "The five largest towns",
        ("town", "truth", "share", "±"),
        [
            (str(town), f"{truth[town]:.4f}", f"{found.shares[town]:.4f}", f"{found.errors[town]:.4f}")
            for town in top
        ],
    )
    return [
        at_least(
            "collect: reports/s in batches of 1,000, two collectors", REPORTS / batched, LEAST_BATCHED, ""
        ),
        at_least("collect: reports/s one by one, two collectors", SINGLE / one_by_one, LEAST_SINGLE, ""),
        for_information("collect: read, merge and estimate 1,010,000 reports", f"{estimated:.2f} s"),
        Figure("collect: merged tallies are those of all reports", "exactly", str(exact), exact),
        at_most(
            "collect: n·MSE at k = 10,000, ε = 1", float((off**2).mean() * len(answers)), LARGEST_ERROR, ""
        ),
        for_information("collect: 95 % intervals that hold", f"{100 * inside:.1f} %"),
    ]


if __name__ == "__main__":
    CONSOLE.print("Two collectors, one million reports")
    sys.exit(judge(figures()))
