"""Answers and reports by their receipt: each has an address for good, as a page, as JSON, CSV and Arrow."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.responses import JSONResponse, Response

from discreet.answers.csv_text import csv_of
from discreet.answers.explanation import Explanation
from discreet.answers.frames import ARROW_MEDIA_TYPE, arrow_of
from discreet.answers.report.reading import is_report, one_answer
from discreet.answers.wording import confidence_text, measure_text
from discreet.apps.server.console.answer_views.combining import LEAST_CONFIDENCE, NoisyNumber, combined, ratio
from discreet.apps.server.console.answer_views.shown_answer import noisy_number, shown
from discreet.apps.server.console.answer_views.shown_report import shown_report
from discreet.apps.server.console.answer_views.what_happened import what_happened
from discreet.apps.server.console.rendering import amount_text, percent_text, rendered
from discreet.apps.server.console.visits import Visit
from discreet.errors import DiscreetError, InvalidInput
from discreet.service.history import AskedQuestion
from discreet.service.question_kinds import is_sql
from discreet.service.question_terms import AskedTerms
from discreet.service.served_dataset import ServedDataset
from discreet.service.user_account import Role

_MOST_CELLS = 500
_LONGEST_NUMBER = 10


def receipt_page(visit: Visit) -> Response:
    dataset, number = _addressed(visit)
    told = dataset.fetch(visit.account, number)
    asked = _asked(visit, dataset.name, number)
    sql, terms = (asked.question, asked.terms.given()) if asked else ("", {})
    found = json.loads(told.text)
    facts: dict[str, Any]
    if is_report(found):
        facts = {"report": shown_report(found), "dataset": dataset.name}
    else:
        facts = answer_facts(visit, dataset, told.text, sql, terms)
    return rendered(
        "receipt.html",
        visit=visit,
        place="receipt",
        asked=asked,
        again=visit.account.may_ask and is_sql(sql),
        receipt=found["receipt"],
        written=datetime.fromisoformat(found["receipt"]["at"]),
        **facts,
    )


def receipt_json(visit: Visit) -> Response:
    dataset, number = _addressed(visit)
    return Response(dataset.fetch(visit.account, number).text, media_type="application/json")


def receipt_csv(visit: Visit) -> Response:
    dataset, number = _addressed(visit)
    text = csv_of(_one_answer(visit, dataset, number))
    return Response(text, media_type="text/csv", headers=_saved_as(visit, "csv"))


def receipt_arrow(visit: Visit) -> Response:
    dataset, number = _addressed(visit)
    file = arrow_of(_one_answer(visit, dataset, number))
    return Response(file, media_type=ARROW_MEDIA_TYPE, headers=_saved_as(visit, "arrow"))


def _one_answer(visit: Visit, dataset: ServedDataset, number: int) -> Mapping[str, Any]:
    """The answer of a receipt; of a report, that to the question which the address names."""
    found = json.loads(dataset.fetch(visit.account, number).text)
    text = visit.request.query_params.get("question")
    if text is not None and not (text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER):
        raise InvalidInput("A question of a report has a number.", remedy="End the address with ?question=1.")
    return one_answer(found, None if text is None else int(text), example="?question=1")


def answer_facts(
    visit: Visit, dataset: ServedDataset, text: str, sql: str, terms: Mapping[str, Any]
) -> dict[str, Any]:
    """What the templates say of an answer: the table, what happened to it, what more precision costs."""
    answer = shown(json.loads(text))
    given = {name: value for name, value in terms.items() if value is not None}
    found = _explained(visit, dataset, sql, given)
    return {
        "answer": answer,
        "dataset": dataset.name,
        "sql": sql,
        "steps": [] if found is None else what_happened(found),
        "precise": None if found is None else _more_precise(visit, dataset, sql, found),
    }


def combine_cells(visit: Visit) -> Response:
    """The sum, the difference and the ratio of chosen cells."""
    dataset = visit.service.dataset(visit.text("dataset"), visit.account)
    number = visit.sent.get("receipt")
    if type(number) is not int:
        raise InvalidInput("The receipt is missing.", remedy="Load the page again.")
    found = json.loads(dataset.fetch(visit.account, number).text)
    if is_report(found):
        raise InvalidInput(
            "Numbers of a report are not added up here.",
            remedy="Ask for their sum or difference as a question of the report, or by itself.",
        )
    answer = shown(found)
    cells = _cells(visit.sent.get("cells"), answer.facts)
    asked = _asked(visit, dataset.name, number)
    plain = [noisy_number(answer.facts, row, name) for row, name in cells]
    certain = _together(visit, dataset, asked, cells, float(answer.facts["confidence"]))
    independent = _independent(visit, dataset, asked, answer.facts, cells, plain)
    sure = confidence_text(answer.facts["confidence"])
    if certain is None:
        share = max(0.0, 1 - len(cells) * (1 - float(answer.facts["confidence"])))
        sure, certain = f"at least {confidence_text(round(share, 4))}", plain
    found = combined(plain if independent else certain, independent=independent)
    said = [_told(each.name, each.number) for each in found]
    if independent and len(cells) == 2:
        said.append(_told("ratio", ratio(*certain)))
    return JSONResponse({"results": said, "how": _how(sure, len(cells), independent=independent)})


def _told(name: str, number: NoisyNumber) -> dict[str, str]:
    value, error = measure_text(number.value, number.low, number.high)
    return {"name": name, "value": value, "error": error}


def _how(sure: str, cells: int, *, independent: bool) -> str:
    if cells == 1:
        return f"At {sure} confidence."
    if independent:
        ratios = " The ratio is by the worst case of both." if cells == 2 else ""
        return f"At {sure} confidence. The noise of these is independent: errors add up as squares.{ratios}"
    return f"At {sure} confidence, by the worst case: all of these intervals hold at once."


def _cells(given: object, facts: Mapping[str, Any]) -> list[tuple[int, str]]:
    if not isinstance(given, list) or not 1 <= len(given) <= _MOST_CELLS:
        raise InvalidInput("No number is selected.", remedy=f"Select 1 to {_MOST_CELLS} numbers.")
    found: dict[tuple[int, str], None] = {}
    for each in given:
        row, name = each if isinstance(each, list) and len(each) == 2 else (-1, "")
        known = type(row) is int and 0 <= row < len(facts["rows"]) and isinstance(name, str)
        if not known or name not in facts["raw"][row]:
            raise InvalidInput("This is no number of the answer.", remedy="Load the page again.")
        found[int(row), str(name)] = None
    return list(found)


def _together(
    visit: Visit,
    dataset: ServedDataset,
    asked: AskedQuestion | None,
    cells: Sequence[tuple[int, str]],
    confidence: float,
) -> list[NoisyNumber] | None:
    """The cells with intervals that hold at once, from what is stored; None if it is not there any more."""
    if asked is None or visit.account.role is Role.AUDITOR:
        return None
    try:
        curator = dataset.curator_of(visit.account)
        before = curator.recall(asked.question, **asked.terms.given())
        if before is None:
            return None
        name = "epsilon" if hasattr(before.charged, "epsilon") else "rho"
        price = AskedTerms(
            **{name: getattr(before.charged, name)}, confidence=1 - (1 - confidence) / len(cells)
        )
        found = curator.recall(asked.question, **price.given())
    except DiscreetError:
        return None
    if found is None or found.receipt.number != before.receipt.number:
        return None
    released = found.released
    return [
        NoisyNumber(
            value=float(released.raw[name][row]),
            low=float(released.low[name][row]),
            high=float(released.high[name][row]),
        )
        for row, name in cells
    ]


def _independent(
    visit: Visit,
    dataset: ServedDataset,
    asked: AskedQuestion | None,
    facts: Mapping[str, Any],
    cells: Sequence[tuple[int, str]],
    numbers: Sequence[NoisyNumber],
) -> bool:
    """Whether these are counts or sums of different groups of one column, whose error is noise alone."""
    names = {name for _, name in cells}
    if asked is None or len(names) != 1 or facts["receipt"]["cached"] or len(cells) < 2:
        return False
    (name,) = names
    if facts["confidence"] < LEAST_CONFIDENCE or any(name in row for row in facts["noise_intervals"]):
        return False
    found = _explained(visit, dataset, asked.question, asked.terms.given())
    if found is None or not found.noise.startswith("discrete") or found.groups is None:
        return False
    errors = [error.each for error in found.errors if error.measure == name and error.of == "value"]
    return bool(errors) and all(
        math.isclose(end, errors[0], rel_tol=0.01, abs_tol=1.0)
        for number in numbers
        for end in (number.value - number.low, number.high - number.value)
    )


def _more_precise(
    visit: Visit, dataset: ServedDataset, sql: str, found: Explanation
) -> dict[str, Any] | None:
    """Half of the error, and what that costs; None if it cannot be asked."""
    try:
        finer = dataset.explain(visit.account, sql, {"epsilon": 2 * found.epsilon})
    except DiscreetError:
        return None
    pairs = [(new.each, old.each) for new, old in zip(finer.errors, found.errors, strict=True) if old.each]
    if not pairs:
        return None
    share = max(new / old for new, old in pairs)
    return {
        "epsilon": f"{finer.epsilon:.4g}",
        "text": amount_text(finer.epsilon),
        "less": percent_text(1 - share),
    }


def _explained(
    visit: Visit, dataset: ServedDataset, sql: str, terms: Mapping[str, Any]
) -> Explanation | None:
    try:
        return dataset.explain(visit.account, sql, terms) if sql else None
    except DiscreetError:
        return None


def _saved_as(visit: Visit, ending: str) -> dict[str, str]:
    """The name of a file: that of the receipt, with the number of the question if one was named."""
    question = visit.request.query_params.get("question")
    name = "-".join(["receipt", visit.path("number"), *([question] if question else [])])
    return {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}


def _asked(visit: Visit, dataset: str, number: int) -> AskedQuestion | None:
    """The question of a receipt, as this account asked it, or anybody for those who see all."""
    sees_all = visit.account.role in (Role.OWNER, Role.AUDITOR)
    kept = visit.service.history.with_receipt(dataset, number)
    own = [each for each in kept if each.account == visit.account.name]
    return next(iter(own or (kept if sees_all else [])), None)


def _addressed(visit: Visit) -> tuple[ServedDataset, int]:
    dataset = visit.service.dataset(visit.path("dataset"), visit.account)
    return dataset, int(visit.path("number"))
