"""The API as analysts and owners use it."""

import csv
import io
import json
import subprocess
import sys

import pyarrow.ipc
import pytest

from tests.apps.server.running_service import COUNT, ROOT, Client

BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


def test_an_answer_has_the_json_of_the_command_and_can_be_fetched_again(client, clinic):
    ana = client("ana")
    told = ana.ask(BY_WARD, epsilon=1)
    assert told.status == 200, told.body
    assert [row["ward"] for row in told.json["rows"]] == ["north", "south", "attic"]
    command = [
        sys.executable,
        "-m",
        "discreet",
        "ask",
        BY_WARD,
    ]
    again = subprocess.run(
        [*command, "--epsilon", "1", "--policy", str(clinic.policy), "--format", "json"],
        env={"PYTHONPATH": f"{ROOT}/src"},
        capture_output=True,
        check=True,
    )
    shown = json.loads(again.stdout)
    assert shown.keys() == told.json.keys()
    assert shown["rows"] == told.json["rows"]
    fetched = ana.get(told.headers["location"])
    assert (fetched.status, fetched.body) == (200, told.body)


def test_a_receipt_as_csv(client):
    ana = client("ana")
    told = ana.ask(BY_WARD, epsilon=1)
    found = ana.get(told.headers["location"] + "?format=csv")
    assert found.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(found.body.decode())))
    assert [row["ward"] for row in rows] == ["north", "south", "attic"]
    assert float(rows[0]["n_low"]) <= float(rows[0]["n"]) <= float(rows[0]["n_high"])


def test_a_receipt_as_arrow(client):
    ana = client("ana")
    told = ana.ask(BY_WARD, epsilon=1)
    found = ana.get(told.headers["location"] + "?format=arrow")
    assert found.headers["content-type"] == "application/vnd.apache.arrow.file"
    table = pyarrow.ipc.open_file(found.body).read_all()
    assert table.column_names[:4] == ["ward", "n", "n_low", "n_high"]
    assert table.to_pydict()["n"] == [row["n"] for row in told.json["rows"]]
    receipt = json.loads(table.schema.metadata[b"receipt"])
    assert (receipt["number"], receipt["dataset"]) == (told.json["receipt"]["number"], "clinic")
    assert client("zoe").get(told.headers["location"] + "?format=arrow").status == 404


def test_the_same_question_again_is_free(client):
    ana = client("ana")
    first = ana.ask(COUNT, epsilon=0.95)
    again = ana.ask(COUNT, epsilon=0.95)
    assert again.json["charged"] == {"epsilon": 0.0}
    assert again.json["rows"] == first.json["rows"]


def test_synthetic_rows_are_charged_once_and_drawn_as_often_as_wanted(client):
    ana, bo, olga = client("ana"), client("bo"), client("olga")
    made = {"sql": "SELECT ward, age FROM visits", "epsilon": 1, "rows": 20}
    first, second = (ana.post("datasets/clinic/synthesize", made) for _ in range(2))
    assert (first.status, first.json["columns"], len(first.json["rows"])) == (200, ["ward", "age"], 20)
    assert [each.json["charged"] for each in (first, second)] == [{"epsilon": 1.0}, {"epsilon": 0.0}]
    assert first.json["rows"] != second.json["rows"]
    assert ana.get(first.headers["location"]).body == first.body
    assert ana.post("datasets/clinic/synthesize", {**made, "rows": 100_001}).status == 400
    waits = bo.post("datasets/clinic/synthesize", {**made, "epsilon": 2, "purpose": "to try things"})
    assert waits.json["type"] == "urn:discreet:problem:needs-approval"
    assert olga.post(f"approvals/{waits.json['approval']}", {"approve": True}).status == 200
    assert bo.post("datasets/clinic/synthesize", {**made, "epsilon": 2}).status == 200


def test_to_explain_costs_nothing(client):
    ana = client("ana")
    before = ana.get("datasets/clinic/budget").json["spent"]
    found = ana.explain(COUNT, epsilon=2)
    assert (found.status, found.json["cost"]) == (200, {"epsilon": 2.0})
    assert ana.explain(COUNT, within=10).json["errors"][0]["each"] <= 10
    assert ana.get("datasets/clinic/budget").json["spent"] == before


def test_what_is_public_of_a_dataset(client):
    facts = client("ana").get("datasets/clinic").json
    (table,) = facts["tables"]
    by_name = {column["name"]: column for column in table["columns"]}
    assert by_name["cost"]["bounds"] == [0, 100]
    assert by_name["ward"]["keys"] == ["north", "south", "attic"]
    assert "source" not in table
    assert client("ana").get("datasets").json == {"datasets": ["clinic"]}
    assert client("olga").get("datasets").json == {"datasets": ["clinic", "school"]}


def test_the_history_is_ones_own(client):
    ana, zoe = client("ana"), client("zoe")
    ana.ask("SELECT sum(cost) AS s FROM visits", epsilon=1)
    (newest,) = ana.get("history?most=1").json["questions"]
    assert newest["sql"] == "SELECT sum(cost) AS s FROM visits"
    assert newest["terms"] == {"epsilon": 1, "confidence": 0.95}
    assert all("sum(cost)" not in each["sql"] for each in zoe.get("history").json["questions"])


def test_a_dear_question_waits_for_the_owner(client):
    bo, olga = client("bo"), client("olga")
    sql = f"{COUNT} WHERE age > 52"  # nobody has asked it at a higher price
    assert bo.ask(sql, epsilon=0.4 + 0.1).status == 200
    assert bo.ask(sql, epsilon=0.75).status == 400  # without a purpose
    waits = bo.ask(sql, epsilon=0.75, purpose="a paper")
    assert (waits.status, waits.json["type"]) == (409, "urn:discreet:problem:needs-approval")
    number = waits.json["approval"]
    assert number in [each["id"] for each in bo.get("approvals").json["approvals"]]
    assert client("ana").get("approvals").json == {"approvals": []}
    assert bo.post(f"approvals/{number}", {"approve": True}).status == 403
    decided = olga.post(f"approvals/{number}", {"approve": True})
    assert (decided.status, decided.json["status"], decided.json["decided_by"]) == (200, "approved", "olga")
    assert bo.ask(sql, epsilon=0.75).status == 200
    assert olga.post(f"approvals/{number}", {"approve": False}).status == 400


def test_accounts_are_added_given_new_tokens_and_revoked(client, port):
    olga = client("olga")
    made = olga.post("accounts", {"name": "cy", "role": "analyst", "datasets": ["clinic"], "most_epsilon": 1})
    assert made.status == 201, made.body
    with Client(port, made.json["token"]) as cy:
        assert cy.get("me").json["most_epsilon"] == 1
        over = cy.ask(COUNT, epsilon=1.5)
        assert (over.status, over.json["type"]) == (409, "urn:discreet:problem:budget-exceeded")
    another = olga.post("accounts/cy/token", {"days": 7})
    assert another.status == 201
    with Client(port, made.json["token"]) as old, Client(port, another.json["token"]) as new:
        assert old.get("me").status == 401
        assert new.get("me").status == 200
        assert olga.post("accounts/cy/revoke").json["revoked"] is not None
        assert new.get("me").status == 401
    assert olga.post("accounts", {"name": "cy", "role": "analyst"}).status == 400
    assert olga.post("accounts/cy/token").status == 400


def test_an_account_is_changed_and_keeps_what_is_not_named(client, port):
    olga = client("olga")
    caps = {"most_epsilon": 2, "default_epsilon": 0.5, "approval_above": 1}
    made = olga.post("accounts", {"name": "gus", "role": "analyst", "datasets": ["clinic"], **caps})
    changed = olga.post("accounts/gus", {"most_epsilon": 3, "remove": ["approval_above"]})
    assert (changed.status, changed.json) == (200, olga.get("accounts/gus").json)
    assert [changed.json[name] for name in caps] == [3, 0.5, None]
    assert changed.json["role"] == "analyst"
    with Client(port, made.json["token"]) as gus:
        assert gus.ask(COUNT, epsilon=2.5).status == 200  # with neither the old cap nor the approval
        assert olga.post("accounts/gus", {"role": "auditor", "datasets": ["school"]}).status == 200
        assert gus.get("datasets").json == {"datasets": ["school"]}
        assert gus.ask(COUNT, dataset="school", epsilon=0.1).status == 403
    logged = client("audrey").get("log?most=1000").json["events"]
    assert any(each["action"] == "account changed" and each["who"] == "olga" for each in logged)
    for wrong in ({"remove": ["role"]}, {"most_epsilon": 0}, {"project": "none such"}, {"name": "x"}):
        assert olga.post("accounts/gus", wrong).status == 400
    assert olga.post("accounts/nobody", {"most_epsilon": 1}).status == 404


def test_a_project_holds_its_members_together(client, port):
    olga = client("olga")
    made = olga.post("projects", {"name": "sepsis", "most_epsilon": 1})
    assert (made.status, made.json) == (200, {"name": "sepsis", "most_epsilon": 1, "members": []})
    tokens = []
    for name in ("hal", "ida"):
        account = {"name": name, "role": "analyst", "datasets": ["clinic"], "project": "sepsis"}
        tokens.append(olga.post("accounts", account).json["token"])
    with Client(port, tokens[0]) as hal, Client(port, tokens[1]) as ida:
        assert hal.ask("SELECT count(*) FROM visits WHERE age < 41", epsilon=0.75).status == 200
        assert ida.ask("SELECT count(*) FROM visits WHERE age < 42", epsilon=0.75).status == 409
        assert olga.post("projects", {"name": "sepsis", "most_epsilon": 2}).json["members"] == ["hal", "ida"]
        assert ida.ask("SELECT count(*) FROM visits WHERE age < 42", epsilon=0.75).status == 200


def test_the_log_says_who_did_what_and_holds(client):
    ana, audrey = client("ana"), client("audrey")
    assert ana.ask("SELECT patient FROM visits", epsilon=1).status == 422
    own = ana.get("log?most=1000").json["events"]
    assert {event["who"] for event in own} == {"ana"}
    assert own[-1]["action"] == "refused"
    everything = audrey.get("log?most=1000").json["events"]
    assert {"service started", "account added", "asked"} <= {event["action"] for event in everything}
    first = audrey.get("log?most=2").json
    assert len(first["events"]) == 2
    assert audrey.get(f"log?after={first['next']}&most=1").json["events"][0]["number"] == first["next"] + 1
    assert audrey.get("log/verify").json["holds"]
    assert audrey.get("datasets/clinic/ledger/verify").json["holds"]


def test_it_is_healthy_and_says_nothing_else(client):
    found = client().get("/healthz")
    assert (found.status, found.json) == (200, {"status": "ready"})
    assert client().get("/healthz", Host="anything.example").status == 200


def test_metrics_have_counts_and_no_values(client):
    client("ana").ask("SELECT count(*) AS canary FROM visits", epsilon=1)
    text = client("audrey").get("/metrics").body.decode()
    assert 'route="/api/v1/datasets/{name}/ask",status="200"' in text
    assert "canary" not in text
    assert "clinic" not in text
    assert [client(name).get("/metrics").status for name in (None, "ana", "olga")] == [401, 403, 200]


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/nothing", "/api/v1/datasets/", "/metrics/x"])
def test_what_is_not_there(client, path):
    found = client("ana").get(path)
    assert (found.status, found.headers["content-type"]) == (404, "application/problem+json")
