"""What an event of the log says, for people."""

import json
from fractions import Fraction

from discreet.apps.server.console.rendering import amount_text, terms_text
from discreet.service.question_terms import AskedTerms
from discreet.service.storage.event_log import LogEvent

_OUR_JSON = ("datasets",)
_OUR_FRACTIONS = ("epsilon", "most_epsilon", "default_epsilon", "approval_above")
_SHOWN_APART = ("question", "policy", "repeated")
_WAYS = {"console": "in the console", "token": "with a token", "oidc": "at the provider"}
_SYMBOLS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}


def event_words(event: LogEvent) -> tuple[str, str]:
    """The question, and the rest on one line."""
    if event.details is None:
        return "", "What it said was erased."
    facts = {name: value for name, value in event.details.items() if name not in _SHOWN_APART}
    if event.details.get("repeated"):
        facts["charged"] = "free"
    words = (_words(name, value) for name, value in facts.items())
    return str(event.details.get("question", "")), " · ".join(filter(None, words))


def _words(name: str, value: object) -> str:
    """A detail with its name; empty if it says nothing. Texts of other people stay as they are."""
    match name, value:
        case "terms", str():
            return f"at {terms_text(AskedTerms.from_text(value))}"
        case "charged", "free":
            return "free, the same answer as before"
        case "charged", dict():
            parts = (f"{_SYMBOLS.get(each, each)} {amount_text(value[each])}" for each in value)
            return f"cost {', '.join(parts)}"
        case "problem", str():
            return value
        case "way", str():
            return _WAYS.get(value, value)
        case "epsilon", _:
            return f"ε {_plain(name, value)}"
    text = _plain(name, value)
    return f"{name.replace('_', ' ').replace('epsilon', 'ε')} {text}" if text else ""


def _plain(name: str, value: object) -> str:
    if value is None or value is False or value in ("", [], {}):
        return ""
    if name in _OUR_JSON and isinstance(value, str):
        return _plain("", json.loads(value))
    if name in _OUR_FRACTIONS and isinstance(value, str | float):
        return f"{float(Fraction(value)):.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{part} {inner}" for part, inner in value.items())
    if isinstance(value, list):
        kind = name if name in _OUR_FRACTIONS else ""
        return ", ".join(_plain(kind, each) or "none" for each in value)
    return str(value)
