"""How often 95 % intervals of what is computed from noisy numbers hold the exact answer, over 2,000 draws.

    .venv/bin/python bench/post_processing.py            2,000 draws of each
    .venv/bin/python bench/post_processing.py 500

A window over all groups, a ratio of two aggregated queries and a reconciled total at ε = 0.1, and a
correlation at ε = 2, each charged in ε and in ρ. At ε = 0.1 the interval of the correlation is nearly as wide
as the correlation is large: there it may hold more often, and never less. What limits leave out is not
estimated here: noise is all that is off. Of 2,000 intervals that hold with probability 0.95, less than 93.5 %
or more than 96.5 % do with probability 0.002.
"""

import sys
from pathlib import Path

from timing import CONSOLE, Figure, at_least, judge, show

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.release.post_processing import CASES, IN_MUCH_NOISE, LAWS, share_that_holds

RUNS = 2_000
LEAST, MOST = 0.935, 0.965


def figures(runs: int = RUNS) -> list[Figure]:
    found, rows = [], []
    for name, case in CASES.items():
        shares = {law: share_that_holds(case, delta, runs) for law, delta in LAWS.items()}
        rows.append([name, *(f"{share:.1%}" for share in shares.values())])
        found += [
            Figure(
                f"Intervals of {name} hold, in {law}",
                f"{LEAST:.1%}–{MOST:.1%}",
                f"{share:.1%}",
                LEAST <= share <= MOST,
            )
            for law, share in shares.items()
        ]
    for law, delta in LAWS.items():
        share = share_that_holds(IN_MUCH_NOISE, delta, runs)
        found.append(at_least(f"Intervals of a correlation in much noise hold, in {law}", share, LEAST, ""))
    show(f"Intervals at 95 % that hold the exact answer, of {runs:,}", ["", *LAWS], rows)
    return found


if __name__ == "__main__":
    CONSOLE.print()
    sys.exit(judge(figures(*map(int, sys.argv[1:2]))))
