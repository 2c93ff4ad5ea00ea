"""What OpenDP answers, by its own queries. It runs where OpenDP is installed; see README.md in this folder.

    python opendp_answers.py questions.json answers.json

`truth_peers.py` writes the questions: each has a Parquet file with a person p, a group k and a value x, and
says what is counted, by which public groups, and the limit, the bounds and ε. For each question and repeat,
the answer is a number for each group.
"""

import json
import sys
import warnings
from pathlib import Path

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
warnings.simplefilter("ignore", FutureWarning)


def answers(question: dict) -> list[dict[str, float]]:
    data = pl.scan_parquet(question["file"])
    query = _context(data, question).query()
    if question["kind"] == "people":  # one row of each person and group, in so many groups
        query = query.truncate_per_group(1, by=["k"])
    query = query.truncate_per_group(question["limit"])
    if question["keys"] is None:
        query = query.select(_value(question).alias("v"))
    else:
        query = query.group_by("k").agg(_value(question).alias("v"))
        query = query.with_keys(pl.LazyFrame({"k": question["keys"]}))
    measurement = query.resolve()  # finds the noise; whenever it is called, rows and noise are drawn anew
    tables = [measurement(data).collect() for _ in range(question["repeats"])]
    if question["keys"] is None:
        return [{"": float(table["v"].item())} for table in tables]
    return [{key: float(number) for key, number in table.select("k", "v").iter_rows()} for table in tables]


def _value(question: dict) -> pl.Expr:
    if question["kind"] != "sum":
        return dp.len(signed=False)
    return pl.col("x").fill_null(0.0).fill_nan(0.0).dp.sum((question["low"], question["high"]))


def _context(data: pl.LazyFrame, question: dict) -> dp.Context:
    """The budget of one answer. How many rows there are at most is said to be public, at twice as many."""
    return dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1, identifier="p"),
        privacy_loss=dp.loss_of(epsilon=question["epsilon"]),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=2 * question["rows"])],
    )


def main(questions: str, target: str) -> None:
    asked = json.loads(Path(questions).read_text(encoding="utf-8"))
    found = []
    for place, question in enumerate(asked):
        found.append(answers(question))
        print(f"OpenDP: {place + 1} of {len(asked)}", file=sys.stderr, flush=True)
    Path(target).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
