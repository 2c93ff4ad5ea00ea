"""Write a ledger with the code of today, to be opened by all later ones: data, policies, ledgers, answers.

    python tests/older/write.py tests/older/3

Run once for each version of the ledger, with the last code that wrote it. `test_older.py` asks the same.
"""

import json
import sys
import warnings
from pathlib import Path

import duckdb

import discreet
from discreet.learn import LinearRegression, LogisticRegression

VISITS = (
    "SELECT range % 400 AS patient, ['north', 'south', 'west'][1 + (range % 7)::INT % 3] AS ward,"
    " (range % 100)::DOUBLE AS cost, (range * 7 % 90)::INTEGER AS age,"
    " ['flu', 'cold', 'burn'][1 + (range * 5 % 11)::INT % 3] AS diagnosis,"
    " DATE '2024-01-01' + (range % 300)::INTEGER AS day, range % 3 = 0 AS urgent FROM range(3000)"
)
PEOPLE = "SELECT range AS patient, 20 + (range * 11 % 60)::INTEGER AS age, range % 4 AS class FROM range(500)"
WARDS = (
    "SELECT * FROM (VALUES ('north', 'old', 20), ('south', 'new', 30), ('west', 'new', 10))"
    " AS wards(ward, house, beds)"
)
POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 1000, delta = {delta} }}
{more}
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 12
max_groups = 3

[tables.visits.columns.patient]
type = "integer"

[tables.visits.columns.cost]
bounds = [0, 100]
unit = 0.5

[tables.visits.columns.age]
type = "integer"
bounds = [0, 119]

[tables.visits.columns.ward]
keys = ["north", "south", "west"]

[tables.people]
source = "people.parquet"
person = "patient"
unique = true
answers = "cached"
cached_columns = ["age", "class"]

[tables.people.columns.age]
type = "integer"
bounds = [20, 79]

[tables.people.columns.class]
keys = [0, 1, 2, 3]

[tables.wards]
source = "wards.parquet"
public = true

[tables.wards.columns.beds]
type = "integer"
bounds = [0, 50]
"""
SQL = (
    "SELECT count(*) FROM visits",
    "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward ORDER BY n DESC",
    "SELECT count(DISTINCT patient) AS people FROM visits WHERE urgent AND age BETWEEN 20 AND 60",
    "SELECT ward, sum(cost) FILTER (WHERE age > 40) AS total FROM visits GROUP BY ward HAVING sum(cost) > 5",
    "SELECT median(cost) AS middle, quantile(age, 0.9) AS late FROM visits",
    "SELECT count(DISTINCT diagnosis) AS kinds, stddev(cost) AS spread FROM visits",
    "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 2",
    "SELECT house, count(*) AS n FROM visits JOIN wards USING (ward) GROUP BY house",
    "SELECT avg(n) AS mean FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) AS each",
    "SELECT ward, urgent, count(*) AS n FROM visits GROUP BY GROUPING SETS ((ward), (urgent), ())",
    "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS who, count(*) AS n FROM visits GROUP BY who",
    "SELECT month(day) AS month, round(100 * avg(cost)) AS cents FROM visits GROUP BY month LIMIT 3",
    "SELECT count(*) AS n FROM (SELECT age FROM visits UNION ALL SELECT age FROM people) AS all_ages"
    " WHERE age > 30",
)
WITH_DELTA = ("SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC",)
JOINED = "SELECT count(*) AS n FROM visits JOIN people USING (patient) WHERE people.class = 1"
WITHIN = ("SELECT count(*) AS n FROM visits WHERE ward = 'north'",)
CACHED = (
    "SELECT count(*) AS old FROM people WHERE age > 60",
    "SELECT count(*) AS n FROM people WHERE class = 2",
)
SYNTHETIC = "SELECT ward, urgent, age FROM visits"
WORKLOAD = ("SELECT count(*) FROM visits WHERE urgent", "marginals 2")
FITTED = (
    (LinearRegression(), "SELECT age, urgent, cost FROM visits"),
    (LogisticRegression(), "SELECT age, cost, urgent FROM visits"),
)
KINDS = {"pure": "0", "delta": "1e-6"}
"""The δ of each policy."""


def prices(delta):
    return ({"epsilon": 2.5}, {"rho": 0.3}) if delta != "0" else ({"epsilon": 2.5},)


def ask_all(curator, delta):
    """All that is paid for, by name: what came out, what was charged, and whether before."""
    found = {}
    for price in prices(delta):
        for sql in (*SQL, *(WITH_DELTA if delta != "0" else ()), JOINED):
            found[f"{sql} | {price}"] = curator.ask(sql, **price)
    for sql in WITHIN:
        found[f"{sql} | within"] = curator.ask(sql, within=80, confidence=0.9)
    for sql in CACHED:
        found[f"{sql} | cached"] = curator.ask(sql, within=25)
    told = {
        name: {
            "rows": [list(map(str, row)) for row in zip(*_columns(answer), strict=True)],
            "receipt": None if name.endswith("cached") else answer.receipt.number,
        }
        for name, answer in found.items()
    }
    return told, _tables_and_models(curator), found


def _columns(answer):
    released = answer.released
    return [
        [f"{x:.6g}" if isinstance(x, float) else x for x in released.values[name].tolist()]
        for name in released.columns
    ]


def _tables_and_models(curator):
    plain = curator.synthesize(SYNTHETIC, epsilon=3)
    asked = curator.synthesize(SYNTHETIC, epsilon=3, bins={"age": 8}, workload=WORKLOAD)
    curator.check_synthetic(plain, epsilon=1)
    told = {
        "synthetic": plain.receipt.number,
        "for questions": asked.receipt.number,
    }
    for model, sql in FITTED:
        told[f"{type(model).__name__}"] = curator.fit(model, sql, epsilon=4).receipt.number
    return told


def write_data(folder):
    for name, sql in (("visits", VISITS), ("people", PEOPLE), ("wards", WARDS)):
        duckdb.sql(f"COPY ({sql}) TO '{folder}/{name}.parquet'")


def policy_of(folder, kind, more=""):
    policy = folder / f"{kind}.toml"
    policy.write_text(POLICY.format(delta=KINDS[kind], more=more))
    return policy


def main(folder):
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True)
    write_data(folder)
    told = {}
    for kind, delta in KINDS.items():
        with discreet.open(policy_of(folder, kind, more="least_price = 1e-9\n"), analyst="anna") as curator:
            answers, others, _ = ask_all(curator, delta)
            told[kind] = {"answers": answers, "others": others, "entries": _entries(curator)}
    (folder / "told.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    for name in ("visits", "people", "wards"):
        (folder / f"{name}.parquet").unlink()  # written anew by the test


def _entries(curator):
    return len(list(curator._ledger.entries("clinic")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
