"""How PostgreSQL joins the rows of one person: attack G3."""

import pytest

from discreet import open as open_policy
from discreet.engines.postgres.statement import executed
from discreet.release.question_release import QuestionRelease
from tests.engines.databases import create_database

pytestmark = pytest.mark.xdist_group("postgres")

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 100, delta = 0 }}

[tables.visits]
source = "{url}#visits"
person = "patient"
max_rows = 16

[tables.visits.columns.ward]
keys = ["north", "south"]

[tables.visits.columns.kind]
keys = ["a", "b"]
"""
ROWS = (
    "CREATE TABLE visits AS SELECT i / 3 AS patient, 'north'::text AS ward, 'a'::text AS kind,"
    " 'flu'::text AS diagnosis FROM generate_series(0, 2999) AS r(i)",
    "INSERT INTO visits SELECT 5000, 'north', 'a', 'hiv' FROM generate_series(1, 64)",
    "ANALYZE visits",
)
SIDES = {
    2: "visits AS a JOIN visits AS b USING (patient)",
    3: "visits AS a JOIN visits AS b USING (patient) JOIN visits AS c USING (patient)",
}


def plans(curator, sql):
    """The plans of all statements of a question, as PostgreSQL would run them."""
    plan = curator.plan(sql, epsilon=1)
    statements = curator._data.emit(QuestionRelease(plan=plan, dataset=curator.dataset))
    with curator._engine._sessions.transaction() as connection:
        for statement in statements:
            for run in statement.runs:
                with executed(connection, f"EXPLAIN {run}", statement.parameters) as cursor:
                    yield "\n".join(line for (line,) in cursor)


@pytest.mark.parametrize("sides", SIDES)
def test_g3_no_side_of_a_join_is_read_again_for_each_row_of_one_person(postgres_server, tmp_path, sides):
    """Keys on each side made PostgreSQL expect one row of it. Of three sides with 100,000 rows, it then read
    one 4,096 times for a person with 64 rows: the question took more than nine minutes, and 5 seconds without
    that person.
    """
    url = create_database(postgres_server, "joins", *ROWS)
    (tmp_path / "clinic.toml").write_text(POLICY.format(url=url))
    keys = [f"{side}.{column}" for side in "abc"[:sides] for column in ("ward", "kind")]
    named = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    grouped = ", ".join(f"k{i}" for i in range(len(keys)))
    sql = f"SELECT {named}, count(*) AS n FROM {SIDES[sides]} WHERE a.diagnosis = 'hiv' GROUP BY {grouped}"
    with open_policy(tmp_path / "clinic.toml", analyst="mallory") as curator:
        found = list(plans(curator, sql))
    assert found
    assert not any("Nested Loop" in each for each in found)
    assert all("Hash Join" in each or "Merge Join" in each for each in found)
