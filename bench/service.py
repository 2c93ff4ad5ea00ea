"""The service over HTTP on loopback: what it adds to a question, explanations a second, many clients at once,
and the page to ask in a browser.

Answer times are off. Clients and the service share this machine. Questions are all different, so that each is
planned, charged, read and stored.
"""

import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from time import perf_counter

from timing import CONSOLE, Figure, at_least, at_most, for_information, judge

from discreet.curator.ledgers import open_existing, place_named_by
from discreet.curator.open_policy import open_curator
from discreet.ledger.interface import EntryKind

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.apps.server.running_service import Client, add_account, running
from tests.attacks.ask import Clinic

MOST_ADDED, LEAST_EXPLAINED, MOST_TIMES_MEDIAN, MOST_GROWTH = 10.0, 200.0, 5.0, 10.0
MOST_PAGE, MOST_KILOBYTES, PAGES = 1_000.0, 300.0, 7
PAIRS, EXPLANATIONS, EXPLAINERS, WORKERS = 100, 1_000, 4, 2
CLIENTS, QUESTIONS_EACH = 50, 20
LONG_RUN, WARM_UP, LONG_CLIENTS = 5_000, 1_000, 4
PRICE = 0.1
"""Of each question: the least that a policy with a budget of 900 takes is 0.09."""

numbers = count()


def question() -> str:
    """One that nobody asked before."""
    return f"SELECT count(*) AS n FROM visits WHERE cost < {next(numbers)}.25"


def ask(client: Client) -> int:
    told = client.ask(question(), epsilon=PRICE)
    if told.status != 200:
        raise RuntimeError(f"a question was not answered: {told.status} {told.body!r}")
    return int(told.json["receipt"]["number"])


def milliseconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return 1_000 * (perf_counter() - start)


def added_by_http(clinic: Clinic, client: Client) -> tuple[float, float]:
    """Medians of the same kind of question: asked of a curator here, and over HTTP. They take turns."""
    with open_curator(clinic.policy, analyst="here", answer_times=()) as curator:
        for _ in range(10):
            curator.ask(question(), epsilon=PRICE)
            ask(client)
        pairs = [
            (milliseconds(lambda: curator.ask(question(), epsilon=PRICE)), milliseconds(lambda: ask(client)))
            for _ in range(PAIRS)
        ]
    here, over_http = zip(*pairs, strict=True)
    return statistics.median(here), statistics.median(over_http)


def explained_a_second(port: int, token: str) -> float:
    def keep_explaining(_: int) -> None:
        with Client(port, token) as client:
            for _ in range(EXPLANATIONS // EXPLAINERS):
                if client.explain(question(), epsilon=PRICE).status != 200:
                    raise RuntimeError("a question was not explained")

    start = perf_counter()
    with ThreadPoolExecutor(EXPLAINERS) as clients:
        list(clients.map(keep_explaining, range(EXPLAINERS)))
    return EXPLANATIONS / (perf_counter() - start)


def many_clients(port: int, tokens: Sequence[str]) -> list[float]:
    """Seconds that each client took for all its questions, all at the same time."""

    def keep_asking(token: str) -> float:
        start = perf_counter()
        with Client(port, token, timeout=300) as client:
            for _ in range(QUESTIONS_EACH):
                ask(client)
        return perf_counter() - start

    with ThreadPoolExecutor(len(tokens)) as clients:
        return list(clients.map(keep_asking, tokens))


def megabytes_of(process: int) -> float:
    """What a process has in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def growth(port: int, token: str, process: int) -> tuple[float, float]:
    """Megabytes after a warm-up, and after all questions."""

    def keep_asking(questions: int) -> None:
        with Client(port, token) as client:
            for _ in range(questions):
                ask(client)

    with ThreadPoolExecutor(LONG_CLIENTS) as clients:
        list(clients.map(keep_asking, [WARM_UP // LONG_CLIENTS] * LONG_CLIENTS))
        before = megabytes_of(process)
        list(clients.map(keep_asking, [(LONG_RUN - WARM_UP) // LONG_CLIENTS] * LONG_CLIENTS))
    return before, megabytes_of(process)


def page_load(port: int, token: str) -> tuple[float, float]:
    """Milliseconds until the page to ask is there and explained, with nothing kept; and its kilobytes."""
    from playwright.sync_api import expect, sync_playwright

    from tests.apps.server.console.conftest import ARGUMENTS, BROWSERS

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise RuntimeError("there is no Chromium: run tests/servers/install.sh")
    taken, sizes = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*ARGUMENTS])
        for _ in range(PAGES):
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{port}/sign-in?then=/receipts/clinic/1")  # a page that is not there
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_load_state()
            page.on("response", lambda told: sizes.append(int(told.headers["content-length"])))
            start = perf_counter()
            page.goto(f"http://127.0.0.1:{port}/ask/clinic")
            expect(page.locator("#go")).to_have_text(re.compile("Ask for"))
            taken.append(1_000 * (perf_counter() - start))
            context.close()
        browser.close()
    return statistics.median(taken), sum(sizes) / PAGES / 1_000


def charged(policy: Path) -> int:
    with open_existing(place_named_by(policy)) as ledger:
        ledger.verify()
        return sum(entry.kind is EntryKind.CHARGED for entry in ledger.entries("clinic"))


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        clinic = Clinic(Path(directory), epsilon=900, dataset="answer_times = []")
        tokens = [add_account(clinic.policy, f"client {number}") for number in range(CLIENTS)]
        process, port = stack.enter_context(running(clinic.policy, options=["--no-access-log"]))
        with Client(port, tokens[0]) as client:
            here, over_http = added_by_http(clinic, client)
        explained = explained_a_second(port, tokens[0])
        with running(clinic.policy, options=["--no-access-log", "--workers", str(WORKERS)]) as (_, other):
            explained_a_second(other, tokens[0])  # all workers have planned something
            by_workers = explained_a_second(other, tokens[0])
        loaded, kilobytes = page_load(port, tokens[0])
        before = charged(clinic.policy)
        taken = many_clients(port, tokens)
        paid = charged(clinic.policy) - before
        first, last = growth(port, tokens[0], process.pid)
    slowest = max(taken) / statistics.median(taken)
    asked = CLIENTS * QUESTIONS_EACH
    return [
        at_most("service: ms that HTTP and accounts add to ask", over_http - here, MOST_ADDED, " ms"),
        for_information("service: ask over HTTP, and curator.ask", f"{over_http:.1f}, {here:.1f} ms"),
        at_least(f"service: explanations a second, --workers {WORKERS}", by_workers, LEAST_EXPLAINED, ""),
        for_information("service: explanations a second, one process", f"{explained:.0f}"),
        Figure(f"service: charges of {asked} questions", str(asked), str(paid), paid == asked),
        at_most("service: slowest of 50 clients, times the median", slowest, MOST_TIMES_MEDIAN, "×"),
        at_most("console: ms until the page to ask is explained", loaded, MOST_PAGE, " ms"),
        at_most("console: kB of that page, with all its files", kilobytes, MOST_KILOBYTES, " kB"),
        for_information("service: questions a second of 50 clients", f"{asked / max(taken):.0f}"),
        at_most(
            f"service: growth of memory from {WARM_UP:,} to {LONG_RUN:,} questions",
            100 * (last / first - 1),
            MOST_GROWTH,
            " %",
        ),
        for_information("service: memory of the process", f"{last:.0f} MB"),
    ]


if __name__ == "__main__":
    CONSOLE.print("A service on loopback")
    sys.exit(judge(figures()))
