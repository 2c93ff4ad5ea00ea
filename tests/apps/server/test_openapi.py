"""The OpenAPI document is true: it has every route, and what is answered is what it says."""

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from discreet.apps.server.api.table import API_ROUTES, PREFIX
from discreet.apps.server.openapi import openapi_document
from discreet.apps.server.problems import KINDS
from tests.apps.server.running_service import COUNT

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]
DOCUMENT = openapi_document()
API = schemathesis.openapi.from_dict(DOCUMENT, config=SchemathesisConfig())
QUICKLY = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_it_has_every_route():
    described = {(method.upper(), path) for path, some in DOCUMENT["paths"].items() for method in some}
    assert described == {(route.method, PREFIX + route.path) for route in API_ROUTES}
    names = [each["operationId"] for some in DOCUMENT["paths"].values() for each in some.values()]
    assert len(names) == len(set(names))


def test_it_is_served(client):
    assert client().get("openapi.json").json == DOCUMENT


def test_every_kind_of_problem_has_its_name_and_a_status_of_errors():
    assert len({kind.name for kind in KINDS.values()}) == len(KINDS)
    assert all(re.fullmatch(r"[a-z-]+", kind.name) and 400 <= kind.status < 600 for kind in KINDS.values())


@pytest.mark.parametrize("who", ["ana", "olga", "audrey"])
@API.parametrize()
@QUICKLY
def test_whatever_is_sent_gets_an_answer_that_it_describes(case, port, tokens, who):
    """Arbitrary requests, those that fit the document and those that do not.

    That faulty ones are refused is tested in `test_bad_input`. Here a token is added, which mends some.
    """
    if case.path_parameters and case.path.startswith(f"{PREFIX}/datasets/") and who != "audrey":
        case.path_parameters["name"] = "clinic"
    if case.path.startswith(f"{PREFIX}/accounts/") and case.path_parameters.get("name") in tokens:
        return
    headers = {"Authorization": f"Bearer {tokens[who]}"}
    case.call_and_validate(base_url=f"http://127.0.0.1:{port}", headers=headers, checks=CHECKS)


def test_what_is_answered_to_real_requests_is_as_described(client):
    """Answers that no arbitrary request would get."""
    operations = {
        (operation.method.upper(), operation.path): operation
        for operation in (each.ok() for each in API.get_all_operations())
    }

    def check(received, method, path):
        schema = operations[method, PREFIX + path].schema
        described = schema.raw_schema["paths"][PREFIX + path][method.lower()]["responses"]
        assert str(received.status) in described, received.body
        content = described[str(received.status)]["content"]
        validate(received, content)

    def validate(received, content):
        import jsonschema_rs

        kind = received.headers["content-type"].partition(";")[0]
        whole = {"components": DOCUMENT["components"], **content[kind]["schema"]}
        jsonschema_rs.validator_for(whole).validate(received.json)

    ana, bo, olga = client("ana"), client("bo"), client("olga")
    told = ana.ask("SELECT ward, avg(cost) AS a, count(*) AS n FROM visits GROUP BY ward", epsilon=2)
    check(told, "POST", "/datasets/{name}/ask")
    check(ana.get(told.headers["location"]), "GET", "/datasets/{name}/receipts/{number}")
    check(ana.ask("SELECT patient FROM visits"), "POST", "/datasets/{name}/ask")
    check(bo.ask(f"{COUNT} WHERE age < 44", epsilon=0.9, purpose="p"), "POST", "/datasets/{name}/ask")
    check(ana.explain(COUNT), "POST", "/datasets/{name}/explain")
    check(
        ana.explain("SELECT ward, quantile(cost, 0.5) AS q, sum(cost) AS s FROM visits GROUP BY ward"),
        "POST",
        "/datasets/{name}/explain",
    )
    report = {"questions": ["-- All\nSELECT count(*) AS n FROM visits", COUNT], "epsilon": 1}
    made = ana.post("datasets/clinic/report", report)
    assert made.status == 200, made.body
    check(made, "POST", "/datasets/{name}/report")
    for end in ("", "?question=2"):
        check(ana.get(made.headers["location"] + end), "GET", "/datasets/{name}/receipts/{number}")
    explained = ana.post("datasets/clinic/report/explain", report)
    assert explained.status == 200, explained.body
    check(explained, "POST", "/datasets/{name}/report/explain")
    for action, more in (
        ("fit", {"model": "Ridge", "purpose": "p"}),
        ("fit/explain", {"model": "Ridge"}),
        ("synthesize", {"bins": {"cost": 3}, "workload": ["marginals 1"], "rows": 2}),
        ("synthesize/explain", {"bins": 3}),
    ):
        body = {"sql": "SELECT ward, cost FROM visits", "epsilon": 1, **more}
        made = ana.post(f"datasets/clinic/{action}", body)
        assert made.status == 200, made.body
        check(made, "POST", f"/datasets/{{name}}/{action}")
        if action == "fit":
            check(ana.get(made.headers["location"]), "GET", "/datasets/{name}/receipts/{number}")
    check(olga.post("projects", {"name": "p", "most_epsilon": 1}), "POST", "/projects")
    check(olga.get("accounts/ana"), "GET", "/accounts/{name}")
    check(olga.post("accounts/bo", {"default_epsilon": 1}), "POST", "/accounts/{name}")
    for path in (
        "/me",
        "/projects",
        "/datasets",
        "/history",
        "/approvals",
        "/log",
        "/accounts",
        "/log/verify",
    ):
        check(olga.get(path.strip("/")), "GET", path)
    for path in ("", "/budget", "/ledger/verify"):
        check(olga.get(f"datasets/clinic{path}"), "GET", f"/datasets/{{name}}{path}")
    made = olga.post("accounts", {"name": "dee", "role": "auditor", "days": 3})
    check(made, "POST", "/accounts")
    check(olga.post("accounts/dee/token", {"keep_others": True}), "POST", "/accounts/{name}/token")
    check(olga.post("accounts/dee/revoke"), "POST", "/accounts/{name}/revoke")
    waiting = olga.get("approvals").json["approvals"][0]["id"]
    check(olga.post(f"approvals/{waiting}", {"approve": False}), "POST", "/approvals/{id}")
    check(client().get("me"), "GET", "/me")
