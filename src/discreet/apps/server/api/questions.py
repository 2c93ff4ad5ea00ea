"""Questions, reports, synthetic tables and models: their price, their answers, and what was asked before."""

import json
from typing import Any

from discreet.answers.json_text import charge_json
from discreet.apps.server.api.fields import ApiField, FieldKind
from discreet.apps.server.api.route import ApiCall, ApiReply, ApiRoute, WorkKind
from discreet.errors import InvalidInput
from discreet.release.explanation_json import explanation_json, report_explanation_json
from discreet.service.history import AskedQuestion
from discreet.service.question_kinds import (
    LONGEST_QUESTION,
    MOST_SYNTHETIC_ROWS,
    ModelQuestion,
    PaidQuestion,
    SynthesisQuestion,
    WholeReport,
)
from discreet.service.user_account import Role

_LONGEST_WISH = 2_000
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
_REPORT = (
    ApiField(
        name="questions",
        kind=FieldKind.TEXTS,
        required=True,
        longest=LONGEST_QUESTION,
        about="The questions, each as SQL. A comment before a SELECT is its title.",
    ),
    *_QUESTION[1:3],
    _QUESTION[4],
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
    ApiField(
        name="bins",
        kind=FieldKind.COUNTS,
        least=1,
        about="How many bins columns of numbers have: all of them, or each by its name.",
    ),
    ApiField(
        name="workload",
        kind=FieldKind.TEXTS,
        longest=_LONGEST_WISH,
        about="Questions that the table should answer well, or marginals 2, prefixes 1, ranges 1.",
    ),
)
_ROWS = ApiField(
    name="rows", kind=FieldKind.WHOLE, least=1, about="How many rows; about as many as there are."
)
_MODEL = (
    ApiField(
        name="sql",
        kind=FieldKind.TEXT,
        required=True,
        longest=LONGEST_QUESTION,
        about="The features, and last the target, as SQL: SELECT age, ward, ill FROM visits.",
    ),
    ApiField(name="model", kind=FieldKind.TEXT, required=True, about="Its name, such as LogisticRegression."),
    ApiField(name="settings", kind=FieldKind.OBJECT, about='Its settings, such as {"fit_intercept": false}.'),
    *_QUESTION[1:3],
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
    return _asked(call, call.body["sql"])


def report(call: ApiCall) -> ApiReply:
    """The answers of many questions for one price."""
    return _asked(call, WholeReport.of(call.body["questions"]))


def synthesize(call: ApiCall) -> ApiReply:
    """As `ask` answers, without intervals: a cell of a row of nobody has no error of its own."""
    rows = call.body.get("rows")
    if rows is not None and rows > MOST_SYNTHETIC_ROWS:
        raise InvalidInput(
            f"At most {MOST_SYNTHETIC_ROWS:,} rows are drawn at once.",
            remedy="Ask again: other rows of the same table are free.",
        )
    return _asked(call, _synthesis(call))


def fit(call: ApiCall) -> ApiReply:
    """As `ask` answers, with a table of coefficients; `model` has all that the model is."""
    return _asked(call, _model(call))


def explain_report(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    found = dataset.explain_report(call.account, WholeReport.of(call.body["questions"]), _terms(call))
    return ApiReply(content=report_explanation_json(found))


def explain_synthesis(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    found = dataset.explain_synthesis(call.account, _synthesis(call), _terms(call))
    return ApiReply(content={**found.to_dict(), "cost": charge_json(found.loss)})


def explain_fit(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    found = dataset.explain_fit(call.account, _model(call), _terms(call))
    return ApiReply(content={**found.to_dict(), "cost": charge_json(found.loss)})


def explain(call: ApiCall) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    return ApiReply(content=explanation_json(dataset.explain(call.account, call.body["sql"], _terms(call))))


def history(call: ApiCall) -> ApiReply:
    most = min(1_000, call.query.get("most", 100))
    found = call.service.history.of(call.account, most=most)
    return ApiReply(content={"questions": [_question(each) for each in found]})


def _synthesis(call: ApiCall) -> SynthesisQuestion:
    given = {name: call.body[name] for name in ("sql", "bins", "workload", "rows") if name in call.body}
    return SynthesisQuestion(**given)


def _model(call: ApiCall) -> ModelQuestion:
    given = {name: call.body[name] for name in ("sql", "model", "settings") if name in call.body}
    return ModelQuestion(**given)


def _asked(call: ApiCall, question: PaidQuestion | str) -> ApiReply:
    dataset = call.service.dataset(call.path["name"], call.account)
    told = dataset.ask(call.account, question, _terms(call), purpose=call.body.get("purpose", ""))
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
        path="/datasets/{name}/report",
        action=report,
        summary="Ask many questions for one price, and pay for their answers",
        answer="Report",
        roles=(Role.ANALYST, Role.OWNER),
        work=WorkKind.ASK,
        fields=(*_REPORT, _PURPOSE),
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
        fields=(*_SYNTHESIS, _ROWS, _PURPOSE),
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
        method="POST",
        path="/datasets/{name}/report/explain",
        action=explain_report,
        summary="The price of a report and the error of each question; costs nothing",
        answer="ReportExplanation",
        work=WorkKind.EXPLAIN,
        fields=_REPORT,
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/synthesize/explain",
        action=explain_synthesis,
        summary="The price and the error of a synthetic table; costs nothing",
        answer="SynthesisExplanation",
        work=WorkKind.EXPLAIN,
        fields=_SYNTHESIS,
        problems=(404, 409, 422, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/fit",
        action=fit,
        summary="A model of the last column of a SELECT by those before it; paid for once",
        answer="Answer",
        roles=(Role.ANALYST, Role.OWNER),
        work=WorkKind.ASK,
        fields=(*_MODEL, _PURPOSE),
        problems=(404, 409, 422, 501, 504),
    ),
    ApiRoute(
        method="POST",
        path="/datasets/{name}/fit/explain",
        action=explain_fit,
        summary="The price of a model, and how large its noise will be; costs nothing",
        answer="FitExplanation",
        work=WorkKind.EXPLAIN,
        fields=_MODEL,
        problems=(404, 409, 422, 501, 504),
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
