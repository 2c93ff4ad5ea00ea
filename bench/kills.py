"""A service that is killed (SIGKILL) under load, and what is left of what was paid for.

    .venv/bin/python bench/kills.py --rounds 50

Four clients ask all the time. After each kill the ledger and the log are verified. At the end every answer
that was charged is fetched by its receipt, and compared with what its client was told.
"""

import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter

from timing import CONSOLE, Figure, for_information, judge

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.apps.server.killed_service import killed_service
from tests.attacks.ask import Clinic
from tests.servers.postgres import running_postgres

ROUNDS = 50


def figures(rounds: int = ROUNDS) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        found = _killed("SQLite", Path(folder), rounds, "")
    with tempfile.TemporaryDirectory() as folder, running_postgres() as server:
        return [*found, *_killed("PostgreSQL", Path(folder), rounds, f'ledger = "{server.url}#kills"')]


def _killed(kind: str, folder: Path, rounds: int, ledger: str) -> list[Figure]:
    start = perf_counter()
    report = killed_service(Clinic(folder, epsilon=900, dataset=f"answer_times = []\n{ledger}"), rounds)
    seconds = perf_counter() - start
    for problem in report.problems:
        CONSOLE.print(f"{kind}: {problem}")
    used_up = report.charges - report.drawn
    whole = report.fetched == report.drawn >= report.answered > 0
    return [
        for_information(f"kills, {kind}: rounds, seconds", f"{report.rounds}, {seconds:.0f}"),
        for_information(f"kills, {kind}: questions sent, without a reply", f"{report.asked}, {report.lost}"),
        for_information(f"kills, {kind}: charges, used up before a draw", f"{report.charges}, {used_up}"),
        Figure(f"kills, {kind}: answers fetched", str(report.drawn), str(report.fetched), whole),
        Figure(f"kills, {kind}: problems", "0", str(len(report.problems)), not report.problems),
    ]


if __name__ == "__main__":
    parser = ArgumentParser(description="Kill a service under load.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    CONSOLE.print("A service that is killed under load")
    sys.exit(judge(figures(parser.parse_args().rounds)))
