"""What a body or an address may have: read by the same table that documents it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from discreet.errors import InvalidInput

_LONGEST_TEXTS = 100
_LARGEST_NUMBER = 10**15


class FieldKind(StrEnum):
    TEXT = "string"
    NUMBER = "number"
    WHOLE = "integer"
    FLAG = "boolean"
    TEXTS = "array"
    OBJECT = "object"
    COUNTS = "integer or object"
    """A whole number, or one for each of some names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiField:
    """One value that a request may have."""

    name: str
    kind: FieldKind
    about: str
    required: bool = False
    choices: tuple[str, ...] = ()
    longest: int = 200
    """Of a text."""
    least: int = 0
    """Of a whole number."""

    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        found: dict[str, Any] = {"type": self.kind.value.split(" or "), "description": self.about}
        if len(found["type"]) == 1:
            (found["type"],) = found["type"]
        match self.kind:
            case FieldKind.TEXT if self.choices:
                found["enum"] = list(self.choices)
            case FieldKind.TEXT:
                found |= {"minLength": int(self.required), "maxLength": self.longest}
            case FieldKind.WHOLE:
                found |= {"minimum": self.least, "maximum": _LARGEST_NUMBER}
            case FieldKind.TEXTS:
                items: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": self.longest}
                if self.choices:
                    items = {"type": "string", "enum": list(self.choices)}
                found |= {"items": items, "minItems": 1, "maxItems": _LONGEST_TEXTS}
            case FieldKind.COUNTS:
                number = {"type": "integer", "minimum": self.least, "maximum": _LARGEST_NUMBER}
                found |= number | {"type": found["type"], "additionalProperties": number}
        return found


def read_json(body: bytes) -> object:
    """InvalidInput for all that is not plain JSON: NaN, a name twice, nesting without end."""
    try:
        return json.loads(body, object_pairs_hook=_without_doubles, parse_constant=_no_constant)
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput(
            "The body is not JSON.", remedy='Send an object in UTF-8, such as {"sql": "…", "epsilon": 0.1}.'
        ) from None


def read_fields(given: object, fields: Sequence[ApiField]) -> dict[str, Any]:
    """The values by name; those that are null are left out. InvalidInput for a name or a type too many."""
    if not isinstance(given, Mapping):
        raise InvalidInput("The body is not a JSON object.", remedy='Send {"name": value, …}.')
    known = {field.name: field for field in fields}
    names = ", ".join(known) or "nothing"
    for name in given:
        if name not in known:
            raise InvalidInput(f"“{name[:100]}” is unknown.", remedy=f"What is known: {names}.")
    values = {name: value for name, value in given.items() if value is not None}
    for field in fields:
        if field.required and field.name not in values:
            raise InvalidInput(f"“{field.name}” is missing.", remedy=f"{field.about} Give it.")
    return {name: _checked(known[name], value) for name, value in values.items()}


def read_query(pairs: Sequence[tuple[str, str]], fields: Sequence[ApiField]) -> dict[str, Any]:
    """The part of an address after the question mark, where all values are texts."""
    values: dict[str, Any] = {}
    whole = {field.name for field in fields if field.kind is FieldKind.WHOLE}
    for name, text in pairs:
        if name in values:
            raise InvalidInput(f"“{name[:100]}” is there twice.", remedy="Give it once.")
        values[name] = int(text) if name in whole and _is_whole(text) else text
    return read_fields(values, fields)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_NUMBER))


def _checked(field: ApiField, value: object) -> object:
    valid = {
        FieldKind.TEXT: _is_text(field, value),
        FieldKind.NUMBER: type(value) in (int, float) and _is_usual(value),
        FieldKind.WHOLE: _is_count(field, value),
        FieldKind.FLAG: type(value) is bool,
        FieldKind.TEXTS: isinstance(value, list)
        and 1 <= len(value) <= _LONGEST_TEXTS
        and all(_is_text(field, each) and each for each in value),
        FieldKind.OBJECT: isinstance(value, dict) and all(map(_is_valid_text, value)),
        FieldKind.COUNTS: _is_count(field, value)
        or (
            isinstance(value, dict)
            and all(map(_is_valid_text, value))
            and all(_is_count(field, each) for each in value.values())
        ),
    }
    if not valid[field.kind]:
        raise InvalidInput(f"“{field.name}” is not as it should be.", remedy=f"{field.about} {_rule(field)}")
    return value


def _rule(field: ApiField) -> str:
    if field.choices and field.kind is FieldKind.TEXTS:
        return f"It is a list of some of: {', '.join(field.choices)}."
    if field.choices:
        return f"It is one of: {', '.join(field.choices)}."
    return {
        FieldKind.TEXT: f"It is a text of at most {field.longest:,} characters.",
        FieldKind.NUMBER: "It is a number.",
        FieldKind.WHOLE: f"It is a whole number, {field.least} or more.",
        FieldKind.FLAG: "It is true or false.",
        FieldKind.TEXTS: f"It is a list of 1 to {_LONGEST_TEXTS} texts.",
        FieldKind.OBJECT: "It is an object.",
        FieldKind.COUNTS: f"It is a whole number, {field.least} or more, or an object of such numbers.",
    }[field.kind]


def _is_text(field: ApiField, value: object) -> bool:
    if not isinstance(value, str) or len(value) > field.longest:
        return False
    if field.choices and value not in field.choices:
        return False
    if field.required and not value:
        return False
    return _is_valid_text(value)


def _is_valid_text(value: str) -> bool:
    """Whether every database can hold it."""
    return not any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in value)


def _is_count(field: ApiField, value: object) -> bool:
    return type(value) is int and field.least <= value <= _LARGEST_NUMBER


def _is_usual(value: Any) -> bool:
    return -(10**300) < value < 10**300 and math.isfinite(value)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInput("The body has a name twice.", remedy="Give each name once.")
    return found


def _no_constant(name: str) -> object:
    raise InvalidInput(f"The body has {name}, which JSON has not.", remedy="Give a finite number.")
