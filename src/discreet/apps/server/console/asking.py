"""The page to ask: tables, the editor, explain while typing, the answer."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, RedirectResponse, Response

from discreet.apps.server.console.made_up import (
    completion_words,
    example_questions,
    limits_text,
    made_up_rows,
    range_text,
)
from discreet.apps.server.console.pricing import WAYS, explained, terms_of
from discreet.apps.server.console.receipts import answer_facts
from discreet.apps.server.console.rendering import piece, rendered
from discreet.apps.server.console.visits import Visit
from discreet.errors import DiscreetError, InvalidInput, NeedsApproval, for_page
from discreet.model.privacy import amount_of
from discreet.release.explain import epsilon_of
from discreet.service.approvals import Status
from discreet.service.question_terms import AskedTerms
from discreet.service.served_dataset import ServedDataset
from discreet.service.user_account import Role

_USUAL_SHARE = 20
"""A question costs a twentieth of what is left, unless somebody says otherwise."""


def home(visit: Visit) -> Response:
    """The first dataset: to ask, or to oversee for those who ask nothing."""
    names = visit.service.visible(visit.account)
    if not names:
        return rendered("nothing.html", visit=visit, place="")
    part = "ask" if visit.account.may_ask else "owner/datasets"
    return RedirectResponse(f"/{part}/{quote(names[0])}", status_code=303)


def ask_page(visit: Visit) -> Response:
    """The editor; a question in the address is in it."""
    query = visit.request.query_params
    return _page(
        visit,
        visit.path("dataset"),
        sql=query.get("sql"),
        by=query.get("by", ""),
        value=query.get("value", ""),
    )


def explain_question(visit: Visit) -> Response:
    """For every pause in typing. A refusal is an answer too."""
    dataset = _dataset(visit)
    try:
        sql = visit.text("sql")
        terms = terms_of(visit.sent, dataset.policy)
        found = explained(dataset, visit.account, sql, terms)
        return JSONResponse(found | {"approval": _approval(visit, dataset.name, sql, terms, found)})
    except DiscreetError as error:
        return JSONResponse({"problem": error.problem, "remedy": for_page(error.remedy)})


def ask_question(visit: Visit) -> Response:
    """The answer: as a whole page, or as the piece of it that a script puts in its place."""
    dataset, sql = _dataset(visit), visit.text("sql")
    facts: dict[str, Any]
    status = 200
    try:
        terms = terms_of(visit.sent, dataset.policy)
        told = dataset.ask(visit.account, sql, terms, purpose=visit.text("purpose"))
        facts = answer_facts(visit, dataset, told.text, sql, terms)
    except NeedsApproval as error:
        facts, status = {"waiting": error}, 202
    except DiscreetError as error:
        facts, status = {"refused": error}, 422
    if visit.request.headers.get("x-piece") == "answer":
        left = {"X-Left": json.dumps(_left(visit, dataset)["left"])}
        return Response(
            piece("_answer.html", visit=visit, place="ask", **facts), media_type="text/html", headers=left
        )
    sent = visit.sent
    return _page(
        visit,
        dataset.name,
        sql=sql,
        by=str(sent.get("by", "")),
        value=str(sent.get("value", "")),
        status=status,
        **{name: fact for name, fact in facts.items() if name not in ("sql", "dataset")},
    )


def history(visit: Visit) -> Response:
    """The own questions, and what waits for the owner."""
    names = visit.service.visible(visit.account)
    asked = [each for each in visit.service.history.of(visit.account) if each.dataset in names]
    approvals = visit.service.approvals.all(account=visit.account.name)
    return rendered(
        "history.html",
        visit=visit,
        place="history",
        asked=asked,
        waiting=[each for each in approvals if each.status is Status.WAITING],
        decided=[each for each in approvals if each.status is not Status.WAITING][:20],
    )


def _page(
    visit: Visit, name: str, *, sql: str | None, by: str, value: str, status: int = 200, **facts: Any
) -> Response:
    visit.account.check_role(Role.ANALYST, Role.OWNER)
    dataset = visit.service.dataset(name, visit.account)
    policy = dataset.facts(visit.account)
    left, examples = _left(visit, dataset), example_questions(policy)
    first = examples[0]["sql"] if examples else ""
    usual = visit.account.default_epsilon or left["left"] / _USUAL_SHARE
    return rendered(
        "ask.html",
        status=status,
        visit=visit,
        place="ask",
        dataset=name,
        policy=policy,
        rows={table.name: made_up_rows(table) for table in dataset.policy.tables.values()},
        limits=limits_text,
        ranges=range_text,
        examples=examples,
        words=json.dumps(completion_words(policy), ensure_ascii=False),
        sql=first if sql is None else sql,
        by=by if by in WAYS else "epsilon",
        value=value or f"{float(usual):.3g}",
        **left,
        **facts,
    )


def _approval(visit: Visit, name: str, sql: str, terms: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """ "none" if the owner need not decide; else "needed", or what became of the request."""
    if not found["decides_owner"]:
        return "none"
    before = visit.service.approvals.find(visit.account, name, sql, AskedTerms.read(terms))
    return "needed" if before is None else before.status.value


def _left(visit: Visit, dataset: ServedDataset) -> dict[str, Any]:
    curator = dataset.curator_of(visit.account)
    left = curator.left()
    epsilon = epsilon_of(left, dataset.policy) if amount_of(left) else 0.0
    return {"left": epsilon, "most": float(dataset.most_epsilon(visit.account))}


def _dataset(visit: Visit) -> ServedDataset:
    visit.account.check_role(Role.ANALYST, Role.OWNER)
    name = visit.text("dataset")
    if not name:
        raise InvalidInput("The dataset is missing.", remedy="Load the page again.")
    return visit.service.dataset(name, visit.account)
