"""How far answers are from plain SQL, beside OpenDP's and Tumult's at the same limits and the same total ε.

    .venv/bin/python bench/truth_peers.py [repeats] --opendp PYTHON --tumult PYTHON

Both peers run for real, each by a Python of its own: `peers/README.md` says how to make these. Without the
options, DISCREET_BENCH_OPENDP and DISCREET_BENCH_TUMULT say where they are. What is measured is the mean
absolute error against the plain answer, over all groups of a question.

- **Same limits**: what the policy of each table declares (`truth_tables.py`).
- **Limits from the profile**: everybody pays 0.1 of ε = 1 for the same profile, and takes the limit that it
  says is best.

Both peers truncate: of each person they keep at most `max_rows` rows, or `max_groups` groups where people are
counted, and add noise for that. OpenDP does it by `truncate_per_group`, Tumult by `MaxRowsPerID`,
`MaxGroupsPerID` and `MaxRowsPerGroupPerID`, both under pure differential privacy.

24 of the 100 questions are asked: counts and sums, of all rows and by group.

Also printed: how wide our intervals are, beside those of the best fixed limit in hindsight. That limit is the
one with the least sum of noise and of what it leaves out in truth, which nobody can know.
"""

import argparse
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
from peer_runs import PEERS, Jobs, PeerQuestion, pythons, run
from timing import CONSOLE, Figure, at_least, at_most, for_information, show
from truth import EPSILON, PROFILE, Asked, open_case
from truth_tables import CASES, Case, Question

REPEATS = 20
TITLES = {
    "clinic": ("count", "sum", "count by ward", "sum by ward", "people by ward", "by month"),
    "RAND": ("count", "sum", "count by plan", "sum by plan", "people by plan"),
    "flights": ("count", "sum", "count by carrier", "sum by carrier", "planes by carrier", "count by origin"),
    "orders": (
        "count",
        "sum",
        "count by priority",
        "sum by priority",
        "items",
        "quantity",
        "items by returned",
    ),
}
LIMITS = sorted({*range(1, 13), *(2**i for i in range(11)), *(3 * 2**i for i in range(9)), 36, 40, 150, 600})
HOW = {"same": "same limits", "best": "limits from the profile"}


@dataclass
class Measured:
    """One question: our errors, and what peers are asked."""

    title: tuple[str, str]
    truth: dict[str, float]
    width: float
    hindsight: float
    jobs: dict[str, Jobs]
    errors: dict[str, dict[str, float]] = field(default_factory=dict)
    """By how limits are chosen, and by who answers."""


def measure(
    case: Case,
    asked: Asked,
    plain: duckdb.DuckDBPyConnection,
    question: Question,
    repeats: int,
    folder: Path,
) -> Measured:
    peer = PeerQuestion.of(question, asked)
    truth = {
        str(row[0]) if peer.key else "": float(row[-1]) for row in plain.execute(question.sql).fetchall()
    }
    file = folder / f"{case.name} {question.title}.parquet"
    (rows,) = plain.execute(f"COPY ({peer.rows}) TO '{file}'").fetchone()
    ours: dict[str, list[float]] = {how: [] for how in HOW}
    limits: dict[str, Counter[int]] = {how: Counter() for how in HOW}
    widths, keys = [], [""]
    for _ in range(repeats):
        for how, profiles in (("same", None), ("best", asked.profiles())):
            plan = asked.plan(question.sql, _price(how), profiles)
            answer = asked.answer(plan)
            if peer.key:
                (name,) = [each for each in answer.columns if each != "v"]
                keys = [str(key) for key in answer.values[name].tolist()]
            exact = np.array([truth.get(key, 0.0) for key in keys])
            ours[how].append(float(np.abs(answer.values["v"] - exact).mean()))
            source = plan.bounded.query.source
            limits[how][source.max_groups if peer.kind == "people" else source.max_rows] += 1
            if how == "best":
                widths.append(float(np.median(answer.high["v"] - answer.low["v"])))
    jobs = {how: Jobs(peer, str(file), rows, keys, _price(how), limits[how]) for how in HOW}
    return Measured(
        title=(case.name, question.title),
        truth=truth,
        width=float(np.median(widths)),
        hindsight=_hindsight(asked, plain, peer, truth),
        jobs=jobs,
        errors={how: {"discreet": float(np.mean(ours[how]))} for how in HOW},
    )


def _price(how: str) -> float:
    return EPSILON - (PROFILE if how == "best" else 0)


def _hindsight(
    asked: Asked, plain: duckdb.DuckDBPyConnection, peer: PeerQuestion, truth: dict[str, float]
) -> float:
    """The least width that a fixed limit could have: noise on both sides, and what is left out of a group."""
    most = asked.most(peer.table, people=peer.kind == "people")
    widths = []
    for limit in [each for each in LIMITS if each <= most]:
        values = peer.truncated(plain, limit)
        lost = np.median([truth[key] - values.get(key, 0.0) for key in truth])
        widths.append(2 * np.log(20) * limit * peer.largest / EPSILON + max(float(lost), 0.0))
    return float(min(widths))


def figures(repeats: int = REPEATS, peers: dict[str, str] | None = None) -> list[Figure]:
    warnings.simplefilter("ignore")
    peers = pythons() if peers is None else peers
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [each for case in CASES for each in _of_case(case, repeats, folder)]
        for peer, python in peers.items():
            _ask(peer, python, found, folder)
    _show(found, list(peers))
    widths = [each.width / each.hindsight for each in found]
    return [
        *(figure for peer in PEERS for figure in _compared(found, peer, peer in peers)),
        at_most(
            "truth: width beside the best fixed limit in hindsight (median)", float(np.median(widths)), 2, "×"
        ),
    ]


def _of_case(case: Case, repeats: int, folder: Path) -> list[Measured]:
    with tempfile.TemporaryDirectory() as own:
        asked, plain = open_case(case, 0, Path(own))
        chosen = [question for question in case.questions if question.title in TITLES[case.name]]
        return [measure(case, asked, plain, question, repeats, folder) for question in chosen]


def _ask(peer: str, python: str, found: list[Measured], folder: Path) -> None:
    answers = iter(run(peer, python, [each.jobs[how] for how in HOW for each in found], folder))
    for how in HOW:
        for each in found:
            each.errors[how][peer] = each.jobs[how].error(next(answers), each.truth)


def _show(found: list[Measured], peers: list[str]) -> None:
    for how, title in HOW.items():
        rows = []
        for each in found:
            ours = each.errors[how]["discreet"]
            theirs = [each.errors[how][peer] for peer in peers]
            used = ", ".join(str(limit) for limit in sorted(each.jobs[how].limits))
            texts = [f"{error:,.1f} ({error / ours:.2f}×)" for error in theirs]
            rows.append(
                (*each.title, used, f"{ours:,.1f}", *texts, "" if all(e >= ours for e in theirs) else "lost")
            )
        columns = ("table", "question", "limit", "discreet", *peers, "")
        show(f"Mean absolute error against the plain answer, {title}", columns, rows)
    rows = [(*each.title, f"{each.width / each.hindsight:.2f}×") for each in found]
    show("Our width beside the best fixed limit in hindsight", ("table", "question", "ratio"), rows)


def _compared(found: list[Measured], peer: str, ran: bool) -> list[Figure]:
    if not ran:
        return [for_information(f"truth: error of {peer}", "not run: see bench/peers/README.md")]
    made = []
    for how, title in HOW.items():
        ratios = [each.errors[how][peer] / each.errors[how]["discreet"] for each in found]
        nearer = sum(ratio >= 1 for ratio in ratios)
        made.append(at_least(f"truth: error of {peer}, {title} (median)", float(np.median(ratios)), 1, "×"))
        made.append(
            for_information(
                f"truth: questions with less error than {peer}, {title}", f"{nearer} of {len(found)}"
            )
        )
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Errors beside OpenDP's and Tumult's.")
    parser.add_argument("repeats", nargs="?", type=int, default=REPEATS)
    for each in PEERS.values():
        parser.add_argument(f"--{each}", metavar="PYTHON", help=f"the interpreter that has {each}")
    options = parser.parse_args()
    for figure in figures(options.repeats, pythons(options)):
        CONSOLE.print(figure)
