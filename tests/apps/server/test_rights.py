"""Who may call what: every route for every role, and nothing of somebody else's."""

import json
from datetime import timedelta
from urllib.parse import quote

import pytest

from discreet.apps.server.api.table import API_ROUTES
from discreet.service import accounts
from discreet.service.service import open_people
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Role
from tests.apps.server.running_service import COUNT, Client, add_account

PEOPLE = {"ana": Role.ANALYST, "olga": Role.OWNER, "audrey": Role.AUDITOR}
OWNERS_ONLY = {
    "GET /accounts",
    "POST /accounts",
    "GET /accounts/{name}",
    "POST /accounts/{name}",
    "POST /accounts/{name}/revoke",
    "POST /accounts/{name}/token",
    "POST /approvals/{id}",
    "POST /projects",
}
OVERSEERS_ONLY = {"GET /datasets/{name}/ledger/verify", "GET /log/verify", "GET /projects"}
NOT_FOR_AUDITORS = {f"POST /datasets/{{name}}/{action}" for action in ("ask", "fit", "report", "synthesize")}
MODEL = {"sql": "SELECT ward, cost FROM visits", "model": "Ridge", "epsilon": 1}
REPORT = {"questions": [COUNT, "SELECT sum(cost) AS s FROM visits"], "epsilon": 1}
BODIES = {
    "/datasets/{name}/ask": {"sql": COUNT, "epsilon": 1},
    "/datasets/{name}/report": REPORT,
    "/datasets/{name}/report/explain": REPORT,
    "/datasets/{name}/synthesize": {"sql": "SELECT ward FROM visits", "epsilon": 1, "rows": 2},
    "/datasets/{name}/synthesize/explain": {"sql": "SELECT ward FROM visits", "epsilon": 1},
    "/datasets/{name}/fit": MODEL,
    "/datasets/{name}/fit/explain": MODEL,
    "/datasets/{name}/explain": {"sql": COUNT, "epsilon": 1},
    "/accounts": {"name": "-", "role": "analyst"},
    "/approvals/{id}": {"approve": True},
    "/projects": {"name": "-", "most_epsilon": 1},
}


def label(route):
    return f"{route.method} {route.path}"


def allowed(role, route):
    """Written down a second time, so that a slip in the table is noticed."""
    if label(route) in OWNERS_ONLY:
        return role is Role.OWNER
    if label(route) in OVERSEERS_ONLY:
        return role is not Role.ANALYST
    return label(route) not in NOT_FOR_AUDITORS or role is not Role.AUDITOR


def call(client, route, name="clinic", number="1"):
    path = route.path.strip("/").replace("{number}", number).replace("{id}", "none")
    path = path.replace("{name}", name if path.startswith("datasets") else "nobody")
    body = json.dumps(BODIES.get(route.path, {})) if route.method == "POST" else None
    return client.send(route.method, path, body)


@pytest.mark.parametrize("route", API_ROUTES, ids=label)
@pytest.mark.parametrize("who", PEOPLE)
def test_each_role_may_do_what_it_may(client, route, who):
    found = call(client(who), route)
    assert (found.status != 403) == allowed(PEOPLE[who], route), found.body
    assert found.status in (200, 201, 400, 403, 404), found.body


@pytest.mark.parametrize("route", API_ROUTES, ids=label)
def test_nobody_gets_in_without_a_token(client, route):
    found = call(client(), route)
    assert (found.status, found.headers["www-authenticate"]) == (401, 'Bearer realm="discreet"')


@pytest.mark.parametrize(
    "route", [route for route in API_ROUTES if route.path.startswith("/datasets/{name}")], ids=label
)
@pytest.mark.parametrize("who", ["zoe", "otto"])
def test_a_dataset_of_others_is_as_one_that_does_not_exist(client, route, who):
    theirs = call(client(who), route, "clinic")
    nowhere = call(client(who), route, "nowhere")
    assert theirs.status in (403, 404)
    assert theirs.body == nowhere.body.replace(b"nowhere", b"clinic")


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("ask", {"sql": "SELECT count(*) AS mine FROM visits WHERE age < 33"}),
        ("report", {"questions": ["SELECT count(*) AS mine FROM visits WHERE age < 34", COUNT]}),
    ],
)
def test_a_receipt_of_others_is_as_one_that_does_not_exist(client, action, body):
    paid = client("ana").post(f"datasets/clinic/{action}", {**body, "epsilon": 1})
    number = paid.json["receipt"]["number"]
    for end in ("", "?question=1", "?format=csv", "?format=csv&question=1", "?format=arrow&question=9"):
        found = client("bo").get(f"datasets/clinic/receipts/{number}{end}")
        missing = client("bo").get(f"datasets/clinic/receipts/999999{end}")
        assert (found.status, missing.status) == (404, 404)
        assert found.body == missing.body.replace(b"999999", str(number).encode())
    for overseer in ("olga", "audrey"):
        assert client(overseer).get(f"datasets/clinic/receipts/{number}").body == paid.body
    assert client("otto").get(f"datasets/clinic/receipts/{number}").status == 404


@pytest.mark.parametrize("number", ["0", "-1", "1e3", "٣", "9" * 30, "x", "1%00"])
def test_odd_receipts_are_not_there(client, number):
    found = client("ana").get(f"datasets/clinic/receipts/{quote(number, safe='%')}")
    assert found.status == 404


def test_an_owner_has_no_power_over_accounts_of_other_datasets(client):
    otto = client("otto")
    names = {each["name"] for each in otto.get("accounts").json["accounts"]}
    assert {"otto", "zoe"} <= names
    assert not names & {"ana", "bo", "olga", "audrey"}
    for name in ("ana", "olga", "nobody"):
        for action in ("", "/revoke", "/token"):
            found = otto.post(f"accounts/{name}{action}")
            assert found.status == 404
            assert name in found.json["detail"]
    made = otto.post("accounts", {"name": "eve", "role": "owner", "datasets": ["clinic"]})
    assert made.status == 404
    assert client("ana").get("me").status == 200


def test_nobody_gives_away_more_than_they_have(client):
    otto, olga = client("otto"), client("olga")
    assert otto.post("accounts/zoe", {"datasets": ["school", "clinic"]}).status == 404
    assert otto.get("accounts/ana").status == 404
    for change in ({"role": "analyst"}, {"datasets": ["school"]}):
        refused = otto.post("accounts/otto", change)
        assert (refused.status, "your own account" in refused.json["detail"]) == (400, True)
    assert otto.post("accounts/otto/revoke").status == 400
    assert olga.get("accounts/zoe").json["datasets"] == ["school"]
    assert olga.get("accounts/otto").json["role"] == "owner"


def test_a_project_with_people_of_others_is_not_for_an_owner_of_some_datasets(client):
    otto, olga = client("otto"), client("olga")
    assert olga.post("projects", {"name": "both", "most_epsilon": 1}).status == 200
    assert otto.post("projects", {"name": "both", "most_epsilon": 2}).status == 200  # nobody is in it yet
    assert olga.post("accounts/ana", {"project": "both"}).status == 200
    for refused in (
        otto.post("projects", {"name": "both", "most_epsilon": 9}),
        otto.post("accounts/zoe", {"project": "both"}),
        otto.post("accounts", {"name": "fay", "role": "analyst", "project": "both"}),
    ):
        assert refused.status == 404
    assert "both" not in [each["name"] for each in otto.get("projects").json["projects"]]
    assert {"name": "both", "most_epsilon": 2, "members": ["ana"]} in olga.get("projects").json["projects"]
    assert olga.post("accounts/ana", {"project": ""}).json["project"] == ""
    left = next(each for each in olga.get("projects").json["projects"] if each["name"] == "both")
    assert left["members"] == []
    assert otto.post("projects", {"name": "both", "most_epsilon": 9}).status == 404  # what she spent counts


def test_an_owner_decides_on_their_own_datasets_only(client):
    waits = client("bo").ask(
        "SELECT count(*) AS other FROM visits WHERE age > 53", epsilon=0.8, purpose="a paper"
    )
    number = waits.json["approval"]
    refused = client("otto").post(f"approvals/{number}", {"approve": True})
    assert refused.status == 404
    assert refused.body == client("otto").post("approvals/none", {"approve": True}).body
    assert client("otto").get("approvals").json == {"approvals": []}
    assert number in {each["id"] for each in client("audrey").get("approvals").json["approvals"]}


def test_the_log_of_other_datasets_is_not_shown(client):
    events = all_events(client("otto"))
    assert {event["dataset"] for event in events if event["who"] != "otto"} <= {"school"}


def test_an_analyst_sees_what_they_spent_and_not_what_others_did(client):
    told = client("bo").ask("SELECT count(*) AS b FROM visits WHERE age < 91", epsilon=0.5)
    assert told.status == 200, told.body
    assert set(client("ana").get("datasets/clinic/budget").json["analysts"]) <= {"ana"}
    assert "bo" in client("audrey").get("datasets/clinic/budget").json["analysts"]


def test_tokens_that_do_not_work_all_get_the_same_answer(port, clinic, monkeypatch):
    revoked = add_account(clinic.policy, "revoked one")
    monkeypatch.setattr(accounts, "timedelta", lambda **_: timedelta(days=-1))
    expired = add_account(clinic.policy, "expired one")
    monkeypatch.undo()
    people = open_people(clinic.policy)
    people.accounts.revoke("revoked one", by="the owner")
    people.close()
    answers = set()
    for token in (revoked, expired, "discreet_" + "x" * 43, "", "é", "x" * 5_000):
        with Client(port, token.encode().decode("latin-1")) as client:
            found = client.get("me")
            answers.add((found.status, found.body, tuple(sorted(found.headers.items()))))
    assert len(answers) == 1
    assert next(iter(answers))[0] == 401


def test_a_flood_of_wrong_tokens_does_not_fill_the_log(port, clinic):
    with Client(port, "wrong") as client:
        assert {client.get("me").status for _ in range(200)} == {401}
    people = open_people(clinic.policy)
    refused = [event for event in people.log.events() if event.action is Action.SIGN_IN_REFUSED]
    people.close()
    assert 1 <= len(refused) <= 60


def all_events(client):
    """Page by page."""
    after, found = 0, []
    while after is not None:
        page = client.get(f"log?after={after}&most=1000").json
        found, after = found + page["events"], page["next"]
    return found


def test_refusals_by_role_are_in_the_log(client):
    assert client("audrey").ask(COUNT).status == 403
    own = all_events(client("audrey"))
    refused = [event for event in own if event["who"] == "audrey" and event["action"] == "refused"]
    assert refused[-1]["details"] == {"route": "POST /api/v1/datasets/{name}/ask"}
