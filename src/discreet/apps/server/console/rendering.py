"""Templates, and the headers of every page: nothing from elsewhere, no script or style inside a page."""

import hashlib
import math
from datetime import datetime
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from discreet.answers.wording import confidence_text, counted, cut_text, key_text, number_text
from discreet.errors import DiscreetError, for_page
from discreet.service.question_kinds import is_sql
from discreet.service.question_terms import AskedTerms

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def with_headers(response: Response) -> Response:
    """The same response, safe in a browser. Pages are kept by nobody."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def rendered(template: str, *, status: int = 200, **facts: Any) -> Response:
    return HTMLResponse(piece(template, **facts), status_code=status)


def piece(template: str, **facts: Any) -> Markup:
    """A part of a page. All facts are escaped unless they are Markup."""
    return Markup(_templates().get_template(template).render(**facts))  # noqa: S704  autoescaped


def problem_page(error: DiscreetError, status: int) -> Response:
    return rendered("problem.html", status=status, error=error, visit=None)


@cache
def static_files() -> dict[str, bytes]:
    """Files of ours by their names."""
    folder = files(__package__).joinpath("static").iterdir()
    return {path.name: path.read_bytes() for path in sorted(folder, key=str) if path.is_file()}


@cache
def static_digest() -> str:
    """Of all files together."""
    told = hashlib.sha256()
    for name, content in static_files().items():
        told.update(f"{name} {len(content)} ".encode() + content)
    return told.hexdigest()[:12]


def static_url(name: str) -> str:
    """In a folder of the digest: a browser keeps it until a file changes, and scripts import their like."""
    return f"/console/static/{static_digest()}/{name}"


def scripts() -> list[str]:
    """The modules of a page, which a browser fetches all at once."""
    return [name for name in static_files() if name.endswith(".js")]


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("discreet.apps.server.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "for_page": for_page,
        "amount": amount_text,
        "when": when_text,
        "cut": cut_text,
        "key": key_text,
        "percent": percent_text,
        "exact": exact_text,
        "odds": odds_text,
        "terms": terms_text,
    }
    found.tests["asked_here"] = is_sql
    found.globals |= {
        "static": static_url,
        "counted": counted,
        "rounded": number_text,
        "scripts": scripts(),
        "ask_link": ask_link,
    }
    return found


def amount_text(value: float | Fraction) -> str:
    """An ε, a ρ or an error, with up to four digits."""
    number = float(value)
    return (
        f"{number:.4g}" if 0.001 <= abs(number) < 10_000 or not number else number_text(number, number / 50)
    )


def exact_text(value: Fraction) -> str:
    """A number that somebody wrote, with all its digits: a form that is sent back must not change it."""
    return f"{float(value):.15g}"


def odds_text(value: float) -> str:
    """A suspicion, of 100: with so many digits that it is 100 only if it can be."""
    found = math.ceil(10 * value) / 10
    for digits in range(2, 7):
        if found < 100 or value >= 100:
            break
        found = math.ceil(10**digits * value) / 10**digits
    return f"{found:.10g}"


def terms_text(terms: AskedTerms) -> str:
    """The price or the accuracy of a question, and its confidence if that is not the usual one."""
    symbols = {"epsilon": "ε", "rho": "ρ", "within": "±"}
    given = terms.given()
    price = ", ".join(
        f"{symbols[name]} {amount_text(given[name])}" for name in symbols if given[name] is not None
    )
    usual = float(terms.confidence) == AskedTerms().confidence
    return price if usual else f"{price}, {confidence_text(float(terms.confidence))} confidence"


def ask_link(dataset: str, question: str, terms: AskedTerms) -> str:
    """The page to ask just this, at the same price: it is free then."""
    price = {name: value for name, value in terms.price_or_accuracy().items() if value is not None}
    chosen = [("by", name) for name in price] + [("value", value) for value in price.values()]
    return f"/ask/{quote(dataset, safe='')}?{urlencode([*chosen, ('sql', question)])}"


def when_text(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def percent_text(share: float) -> str:
    """A share as a percentage that is not 0 unless it is nothing."""
    if 0 < share < 0.01:
        return "less than 1 %"
    return f"{100 * share:.0f} %"
