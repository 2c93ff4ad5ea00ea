"""How far answers are from plain SQL, beside OpenDP's and Tumult's at the same limits and the same total ε.

    .venv/bin/python bench/truth_peers.py [repeats]

What is measured is the mean absolute error against the plain answer, over all groups of a question, relative
to discreet's. A ratio above 1 says that discreet is nearer to the truth.

- **Same limits**: what the policy of each table declares (`truth_tables.py`).
- **Limits from the profile**: everybody pays 0.1 of ε = 1 for the same profile, and takes the limit that it
  says is best.

Both peers truncate: of each person at most `max_rows` rows are kept, or `max_groups` groups where people are
counted, chosen at random, and then noise of scale limit · bound / ε is added. That is OpenDP's
`truncate_per_group` with Laplace noise, and Tumult's `MaxRowsPerID` and `MaxGroupsPerID` under pure
differential privacy (its two-sided geometric noise for counts has the same size). By their documentation both
add the same law to the same truncated table, so both are one model here. Neither library is run.

24 of the 100 questions are asked: counts and sums, of all rows and by group.

Also printed: how wide the intervals are, beside those of the best fixed limit in hindsight. That limit is the
one with the least sum of noise and of what it leaves out in truth, which nobody can know.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
from timing import CONSOLE, Figure, at_least, at_most, show
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


class Truncated:
    """What a peer computes: the plain answer over the rows that truncation keeps."""

    def __init__(self, plain: duckdb.DuckDBPyConnection, asked: Asked, question: Question) -> None:
        self.question = question
        self._plain = plain
        head, _, rest = question.sql.partition(" FROM ")
        self.table = rest.split()[0]
        self.person = asked.person(self.table)
        self.people = "DISTINCT" in head
        self.keys = rest.partition(" GROUP BY ")[2]
        if self.keys == "m":
            self.keys = "month(date)" if "month(date)" in head else "month(day)"
        bounds = asked.bounds(self.table, head)
        self.largest = max(map(abs, bounds)) if bounds else 1.0
        self.bounds = bounds

    def values(self, limit: int, seed: int) -> dict[tuple[object, ...], float]:
        """By group, of rows that are kept at random."""
        keys = f"{self.keys} AS k" if self.keys else "0 AS k"
        if self.people:
            rows = f"SELECT DISTINCT {self.person} AS p, {keys} FROM {self.table}"
            value = "count(*)"
        else:
            column = _argument(self.question.sql)
            taken = "1" if column == "*" else f"least(greatest({column}, {self.bounds[0]}), {self.bounds[1]})"
            rows = f"SELECT {self.person} AS p, {keys}, {taken} AS x, rowid AS r FROM {self.table}"
            value = "sum(x)"
        order = f"hash(p, {'k' if self.people else 'r'}, {seed})"
        cut = f"SELECT *, row_number() OVER (PARTITION BY p ORDER BY {order}) AS place FROM ({rows})"
        found = self._plain.execute(
            f"SELECT k, {value} FROM ({cut}) WHERE place <= {limit} GROUP BY k"
        ).fetchall()
        return {(key,) if self.keys else (): float(number) for key, number in found}

    def scale(self, limit: int, epsilon: float) -> float:
        """Of Laplace noise. People who are not grouped are counted once."""
        return (1 if self.people and not self.keys else limit) * self.largest / epsilon


def _argument(sql: str) -> str:
    """What is summed, or counted."""
    return sql.partition(" FROM ")[0].rpartition("(")[2].partition(")")[0]


def measure(
    asked: Asked, plain: duckdb.DuckDBPyConnection, question: Question, repeats: int
) -> dict[str, float]:
    """Mean absolute errors and widths of one question."""
    generator = np.random.default_rng()
    truth = {row[:-1]: float(row[-1]) for row in plain.execute(question.sql).fetchall()}
    peer, kept = Truncated(plain, asked, question), {}
    errors: dict[str, list[float]] = {"same": [], "peer same": [], "best": [], "peer best": [], "width": []}
    for repeat in range(repeats):
        for name, profiles in (("same", None), ("best", asked.profiles())):
            price = EPSILON - (PROFILE if profiles else 0)
            plan = asked.plan(question.sql, price, profiles)
            answer = asked.answer(plan)
            names = [each for each in answer.columns if each != "v"]
            keys = (
                list(zip(*(answer.values[each].tolist() for each in names), strict=True)) if names else [()]
            )
            exact = np.array([truth.get(key, 0.0) for key in keys])
            errors[name].append(float(np.abs(answer.values["v"] - exact).mean()))
            source = plan.bounded.query.source
            limit = source.max_groups if peer.people else source.max_rows
            place = limit, repeat % 3
            if place not in kept:
                kept[place] = peer.values(*place)
            shown = np.array([kept[place].get(key, 0.0) for key in keys])
            noise = generator.laplace(scale=peer.scale(limit, price), size=len(keys))
            errors[f"peer {name}"].append(float(np.abs(shown + noise - exact).mean()))
            if name == "best":
                errors["width"].append(float(np.median(answer.high["v"] - answer.low["v"])))
    found = {name: float(np.mean(each)) for name, each in errors.items() if name != "width"}
    found["width"] = float(np.median(errors["width"]))
    found["hindsight"] = _hindsight(asked, peer, truth)
    return found


def _hindsight(asked: Asked, peer: Truncated, truth: dict[tuple[object, ...], float]) -> float:
    """The least width that a fixed limit could have: noise on both sides, and what is left out of a group."""
    most = asked.most(peer.table, people=peer.people)
    widths = []
    for limit in [each for each in LIMITS if each <= most]:
        values = peer.values(limit, 0)
        lost = np.median([truth[key] - values.get(key, 0.0) for key in truth])
        widths.append(2 * np.log(20) * peer.scale(limit, EPSILON) + max(float(lost), 0.0))
    return float(min(widths))


def figures(repeats: int = REPEATS) -> list[Figure]:
    warnings.simplefilter("ignore")
    same, best, widths, rows = [], [], [], []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            asked, plain = open_case(case, 0, Path(folder))
            for question in _chosen(case):
                found = measure(asked, plain, question, repeats)
                ratios = (
                    found["peer same"] / found["same"],
                    found["peer best"] / found["best"],
                    found["width"] / found["hindsight"],
                )
                for each, ratio in zip((same, best, widths), ratios, strict=True):
                    each.append(ratio)
                rows.append((case.name, question.title, *(f"{ratio:.2f}×" for ratio in ratios)))
    show(
        "Error of OpenDP and Tumult, and our width beside the best in hindsight",
        ("table", "question", "their error, same limits", "limits from the profile", "our width / hindsight"),
        rows,
    )
    return [
        at_least("truth: error of peers, same limits (median)", float(np.median(same)), 1, "×"),
        at_least("truth: error of peers, limits from the profile (median)", float(np.median(best)), 1, "×"),
        at_most(
            "truth: width beside the best fixed limit in hindsight (median)", float(np.median(widths)), 2, "×"
        ),
    ]


def _chosen(case: Case) -> list[Question]:
    return [question for question in case.questions if question.title in TITLES[case.name]]


if __name__ == "__main__":
    for figure in figures(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS):
        CONSOLE.print(figure)
