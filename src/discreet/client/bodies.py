"""What is sent: the bodies of requests, as JSON. Numbers are checked as a local curator does."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInput, MissingExtra
from discreet.model import exact
from discreet.model.exact import Number
from discreet.model.report import Questions, check_no_error, check_texts

_LARGEST = Fraction(10**12)


def question_body(sql: object, **numbers: Number | None) -> dict[str, Any]:
    if not isinstance(sql, str):
        raise InvalidInput("A question is text.", remedy='Write "SELECT count(*) FROM …".')
    return {"sql": sql, **_numbers(numbers)}


def report_body(texts: Questions, *, within: object, **numbers: Number | None) -> dict[str, Any]:
    """Of a report. It has no error that is asked for."""
    check_texts(texts)
    check_no_error(within)
    return {"questions": list(texts), **_numbers(numbers)}


def synthesis_body(
    sql: str, bins: int | Mapping[str, int] | None, workload: Sequence[str], **price: Number | None
) -> dict[str, Any]:
    counts = dict(bins) if isinstance(bins, Mapping) else bins
    return question_body(sql, **price) | {"bins": counts, "workload": list(workload) or None}


def model_body(model: object, sql: str, **price: Number | None) -> dict[str, Any]:
    try:
        from discreet.learn.plan.model_json import model_request
    except ImportError as missing:
        raise MissingExtra(
            "This needs scikit-learn, which is not installed.", remedy="pip install 'discreet[learn]'"
        ) from missing
    kind, settings = model_request(model)
    return question_body(sql, **price) | {"model": kind, "settings": settings}


def _numbers(given: Mapping[str, Number | None]) -> dict[str, float]:
    return {
        name: float(exact.within(value, name, Fraction(0), _LARGEST))
        for name, value in given.items()
        if value is not None
    }
