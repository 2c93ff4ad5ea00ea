"""What Tumult Analytics answers, by its own queries. It runs where that is installed; see README.md here.

    python tumult_answers.py questions.json answers.json

Questions and answers are as in `opendp_answers.py`. What is kept of each person is computed once for a file
and a limit, as a cached view of Tumult's session: it takes the same rows each time. Noise is drawn for each
answer.
"""

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
warnings.simplefilter("ignore")

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from tmlt.analytics import (  # noqa: E402
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)


def answers(spark: SparkSession, question: dict) -> list[dict[str, float]]:
    session = Session.from_dataframe(
        PureDPBudget(float("inf")), "t", _rows(spark, question), protected_change=AddRowsWithID("p")
    )
    session.create_view(_kept(question), "kept", cache=True)
    query = QueryBuilder("kept")
    if question["keys"] is not None:
        query = query.groupby(KeySet.from_dict({"k": question["keys"]}))
    if question["kind"] == "sum":
        asked = query.sum("x", question["low"], question["high"], name="v")
    else:
        asked = query.count(name="v")
    found = []
    for _ in range(question["repeats"]):
        rows = session.evaluate(asked, PureDPBudget(question["epsilon"])).collect()
        found.append({"" if question["keys"] is None else row["k"]: float(row["v"]) for row in rows})
    session.delete_view("kept")
    return found


def _rows(spark: SparkSession, question: dict) -> DataFrame:
    frame = spark.read.parquet(question["file"])
    if question["kind"] == "sum":
        frame = frame.dropna(subset=["x"])
    return frame.drop("x") if question["kind"] != "sum" else frame


def _kept(question: dict) -> QueryBuilder:
    rows = QueryBuilder("t")
    if question["kind"] == "people":
        return rows.enforce(MaxGroupsPerID("k", question["limit"])).enforce(MaxRowsPerGroupPerID("k", 1))
    return rows.enforce(MaxRowsPerID(question["limit"]))


def main(questions: str, target: str) -> None:
    asked = json.loads(Path(questions).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "2g")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        found = []
        for place, question in enumerate(asked):
            found.append(answers(spark, question))
            print(f"Tumult: {place + 1} of {len(asked)}", file=sys.stderr, flush=True)
        spark.stop()
    Path(target).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
