"""Datasets: what is public of them, what is left, answers by receipt, checks of the ledger."""

import json

from discreet.answers.csv_text import csv_of
from discreet.answers.frames import ARROW_MEDIA_TYPE, arrow_of
from discreet.answers.json_text import charge_json, escaped_json
from discreet.answers.report.reading import one_answer
from discreet.apps.server.api.fields import ApiField, FieldKind
from discreet.apps.server.api.route import OVERSEERS, ApiCall, ApiReply, ApiRoute, WorkKind
from discreet.errors import NotThere

_CSV = "text/csv; charset=utf-8"
_LONGEST_RECEIPT = 18
_FORMAT = ApiField(
    name="format",
    kind=FieldKind.TEXT,
    choices=("json", "csv", "arrow"),
    about="How to write it; json if not given.",
)
_QUESTION = ApiField(
    name="question",
    kind=FieldKind.WHOLE,
    least=1,
    about="The number of a question of a report, from 1: for csv and arrow, which hold one answer.",
)


def datasets(call: ApiCall) -> ApiReply:
    return ApiReply(content={"datasets": call.service.visible(call.account)})


def facts(call: ApiCall) -> ApiReply:
    return ApiReply(content=call.service.dataset(call.path["name"], call.account).facts(call.account))


def budget(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    found = dataset.balance(call.account)
    return ApiReply(
        content={
            "dataset": dataset.name,
            "version": found.version,
            "budget": charge_json(found.account.budget),
            "spent": charge_json(found.spent),
            "left": charge_json(found.left),
            "left_for_you": charge_json(dataset.curator_of(call.account).left()),
            "analysts": {name: charge_json(spent) for name, spent in found.analysts.items()},
        }
    )


def receipt(call: ApiCall) -> ApiReply:
    """An answer or a report that was paid for, free.

    As CSV an answer has the cells of `discreet ask --format csv`, as Arrow the columns of `Answer.to_arrow`.
    """
    dataset = call.service.dataset(call.path["name"], call.account)
    text = call.path["number"]
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_RECEIPT):
        raise NotThere("A receipt has a whole number.", remedy="See the history.")
    told = dataset.fetch(call.account, int(text))
    written, question = call.query.get("format", "json"), call.query.get("question")
    if written == "json" and question is None:
        return ApiReply(content=told.text)
    example = f"?format={written}&question=1"
    found = one_answer(json.loads(told.text), question, example=example)
    match written:
        case "csv":
            return ApiReply(content=csv_of(found), media_type=_CSV)
        case "arrow":
            return ApiReply(content=arrow_of(found), media_type=ARROW_MEDIA_TYPE)
    return ApiReply(content=escaped_json(json.dumps(found, ensure_ascii=False)))


def verify_ledger(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    return ApiReply(content={"holds": True, "entries": dataset.verify_ledger(call.account)})


ROUTES = (
    ApiRoute(
        method="GET",
        path="/datasets",
        action=datasets,
        summary="Datasets of this account",
        answer="Names",
    ),
    ApiRoute(
        method="GET",
        path="/datasets/{name}",
        action=facts,
        summary="What is public of a dataset: tables, types, bounds, keys, limits; and what you have left",
        answer="Dataset",
        problems=(404,),
    ),
    ApiRoute(
        method="GET",
        path="/datasets/{name}/budget",
        action=budget,
        summary="What is spent and left; by whom, for owners and auditors",
        answer="Budget",
        problems=(404,),
    ),
    ApiRoute(
        method="GET",
        path="/datasets/{name}/receipts/{number}",
        action=receipt,
        summary="An answer or a report that was paid for, by its receipt; free",
        answer="AnswerOrReport",
        query=(_FORMAT, _QUESTION),
        problems=(404, 501),
        other_media=("text/csv", ARROW_MEDIA_TYPE),
    ),
    ApiRoute(
        method="GET",
        path="/datasets/{name}/ledger/verify",
        action=verify_ledger,
        summary="Replay the ledger: every hash, sum and stored answer, and the anchor",
        answer="Verified",
        roles=OVERSEERS,
        work=WorkKind.LONG,
        problems=(404,),
    ),
)
