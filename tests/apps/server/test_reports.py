"""Reports over HTTP: the JSON of the command, one receipt, and files of one question each."""

import csv
import io
import json
import subprocess
import sys

import pyarrow.ipc
import pytest

from tests.apps.server.running_service import ROOT

PATH = "datasets/clinic/report"
BY_WARD = "-- Patients by ward\nSELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward"
COSTS = "/* The costs */ SELECT sum(cost) AS total FROM visits"
OLD = "SELECT count(*) AS n FROM visits WHERE age > 65"
REPORT = [BY_WARD, COSTS, OLD]


def ask(client, questions=REPORT, **terms):
    return client.post(PATH, {"questions": questions, **(terms or {"epsilon": 1})})


def spent(client):
    return client("olga").get("datasets/clinic/budget").json["spent"]["epsilon"]


@pytest.mark.parametrize("explain", [False, True])
def test_it_has_the_json_of_the_command(client, clinic, explain):
    ana = client("ana")
    body = {"questions": REPORT, "epsilon": 0.625, "confidence": 0.9}
    if explain:
        body["questions"] = [*REPORT, "SELECT count(*) AS n FROM visits WHERE age > 77"]  # nobody's yet
    told = ana.post(f"{PATH}/explain" if explain else PATH, body)
    assert told.status == 200, told.body
    command = [sys.executable, "-m", "discreet", "report", "-", "--epsilon", "0.625", "--confidence", "0.9"]
    again = subprocess.run(
        [*command, *(["--explain"] if explain else []), "--policy", str(clinic.policy), "--format", "json"],
        env={"PYTHONPATH": f"{ROOT}/src"},
        input=";\n".join(body["questions"]),
        text=True,
        capture_output=True,
        check=True,
    )
    shown = json.loads(again.stdout)
    if explain:
        for ours, theirs in zip(told.json["questions"], shown["questions"], strict=True):
            left = {"questions_left": theirs["explanation"]["questions_left"]}
            assert {**ours, "explanation": {**ours["explanation"], **left}} == theirs
        return
    assert shown.keys() == told.json.keys()
    assert [each["title"] for each in told.json["questions"]] == [
        "Patients by ward",
        "The costs",
        "Question 3",
    ]
    for ours, theirs in zip(told.json["questions"], shown["questions"], strict=True):
        assert (ours["title"], ours["sql"]) == (theirs["title"], theirs["sql"])
        assert ours["answer"].keys() == theirs["answer"].keys()
        assert ours["answer"]["rows"] == theirs["answer"]["rows"]


def test_it_is_charged_once_and_fetched_by_its_receipt(client):
    ana = client("ana")
    first, before = ask(ana), spent(client)
    assert first.status == 200, first.body
    again = ask(ana, REPORT[::-1], epsilon=1)
    assert again.json["charged"] == {"epsilon": 0.0}
    assert again.json["receipt"]["number"] == first.json["receipt"]["number"]
    assert [each["answer"]["rows"] for each in again.json["questions"]] == [
        each["answer"]["rows"] for each in first.json["questions"][::-1]
    ]
    assert spent(client) == before
    fetched = ana.get(first.headers["location"])
    assert (fetched.status, fetched.body) == (200, first.body)
    (newest,) = ana.get("history?most=1").json["questions"]
    assert newest["sql"].startswith(
        "REPORT\n\nSELECT count(*) AS n FROM visits WHERE age > 65;\n\n-- title: "
    )
    assert newest["receipt"] == first.json["receipt"]["number"]


def test_a_file_has_the_answer_of_one_question(client):
    ana = client("ana")
    told = ask(ana)
    place = told.headers["location"]
    rows = list(csv.DictReader(io.StringIO(ana.get(f"{place}?format=csv&question=1").body.decode())))
    assert [row["ward"] for row in rows] == ["north", "south", "attic"]
    assert [float(row["n"]) for row in rows] == [
        row["n"] for row in told.json["questions"][0]["answer"]["rows"]
    ]
    table = pyarrow.ipc.open_file(ana.get(f"{place}?format=arrow&question=2").body).read_all()
    assert table.column_names[:1] == ["total"]
    assert ana.get(f"{place}?question=3").json == ana.get(place).json["questions"][2]["answer"]
    for written in ("csv", "arrow"):
        refused = ana.get(f"{place}?format={written}")
        assert refused.status == 400
        assert "a report with 3 questions" in refused.json["detail"]
        example = f"?format={written}&question=1"
        assert f"end the address with {example}." in refused.json["remedy"]
        assert ana.get(place + example).status == 200
    for wrong in ("question=4", "format=csv&question=0", "question=x", "question=1&question=2"):
        assert ana.get(f"{place}?{wrong}").status == 400


def test_a_report_of_one_question_is_that_question(client):
    ana = client("ana")
    sql = "SELECT count(*) AS n FROM visits WHERE age < 12"
    report, alone = ask(ana, [f"-- Children\n{sql}"], epsilon=1), ana.ask(sql, epsilon=1)
    (question,) = report.json["questions"]
    assert (question["title"], question["sql"]) == ("Children", sql)
    assert alone.json["receipt"]["number"] == report.json["receipt"]["number"]
    assert alone.json["charged"] == {"epsilon": 0.0}
    place = alone.headers["location"]
    assert ana.get(f"{place}?format=csv").status == ana.get(f"{place}?format=csv&question=1").status == 200
    refused = ana.get(f"{place}?format=csv&question=2")
    assert (refused.status, "leave question= out" in refused.json["remedy"]) == (400, True)


def test_a_report_above_the_budget_costs_nothing(client):
    ask(client("ana"))
    before = spent(client)
    found = ask(client("ana"), [OLD, "SELECT count(*) AS n FROM visits WHERE age > 66"], epsilon=899.5)
    assert (found.status, found.json["type"]) == (409, "urn:discreet:problem:budget-exceeded")
    assert spent(client) == before


def test_a_dear_report_waits_for_the_owner(client):
    bo, olga = client("bo"), client("olga")
    questions = ["-- Old & dear\nSELECT count(*) AS n FROM visits WHERE age > 57", COSTS]
    assert ask(bo, questions, epsilon=0.75).status == 400  # without a purpose
    waits = ask(bo, questions, epsilon=0.75, purpose="a paper")
    assert (waits.status, waits.json["type"]) == (409, "urn:discreet:problem:needs-approval")
    (shown,) = [
        each for each in olga.get("approvals").json["approvals"] if each["id"] == waits.json["approval"]
    ]
    assert shown["sql"] == (
        "REPORT\n\n-- title: Old & dear\nSELECT count(*) AS n FROM visits WHERE age > 57;\n\n"
        "-- title: The costs\nSELECT sum(cost) AS total FROM visits"
    )
    assert (shown["epsilon"], shown["terms"]) == (0.75, {"epsilon": 0.75, "confidence": 0.95})
    assert olga.post(f"approvals/{shown['id']}", {"approve": True}).status == 200
    assert ask(bo, questions[:1], epsilon=0.75).status == 400  # another report
    told = ask(bo, questions, epsilon=0.75)
    assert (told.status, told.json["charged"]) == (200, {"epsilon": 0.75})


def test_an_auditor_sees_the_price_and_asks_nothing(client):
    audrey = client("audrey")
    assert ask(audrey).status == 403
    assert audrey.post(f"{PATH}/explain", {"questions": REPORT, "epsilon": 1}).status == 200


def test_a_report_of_many_questions(client):
    questions = [
        f"-- Below {i}\nSELECT count(*) FILTER (WHERE age < {i}) AS n FROM visits" for i in range(100)
    ]
    told = ask(client("ana"), questions, epsilon=1)
    assert told.status == 200, told.body
    assert [each["title"] for each in told.json["questions"]][::99] == ["Below 0", "Below 99"]
