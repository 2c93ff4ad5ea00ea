"""All benchmarks, then one table of figures and targets. Fails when a target is missed.

Each script also runs alone: .venv/bin/python bench/vectors.py
"""

import sys
from time import perf_counter

import accuracy
import curator
import engines
import extreme_scales
import fit
import learn
import ledger
import local
import local_collect
import local_javascript
import online
import opacus_networks
import person_time
import post_processing
import report
import scalar_release
import service
import startup
import synth
import through_keys
import timing_leak
import truth
import truth_cost
import truth_peers
import vectors
from timing import CONSOLE, judge


def main() -> int:
    start = perf_counter()
    figures = []
    scripts = (startup, scalar_release, timing_leak, person_time, extreme_scales, vectors, curator, engines)
    scripts += (ledger, local, local_collect, local_javascript, synth, online, learn, fit, opacus_networks)
    scripts += (accuracy, report, service, through_keys, truth, truth_peers, truth_cost, post_processing)
    for script in scripts:
        figures += script.figures()
    CONSOLE.print(f"All benchmarks took {perf_counter() - start:.0f} s.")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
