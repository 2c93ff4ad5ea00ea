"""Questions: their price, their answers, and what an account asked before."""

import json
from collections.abc import Mapping
from typing import Any

from discreet.apps.server.api.fields import ApiField, FieldKind
from discreet.apps.server.api.route import ApiCall, ApiReply, ApiRoute, Work
from discreet.errors import InvalidInput
from discreet.release.explanation_json import explanation_json
from discreet.service.history import AskedQuestion
from discreet.service.served_dataset import LONGEST_QUESTION
from discreet.service.synthesis_wish import MOST_ROWS, SynthesisWish
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
_PURPOSE = ApiField(
    name="purpose",
    kind=FieldKind.TEXT,
    longest=2_000,
    about="What the question is for; needed if the owner has to approve it.",
)
_SYNTHESIS = (
    *_QUESTION[:3],
    ApiField(name="bins", kind=FieldKind.WHOLE, least=1, about="How many bins numbers are put into."),
    ApiField(name="column_bins", kind=FieldKind.TEXTS, about="The same by column, each as COLUMN=N."),
    ApiField(
        name="workload",
        kind=FieldKind.TEXTS,
        longest=500,
        about="Questions that the rows should answer well.",
    ),
    ApiField(
        name="rows",
        kind=FieldKind.WHOLE,
        least=1,
        about=f"How many to draw, at most {MOST_ROWS:,}; about as many as there are if not given.",
    ),
    _PURPOSE,
)
_MOST = ApiField(name="most", kind=FieldKind.WHOLE, least=1, about="How many at most; 100 if not given.")


def ask(call: ApiCall) -> ApiReply:
    """The text of the answer as it is kept, so that it is the same whenever it is fetched."""
    dataset = call.service.dataset(call.path["name"], call.account)
    purpose = call.body.get("purpose", "")
    told = dataset.ask(call.account, call.body["sql"], _terms(call), purpose=purpose)
    headers = {}
    if told.answer is not None:
        headers["location"] = f"{call.path['prefix']}/{told.answer.receipt.number}"
    return ApiReply(content=told.text, headers=headers)


def explain(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    return ApiReply(content=explanation_json(dataset.explain(call.account, call.body["sql"], _terms(call))))


def synthesize(call: ApiCall) -> ApiReply:
    """Rows of nobody, as an answer without errors."""
    dataset = call.service.dataset(call.path["name"], call.account)
    body = call.body
    wish = SynthesisWish(
        sql=body["sql"],
        price={name: body[name] for name in ("epsilon", "rho") if name in body},
        bins=_bins(body),
        workload=tuple(body.get("workload", ())),
        rows=body.get("rows"),
    )
    return ApiReply(content=dataset.synthesize(call.account, wish, purpose=body.get("purpose", "")).text)


def _bins(body: Mapping[str, Any]) -> int | dict[str, int] | None:
    """For all columns, or for each of some."""
    if "column_bins" not in body:
        found: int | None = body.get("bins")
        return found
    pairs = [text.rpartition("=") for text in body["column_bins"]]
    if "bins" in body or not all(name and _is_count(count) for name, _, count in pairs):
        raise InvalidInput(
            "“column_bins” says how many bins some columns have.",
            remedy='Write ["cost=20", "age=16"], or "bins": 20 for all columns.',
        )
    return {name: int(count) for name, _, count in pairs}


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def history(call: ApiCall) -> ApiReply:
    most = min(1_000, call.query.get("most", 100))
    found = call.service.history.of(call.account, most=most)
    return ApiReply(content={"questions": [_question(each) for each in found]})


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
        work=Work.ASK,
        fields=(*_QUESTION, _PURPOSE),
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/explain",
        action=explain,
        summary="The price and the error of a question; costs nothing",
        answer="Explanation",
        work=Work.EXPLAIN,
        fields=_QUESTION,
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/synthesize",
        action=synthesize,
        summary="Rows of nobody, in which counts are nearly as in the real table; the table is charged once",
        answer="Answer",
        roles=(Role.ANALYST, Role.OWNER),
        work=Work.LONG,
        fields=_SYNTHESIS,
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
