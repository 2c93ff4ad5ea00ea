"""Does any short question take long to plan, or much memory? Nothing is paid for that, and nothing stops it.

Every function of rows is nested in itself and in others, as deep as a few thousand characters go; and every
way to put relations together is repeated as often. Each question is read, priced, written and accepted by
DuckDB as it is before a charge, in a process that may be killed: a planner does not look whether it should
stop. Whatever takes more than `SLOW` seconds of processor time, or `MUCH` megabytes, is shown. It is not part
of `make bench`: a sample of 2,500 pairs, nested in each other, takes ten minutes.

    .venv/bin/python bench/planning.py [how many in each other] [characters] [seed] [how many questions]
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import duckdb
from planned_functions import BASE, FUNCTIONS, Template
from timing import CONSOLE

from discreet import DiscreetError
from discreet.curator.curator import Curator
from discreet.curator.open_policy import open_curator
from discreet.model.request import request_of

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.attacks.repeated import REPEATED

SLOW, MUCH = 2.0, 500
MOST_SECONDS, MOST_MEMORY = 20, 6 << 30
"""Of one process. What reaches them is shown as well."""
DEPTHS = (60, 30, 15, 8)
"""As deep as this, as what is refused may be accepted where there is less of it."""
_SHOWN = 300
POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 900, delta = 1e-6 }
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 3
max_groups = 2
[tables.visits.columns]
patient = { type = "integer" }
age = { type = "integer", bounds = [0, 119] }
cost = { bounds = [0, 100] }
ward = { keys = ["north", "south", "attic"] }
note = { type = "text" }
diagnosis = { type = "text" }
born = { type = "date" }
[tables.wards]
source = "wards.parquet"
public = true
"""
ROW = (
    "SELECT 1 AS patient, 2 AS age, 3.5 AS cost, 'north' AS ward, 'a' AS note, 'flu' AS diagnosis,"
    " DATE '2000-01-01' AS born",
    "SELECT 'north' AS ward, 7 AS beds",
)


def nested(cycle: tuple[Template, ...], characters: int, deepest: int) -> str:
    """A condition: the functions of a cycle in each other, as deep as so many characters go."""
    found, kind = BASE[cycle[0].takes], cycle[0].takes
    for depth in range(deepest):
        template = cycle[depth % len(cycle)]
        longer = template.of(found)
        if len(longer) > characters:
            break
        found, kind = longer, template.gives
    return found if kind == "boolean" else f"({found}) IS NOT NULL"


def cycles(length: int) -> Iterator[tuple[Template, ...]]:
    """All ways to put so many functions in each other, again and again; each rotation counts once."""
    for cycle in product(range(len(FUNCTIONS)), repeat=length):
        chosen = tuple(FUNCTIONS[i] for i in cycle)
        fits = all(one.gives == chosen[(i + 1) % length].takes for i, one in enumerate(chosen))
        if fits and cycle == min(cycle[i:] + cycle[:i] for i in range(length)):
            yield chosen


def longest(write: Callable[[int], str], characters: int) -> str:
    """The longest question of its kind with so many characters."""
    number = 1
    while number < characters and len(write(number + 1 + number // 8)) <= characters:
        number += 1 + number // 8
    return write(number)


def questions(length: int, characters: int, seed: int, most: int) -> list[tuple[str, str]]:
    """Each with a name."""
    found = [
        (name, longest(write, size))
        for name, write in REPEATED.items()
        for size in (characters // 4, characters)
    ]
    chosen = list(cycles(length))
    random.Random(seed).shuffle(chosen)
    for cycle in chosen[: most or None]:
        name = " in ".join(each.text for each in cycle)
        conditions = dict.fromkeys(nested(cycle, characters, depth) for depth in DEPTHS)
        found += [(name, f"SELECT count(*) AS n FROM visits WHERE {each}") for each in conditions]
    return found


def plan_all(asked: list[tuple[str, str]], first: int) -> None:
    """Plan them one by one, and print what each took."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        for table, row in zip(("visits", "wards"), ROW, strict=True):
            duckdb.sql(f"COPY ({row}) TO '{folder / table}.parquet'")
        (folder / "clinic.toml").write_text(POLICY)
        curator = open_curator(folder / "clinic.toml", analyst="ann")
        for number, (_, sql) in enumerate(asked[first:], first):
            used = resource.getrusage(resource.RUSAGE_SELF)
            most = int(used.ru_utime + used.ru_stime) + MOST_SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))  # which kills
            print(json.dumps([number, *planned(curator, sql)]), flush=True)


def planned(curator: Curator, sql: str) -> tuple[float, int, str]:
    """Seconds of processor time, megabytes more than before, and what came of it."""
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    planning, data = curator._planning(), curator._data
    try:
        data.prepare(data.emit(planning.release(planning.plan(sql, request_of(epsilon=9)))))
        outcome = "planned"
    except DiscreetError as error:
        outcome = error.problem[:80]
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    return time.process_time() - started, more, outcome


def show(outcome: str, name: str, sql: str) -> None:
    CONSOLE.print(
        f"{outcome}: {name}, {len(sql):,} characters: {sql[:_SHOWN]}", markup=False, highlight=False
    )


def main(arguments: list[str]) -> None:
    length, characters, seed, most = (
        int(a) for a in (*arguments, *("1", "3000", "1", "0")[len(arguments) :])
    )
    asked = questions(length, characters, seed, most)
    CONSOLE.print(f"{len(asked):,} questions")
    first = slow = 0
    while first < len(asked):
        line = [sys.executable, __file__, "--from", str(first), *map(str, (length, characters, seed, most))]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
            for told in child.stdout or ():
                number, seconds, megabytes, outcome = json.loads(told)
                first = number + 1
                if seconds > SLOW or megabytes > MUCH:
                    slow += 1
                    CONSOLE.print(
                        f"{seconds:.1f} s, {megabytes} MB: {asked[number]} → {outcome}", markup=False
                    )
        if first < len(asked) and child.returncode:
            slow += 1
            show("killed", *asked[first])
            first += 1
    CONSOLE.print(f"{slow} of them are slow")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--from"]:
        plan_all(questions(*map(int, sys.argv[3:])), int(sys.argv[2]))
    else:
        main(sys.argv[1:])
