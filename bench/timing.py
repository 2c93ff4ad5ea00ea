"""The one stopwatch, and how its readings are shown.

Other work on the machine only ever adds time. So processor time is measured where that is possible, and the
best of several rounds counts. Rivals take turns within each round, so that a slow minute hits them all.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=118)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the final table; `holds` is None where there is no target."""

    name: str
    target: str
    measured: str
    holds: bool | None


def at_most(name: str, value: float, limit: float, unit: str) -> Figure:
    return Figure(name, f"≤ {limit:g}{unit}", f"{value:.3g}{unit}", value <= limit)


def at_least(name: str, value: float, limit: float, unit: str) -> Figure:
    return Figure(name, f"≥ {limit:g}{unit}", f"{value:.3g}{unit}", value >= limit)


def for_information(name: str, measured: str) -> Figure:
    return Figure(name, "", measured, None)


def best_of_rounds(
    rounds: int, calls: Mapping[str, Callable[[], object]], clock: Callable[[], float] = process_time
) -> dict[str, float]:
    """The least seconds of each call, over rounds in which every call has its turn."""
    best = dict.fromkeys(calls, float("inf"))
    with _no_garbage_collection():
        for _ in range(rounds):
            for name, call in calls.items():
                start = clock()
                call()
                best[name] = min(best[name], clock() - start)
    return best


def time_each(count: int, call: Callable[[], Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Nanoseconds and result of each of `count` calls, after a warm-up."""
    for _ in range(100):
        call()
    nanoseconds = np.empty(count, dtype=np.int64)
    results = [None] * count
    with _no_garbage_collection():
        for index in range(count):
            start = perf_counter_ns()
            result = call()
            nanoseconds[index] = perf_counter_ns() - start
            results[index] = result
    return nanoseconds, results


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: the first column is text, the others are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    CONSOLE.print(table)


def judge(figures: Sequence[Figure]) -> int:
    """Print the final table; the exit code is 1 when a target is missed."""
    verdicts = {True: "[green]yes[/]", False: "[bold red]NO[/]", None: "–"}
    rows = [(f.name, f.target, f.measured, verdicts[f.holds]) for f in figures]
    show("All figures", ("figure", "target", "measured", "holds"), rows)
    return int(any(figure.holds is False for figure in figures))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
