"""How long `import discreet` takes and how much memory it holds, and how long `discreet --help` takes.

Each in fresh processes, best of five. Memory is the peak of the child's own address space (VmHWM, so Linux
only): ru_maxrss would not do, since Linux carries the parent's peak over into the child when it is larger.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from timing import Figure, at_most, best_of_rounds, for_information, judge, show

ROUNDS = 5
SECONDS, MEGABYTES = 0.3, 60
MECHANISMS = "discreet.noise.laplace, discreet.noise.gaussian"

CHILD = """
from time import perf_counter
start = perf_counter()
import {modules}
seconds = perf_counter() - start
with open("/proc/self/status") as status:
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(seconds, kilobytes)
"""


def import_cost(modules: str) -> tuple[float, float]:
    """Seconds and peak megabytes of importing, the best of fresh processes."""
    code, readings = CHILD.format(modules=modules), []
    for _ in range(ROUNDS):
        output = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
        seconds, kilobytes = output.split()
        readings.append((float(seconds), float(kilobytes) / 1024))
    return min(seconds for seconds, _ in readings), min(megabytes for _, megabytes in readings)


def help_seconds() -> float | None:
    """Wall time of the installed command, or None while there is none."""
    if find_spec("discreet.apps.commands.main") is None:
        return None
    command = [str(Path(sys.executable).with_name("discreet")), "--help"]
    run = {"help": lambda: subprocess.run(command, check=True, capture_output=True)}
    return best_of_rounds(ROUNDS, run, clock=perf_counter)["help"]


def figures() -> list[Figure]:
    costs = {modules: import_cost(modules) for modules in ("sys", "numpy", "discreet", MECHANISMS)}
    rows = [[name, f"{seconds:.3f}", f"{megabytes:.0f}"] for name, (seconds, megabytes) in costs.items()]
    show("Import: best of fresh processes", ("import", "s", "MB at the peak"), rows)
    found = []
    for name in ("discreet", MECHANISMS):
        seconds, megabytes = costs[name]
        found.append(at_most(f"import {name}: time", seconds, SECONDS, " s"))
        found.append(at_most(f"import {name}: memory", megabytes, MEGABYTES, " MB"))
    seconds = help_seconds()
    if seconds is not None:
        found.append(for_information("discreet --help", f"{seconds:.3g} s"))
    return found


if __name__ == "__main__":
    sys.exit(judge(figures()))
