"""Where each row is another person, one row more moves no vector further than claimed: wherever it stands.

Random questions on random rows, joined with a public table that has several rows for each. The other rows are
in another order in each neighbour. No noise, no false alarms.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.model.neighbours import Neighbours
from tests.bounds.test_one_person import DELTAS, RELATIONS, compare, row
from tests.question.clinic import Database, clinic, planned

DATABASE = Database()
SOURCES = [
    "visits v JOIN wards w ON v.ward = w.ward",
    "visits v LEFT JOIN wards w ON v.ward = w.ward",
    "visits v NATURAL JOIN wards w",
    "wards w JOIN visits v USING (ward)",
    "visits v JOIN wards w ON v.ward = w.ward JOIN wards u ON u.region = w.region",
    "visits v JOIN wards w USING (ward) JOIN (VALUES ('north', 2), ('south', 5)) AS s (name, f)"
    " ON s.name = v.ward",
]
CONDITIONS = [
    "v.cost > 1",
    "w.beds > 10 OR v.age IS NULL",
    "v.note IN ('a', 'b')",
    "v.age IN (SELECT beds / 10 FROM wards)",
    "NOT EXISTS (SELECT 1 FROM wards x WHERE x.beds = v.age)",
]
VALUES = ["w.region", "w.beds", "v.note", "v.age", "CASE WHEN v.cost > 1 THEN w.region ELSE v.note END"]
NUMBERS = ["v.cost", "v.age", "least(greatest(w.beds, 0), 20)", "coalesce(v.cost, 1) * 2"]
KEYS = ["v.ward", "w.region", "v.cost > 1", "v.age IN (SELECT beds FROM wards)"]


@st.composite
def questions(draw):
    def one(options):
        return draw(st.sampled_from(options))

    def measure():
        found = one(
            ["count(DISTINCT {1})"] * 3 + ["count(*)", "sum({0})", "avg({0})", "median({0})", "count({1})"]
        )
        told = found.format(one(NUMBERS), one(VALUES))
        return told + (f" FILTER (WHERE {one(CONDITIONS)})" if draw(st.booleans()) else "")

    measures = [f"{measure()} AS m{i}" for i in range(draw(st.integers(1, 2)))]
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    columns = [f"{key} AS k{i}" for i, key in enumerate(keys)]
    where = f" WHERE {one(CONDITIONS)}" if draw(st.booleans()) else ""
    names = ", ".join(f"k{i}" for i in range(len(keys)))
    group = f" GROUP BY {one(['{}', '{}', 'CUBE ({})']).format(names)}" if keys else ""
    return f"SELECT {', '.join([*columns, *measures])} FROM {one(SOURCES)}{where}{group}"


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    question=questions(),
    relation=st.sampled_from(RELATIONS),
    delta=st.sampled_from(DELTAS),
    others=st.lists(row, max_size=12),
    pair=st.tuples(row, row),
    chance=st.randoms(use_true_random=False),
)
def test_one_row_more_moves_no_vector_further_than_claimed(question, relation, delta, others, pair, chance):
    plan = planned(question, clinic(relation=relation, delta=delta, rows=True))
    one, other = pair
    exact = []
    for own in ([one], [other] if relation is Neighbours.REPLACE_ONE else []):
        rows = [*others]
        chance.shuffle(rows)
        place = chance.randint(0, len(rows))
        DATABASE.fill([(None, *each) for each in [*rows[:place], *own, *rows[place:]]])
        exact.append(DATABASE.exact(plan))
    compare(plan, *exact)
