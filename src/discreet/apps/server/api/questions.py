"""Questions: their price, their answers, and what an account asked before."""

import json
from typing import Any

from discreet.apps.server.api.fields import ApiField, FieldKind
from discreet.apps.server.api.route import ApiCall, ApiReply, ApiRoute, WorkKind
from discreet.errors import InvalidInput
from discreet.release.explanation_json import explanation_json
from discreet.service.history import AskedQuestion
from discreet.service.served_dataset import LONGEST_QUESTION, MOST_SYNTHETIC_ROWS, Told
from discreet.service.user_account import Role

_TERMS = ("epsilon", "rho", "within", "confidence")
_QUESTION = (
    ApiField(
        name="sql",
        kind=FieldKind.TEXT,
        required=True,
        longest=LONGEST_QUESTION,
        about="The question, as SQL.",
    ),
    ApiField(name="epsilon", kind=FieldKind.NUMBER, about="Pay this ε (pure, or at the dataset's δ)."),
    ApiField(name="rho", kind=FieldKind.NUMBER, about="Pay this ρ (zCDP); needs a budget with a δ."),
    ApiField(name="within", kind=FieldKind.NUMBER, about="Be within ± this, at the least price."),
    ApiField(name="confidence", kind=FieldKind.NUMBER, about="Of stated errors, such as 0.95."),
)
_SYNTHESIS = (
    ApiField(
        name="sql",
        kind=FieldKind.TEXT,
        required=True,
        longest=LONGEST_QUESTION,
        about="The columns, as SQL: SELECT ward, age FROM visits.",
    ),
    *_QUESTION[1:3],
    ApiField(name="rows", kind=FieldKind.WHOLE, least=1, about="How many rows; about as many as there are."),
)
_PURPOSE = ApiField(
    name="purpose",
    kind=FieldKind.TEXT,
    longest=2_000,
    about="What the question is for; needed if the owner has to approve it.",
)
_MOST = ApiField(name="most", kind=FieldKind.WHOLE, least=1, about="How many at most; 100 if not given.")


def ask(call: ApiCall) -> ApiReply:
    """The text of the answer as it is kept, so that it is the same whenever it is fetched."""
    dataset = call.service.dataset(call.path["name"], call.account)
    purpose = call.body.get("purpose", "")
    told = dataset.ask(call.account, call.body["sql"], _terms(call), purpose=purpose)
    return _told(call, told)


def synthesize(call: ApiCall) -> ApiReply:
    """As `ask` answers, without intervals: a cell of a row of nobody has no error of its own."""
    dataset = call.service.dataset(call.path["name"], call.account)
    rows = call.body.get("rows")
    if rows is not None and rows > MOST_SYNTHETIC_ROWS:
        raise InvalidInput(
            f"At most {MOST_SYNTHETIC_ROWS:,} rows are drawn at once.",
            remedy="Ask again: other rows of the same table are free.",
        )
    told = dataset.synthesize(
        call.account, call.body["sql"], _terms(call), rows=rows, purpose=call.body.get("purpose", "")
    )
    return _told(call, told)


def explain(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    return ApiReply(content=explanation_json(dataset.explain(call.account, call.body["sql"], _terms(call))))


def history(call: ApiCall) -> ApiReply:
    most = min(1_000, call.query.get("most", 100))
    found = call.service.history.of(call.account, most=most)
    return ApiReply(content={"questions": [_question(each) for each in found]})


def _told(call: ApiCall, told: Told) -> ApiReply:
    headers = {}
    if told.answer is not None:
        headers["location"] = f"{call.path['prefix']}/{told.answer.receipt.number}"
    return ApiReply(content=told.text, headers=headers)


def _terms(call: ApiCall) -> dict[str, Any]:
    return {name: call.body[name] for name in _TERMS if name in call.body}


def _question(asked: AskedQuestion) -> dict[str, Any]:
    return {
        "id": asked.id,
        "dataset": asked.dataset,
        "sql": asked.question,
        "terms": json.loads(asked.terms.text()),
        "asked": asked.asked.isoformat(),
        "receipt": asked.receipt,
    }


ROUTES = (
    ApiRoute(
        method="POST",
        path="/datasets/{name}/ask",
        action=ask,
        summary="Ask a question, and pay for its answer",
        answer="Answer",
        roles=(Role.ANALYST, Role.OWNER),
        work=WorkKind.ASK,
        fields=(*_QUESTION, _PURPOSE),
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/synthesize",
        action=synthesize,
        summary="Rows of nobody, in which counts are nearly as in the real table; paid for once",
        answer="Answer",
        roles=(Role.ANALYST, Role.OWNER),
        work=WorkKind.ASK,
        fields=(*_SYNTHESIS, _PURPOSE),
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/explain",
        action=explain,
        summary="The price and the error of a question; costs nothing",
        answer="Explanation",
        work=WorkKind.EXPLAIN,
        fields=_QUESTION,
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="GET",
        path="/history",
        action=history,
        summary="What this account asked, newest first",
        answer="History",
        query=(_MOST,),
    ),
)
