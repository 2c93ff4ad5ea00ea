"""What a paid question is known by: exactly what would be run, and nothing that only sees noisy values."""

import json
import re
from pathlib import Path

import pytest

import discreet
from discreet.bounds.identity import question_identity
from discreet.learn import LinearRegression, LogisticRegression
from discreet.release.question_release import QuestionRelease
from tests.older.write import (
    FITTED,
    JOINED,
    KINDS,
    SQL,
    SYNTHETIC,
    WITH_DELTA,
    WITHIN,
    WORKLOAD,
    policy_of,
    prices,
    write_data,
)

GOLDEN = {0: "identities.json", 0.1: "identities_left_out.json"}
"""By `left_out_share`. Each was written once. A change of a key charges everybody again: it needs a new
version, and a way to the old.
"""


MEASURED_TOGETHER = (
    "SELECT count(*) FILTER (WHERE urgent) / count(*) AS share FROM visits",
    "SELECT ward, avg(cost) AS mean, variance(cost) AS spread, count(*) AS n FROM visits GROUP BY ward",
    "SELECT count_if(age > 20) AS old, count_if(age > 60) AS older,"
    " sum(CASE WHEN age > 60 THEN cost END) AS s FROM visits",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("identities")
    write_data(made)
    return made


def curator_of(folder, kind, change=lambda text: text, left_out=0.1):
    policy = policy_of(folder, kind, more=f"least_price = 1e-9\nleft_out_share = {left_out}\n")
    policy.write_text(change(policy.read_text()))
    (folder / f"{kind}.ledger").unlink(missing_ok=True)
    (folder / f"{kind}.ledger.anchor").unlink(missing_ok=True)
    return discreet.open(policy, analyst="anna")


@pytest.fixture
def clinic(folder):
    with curator_of(folder, "delta") as curator:
        yield curator


TOGETHER = "identities_together.json"
"""Of those of which vectors are measured together, by `left_out_share`. Each has its older identity, too."""


def identity(curator, sql, **price):
    return question_identity(curator.plan(sql, **(price or {"epsilon": 2.5})))


def identity_apart(curator, sql, **price):
    """As it was before vectors were measured together."""
    release = QuestionRelease(plan=curator.plan(sql, **price), dataset=curator.dataset)
    before = release.apart() or release
    assert question_identity(before.plan) in [question_identity(release.plan), *release.older_keys()]
    return question_identity(before.plan)


def identities(curator, delta):
    found = {}
    for price in prices(delta):
        for sql in (*SQL, *(WITH_DELTA if delta != "0" else ()), JOINED):
            found[f"{sql} | {price}"] = identity_apart(curator, sql, **price)
    for sql in WITHIN:
        found[f"{sql} | within"] = identity_apart(curator, sql, within=80, confidence=0.9)
    found["synthetic"] = curator.plan_synthesis(SYNTHETIC, epsilon=3).identity()
    wanted = curator.plan_synthesis(SYNTHETIC, epsilon=3, bins={"age": 8}, workload=WORKLOAD)
    found["for questions"] = wanted.identity()
    for model, sql in FITTED:
        found[f"{type(model).__name__} | {sql}"] = curator.plan_fit(model, sql, epsilon=4).identity()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left_out", GOLDEN)
def test_identities_are_those_that_were_written(folder, kind, left_out):
    golden = json.loads((Path(__file__).parent / GOLDEN[left_out]).read_text())
    with curator_of(folder, kind, left_out=left_out) as curator:
        assert identities(curator, KINDS[kind]) == golden[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left_out", GOLDEN)
def test_identities_of_what_is_measured_together_are_those_that_were_written(folder, kind, left_out):
    golden = json.loads((Path(__file__).parent / TOGETHER).read_text())
    with curator_of(folder, kind, left_out=left_out) as curator:
        found = {
            f"{sql} | {price}": identity(curator, sql, **price)
            for price in prices(KINDS[kind])
            for sql in (*SQL, *MEASURED_TOGETHER)
        }
    found = {text: each for text, each in found.items() if each.startswith("question-4:")}
    assert {text for text in found if text.partition(" | ")[0] in MEASURED_TOGETHER}
    assert found == golden[f"{kind}, {left_out}"]


def test_all_that_is_asked_has_an_identity_of_its_own(folder):
    with curator_of(folder, "delta") as curator:
        found = identities(curator, KINDS["delta"])
    assert len(set(found.values())) == len(found)
    assert all(
        re.fullmatch(r"(question-[12]|synthetic-1|fit-1):[0-9a-f]{64}", each) for each in found.values()
    )


BY_WARD = "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits WHERE age > 30 GROUP BY ward"


@pytest.mark.parametrize(
    "same",
    [
        "SELECT WARD, COUNT(*) AS N, AVG(Cost) AS Mean FROM Visits WHERE AGE > 30 GROUP BY Ward",
        "SELECT v.ward AS place, count(*) AS people, avg(v.cost) AS money FROM visits AS v"
        " WHERE v.age > 30 GROUP BY v.ward",
        BY_WARD + " ORDER BY n DESC LIMIT 2",
        BY_WARD + " HAVING count(*) > 10 AND avg(cost) < 90",
        "SELECT ward, round(avg(cost)) AS euros, 2 * count(*) AS double FROM visits WHERE age > 30"
        " GROUP BY ward HAVING count(*) > 0",
        "SELECT avg(cost) AS mean, ward, count(*) AS n FROM visits WHERE age > 30 GROUP BY ward",
        "SELECT ward, count(*) AS n, avg(cost) AS mean FROM (SELECT ward, cost, age FROM visits) AS inside"
        " WHERE age > 30 GROUP BY ward",
    ],
)
def test_what_only_sees_noisy_values_is_no_part_of_it(clinic, same):
    assert identity(clinic, same) == identity(clinic, BY_WARD)


@pytest.mark.parametrize(
    "other",
    [
        BY_WARD.replace("30", "31"),
        BY_WARD.replace("age > 30", "age >= 30"),
        BY_WARD.replace("avg(cost)", "avg(cost + 1)"),
        BY_WARD.replace("avg(cost)", "sum(cost)"),
        BY_WARD.replace("count(*)", "count(DISTINCT patient)"),
        BY_WARD.replace("WHERE", "WHERE urgent AND"),
        BY_WARD.replace("GROUP BY ward", "AND ward IN ('north', 'south') GROUP BY ward"),
        "SELECT count(*) AS n, avg(cost) AS mean FROM visits WHERE age > 30",
        BY_WARD + " HAVING sum(age) > 5",
    ],
)
def test_what_is_read_or_released_is_part_of_it(clinic, other):
    assert identity(clinic, other) != identity(clinic, BY_WARD)


def test_the_price_is_part_of_it_and_the_confidence_is_not(clinic):
    assert identity(clinic, BY_WARD, epsilon=2.5) != identity(clinic, BY_WARD, epsilon=2.6)
    assert identity(clinic, BY_WARD, epsilon=2.5, confidence=0.9) == identity(clinic, BY_WARD, epsilon=2.5)


def test_names_of_columns_of_a_union_are_no_part_of_it(clinic):
    ages = "SELECT age AS {0} FROM visits UNION ALL SELECT age FROM people"
    sql = f"SELECT count(*) AS n FROM ({ages}) AS u WHERE u.{{0}} > 3"
    assert identity(clinic, sql.format("a")) == identity(clinic, sql.format("years"))


CHANGES = {
    "bounds of a column that is not read": ("bounds = [0, 50]", "bounds = [0, 60]", False),
    "bounds of a column that is read": ("bounds = [0, 100]", "bounds = [0, 200]", True),
    "the unit of a column that is read": ("unit = 0.5", "unit = 0.25", True),
    "keys that are grouped by": ('["north", "south", "west"]', '["north", "south"]', True),
    "rows of a person": ("max_rows = 12", "max_rows = 13", True),
    "groups of a person, where rows count": ("max_groups = 3", "max_groups = 4", False),
    "another table's person": ("unique = true\n", "max_rows = 2\n", False),
    "the budget": ("epsilon = 1000", "epsilon = 999", False),
    "where it lies": ('source = "visits.parquet"', 'source = "./visits.parquet"', True),
    "who vouches": ("max_rows = 12", "max_rows = 12\nwell_formed = true", True),
    "what a person has one of, if it is read": ("unit = 0.5", "unit = 0.5\nper_person = true", True),
    "what a person has one of, if it is not read": (
        "[tables.people]",
        "[tables.visits.columns.diagnosis]\nper_person = true\n[tables.people]",
        False,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_of_the_policy_it_says_what_the_question_meets(folder, change):
    before, after, differs = CHANGES[change]
    with curator_of(folder, "pure") as curator:
        first = identity(curator, BY_WARD)
    with curator_of(folder, "pure", lambda text: text.replace(before, after, 1)) as curator:
        assert (identity(curator, BY_WARD) != first) is differs


BY_CLASS = (
    "SELECT class, count(DISTINCT visits.patient) AS n, count(*) AS v FROM visits"
    " JOIN people USING (patient) GROUP BY class"
)
BEFORE = {
    "pure": "question-1:bc908a91535d586900582a6e49553bc50d49e587d8c5968f5e3be918b5e87256",
    "delta": "question-1:1365c8fd71b2084125db9af9622a4e1212472caa2269c796a26f1afac31359f1",
}
"""Written by the code that did not know yet that a person has one value of a column of a unique table."""


@pytest.mark.parametrize("kind", BEFORE)
def test_what_was_paid_before_it_was_known_that_a_person_has_one_of_it_is_found(folder, kind):
    with curator_of(folder, kind) as curator:
        release = QuestionRelease(plan=curator.plan(BY_CLASS, epsilon=2.5), dataset=curator.dataset)
    assert release.identity() != BEFORE[kind]
    assert BEFORE[kind] in release.older_keys()


def test_another_neighbourhood_is_another_question(folder):
    with curator_of(folder, "pure") as curator:
        first = identity(curator, BY_WARD)
    with curator_of(folder, "pure", lambda text: text.replace("add_remove", "replace_one")) as curator:
        assert identity(curator, BY_WARD) != first


def test_the_same_draw_answers_whatever_is_computed_from_it(clinic):
    first = clinic.ask(BY_WARD, epsilon=2.5)
    spent = clinic.budget().spent
    turned = clinic.ask(
        "SELECT 2 * avg(cost) AS double, count(*) AS people, ward FROM visits WHERE age > 30 GROUP BY ward"
        " ORDER BY ward DESC",
        epsilon=2.5,
    )
    assert turned.repeated
    assert clinic.budget().spent == spent
    assert turned.released.values["people"].tolist() == first.released.values["n"].tolist()[::-1]
    doubled = (2 * first.released.raw["mean"]).tolist()[::-1]
    assert turned.released.raw["double"].tolist() == pytest.approx(doubled)


def test_a_wider_bound_elsewhere_is_free(folder):
    with curator_of(folder, "pure") as curator:
        first = curator.ask("SELECT count(*) AS n FROM visits", epsilon=2.5)
    policy = folder / "pure.toml"
    policy.write_text(policy.read_text().replace("bounds = [0, 100]", "bounds = [0, 1000]"))
    with discreet.open(policy, analyst="anna") as curator:
        again = curator.ask("SELECT count(*) AS n FROM visits", epsilon=2.5)
    assert again.repeated
    assert again.released.encode() == first.released.encode()


def test_a_model_is_known_by_its_settings_and_its_columns(clinic):
    sql = "SELECT age, urgent, cost FROM visits"
    first = clinic.plan_fit(LinearRegression(), sql, epsilon=4).identity()
    assert clinic.plan_fit(LinearRegression(), sql.upper(), epsilon=4).identity() == first
    for model, columns in (
        (LinearRegression(fit_intercept=False), sql),
        (LinearRegression(), "SELECT urgent, age, cost FROM visits"),
        (LinearRegression(), sql + " WHERE age > 3"),
    ):
        assert clinic.plan_fit(model, columns, epsilon=4).identity() != first
    classes = clinic.plan_fit(LogisticRegression(), "SELECT age, cost, urgent FROM visits", epsilon=4)
    assert classes.identity() != first


THROUGH = """
[dataset]
name = "shop"
neighbours = "add_remove"
budget = {{ epsilon = 100, delta = 0 }}
[tables.customers]
source = "customers.csv"
person = "customer"
max_rows = 1
columns.key = {{ type = "{far}" }}
{vouched}
[tables.orders]
source = "orders.csv"
person = {{ through = "customers", on = {{ of = "key" }} }}
max_rows = 1
columns.of = {{ type = "{far}" }}
columns.key = {{ type = "{near}" }}
[tables.items]
source = "items.csv"
person = {{ through = "orders", on = "key" }}
max_rows = 1
columns.key = {{ type = "{near}" }}
"""


def test_how_keys_to_people_are_read_is_part_of_what_a_question_is(tmp_path):
    """As integers, 0007 and 7 are one key. The answer that was paid for then was given again for texts."""
    for name, header, row in (
        ("customers", "key,customer", "{0},{0}\n"),
        ("orders", "key,of", "{0},{0:04}\n"),
        ("items", "key", "{0:04}\n"),
    ):
        rows = "".join(row.format(number) for number in range(200))
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{rows}")
    found = set()
    for near, far, vouched in (
        *(("integer", "integer", ""), ("text", "integer", ""), ("integer", "text", "")),
        ("integer", "integer", "well_formed = true"),
    ):
        (tmp_path / "shop.toml").write_text(THROUGH.format(near=near, far=far, vouched=vouched))
        with discreet.open(tmp_path / "shop.toml", analyst="anna") as curator:
            answer = curator.ask("SELECT count(*) AS n FROM items", epsilon=2)
            assert not answer.repeated
            assert (answer["n"][0] > 100) == (near == far == "integer")
            found.add(identity(curator, "SELECT count(*) AS n FROM items"))
    assert len(found) == 4
