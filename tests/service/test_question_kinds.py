"""Reports, synthetic tables and models of a service: what their texts say, and that none of them is lost."""

import json

import pytest

from discreet import InvalidInput
from discreet.service.accounts import new_account
from discreet.service.question_kinds import (
    ModelQuestion,
    SqlQuestion,
    SynthesisQuestion,
    WholeReport,
    check_text,
    read_kind,
)
from discreet.service.question_terms import AskedTerms
from discreet.service.service import open_service
from discreet.service.user_account import Role
from tests.attacks.ask import Clinic

ROWS = "SELECT ward, age FROM visits"
KINDS = [
    SqlQuestion(sql="SELECT count(*) AS n FROM visits"),
    WholeReport.of(["SELECT ward, count(*) AS n FROM visits GROUP BY ward"]),
    WholeReport.of(
        [
            "-- Patients; by ward\nSELECT ward, count(DISTINCT patient) AS n FROM visits GROUP BY ward",
            "-- title: REPORT\nSELECT count(*) AS n FROM visits WHERE lower(ward) <> '; SELECT -- '",
            "SELECT count(*) AS n, avg(cost) FROM visits;",
        ]
    ),
    SynthesisQuestion(sql=ROWS),
    SynthesisQuestion(sql=ROWS, bins=7),
    SynthesisQuestion(
        sql=f"{ROWS} WHERE lower(ward) <> '}} SELECT {{'", bins={"age": 9}, workload=["marginals 1"]
    ),
    ModelQuestion(model="LinearRegression", sql=ROWS),
    ModelQuestion(model="Ridge", settings={"alpha": 2.5, "bounds": [[0, 1], [0, 1]]}, sql=ROWS),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.text)
def test_a_text_says_all_that_is_charged_for(kind):
    assert read_kind(kind.text) == kind


def test_the_number_of_rows_is_free_and_so_no_part_of_it():
    assert SynthesisQuestion(sql=ROWS, rows=3).text == SynthesisQuestion(sql=ROWS).text


@pytest.mark.parametrize("sql", ["", " ", "x" * 100_001, "SELECT '\ud800'"])
def test_texts_that_cannot_be_kept(sql):
    with pytest.raises(InvalidInput):
        check_text(SqlQuestion(sql=sql))


@pytest.fixture
def service(tmp_path):
    service = open_service([Clinic(tmp_path / "clinic", epsilon=50, dataset="answer_times = []").policy])
    yield service
    service.close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.text)
def test_what_was_drawn_before_a_crash_is_fetched_by_its_receipt(service, kind):
    """The history was not told of the answer: the ledger has it."""
    (dataset,) = service.datasets.values()
    ana, olga = (
        new_account(name, role, ["clinic"]) for name, role in (("ana", Role.ANALYST), ("olga", Role.OWNER))
    )
    for account in (ana, olga):
        service.accounts.add(account, by="the owner")
    terms = AskedTerms(epsilon=2.0)
    service.history.begin(ana, "clinic", f"{kind.text} ", terms)  # another
    service.history.begin(ana, "clinic", kind.text, terms)
    curator = dataset.curator_of(ana)
    assert kind.recall(curator, terms) is None
    lost = kind.ask(curator, terms)
    spent = curator.left()
    found = json.loads(dataset.fetch(ana, lost.answer.receipt.number).text)
    told = json.loads(lost.text)
    assert found["receipt"] == told["receipt"] | {"repeated": True}
    assert found.get("model") == told.get("model")
    if not isinstance(kind, SynthesisQuestion):
        assert rows(found) == rows(told)
    assert curator.left() == spent


def rows(told):
    """Of an answer, or of each question of a report with its title."""
    if "questions" in told:
        return [(each["title"], each["sql"], each["answer"]["rows"]) for each in told["questions"]]
    return told["rows"]
