"""The keys that older versions gave to what was paid for, so that it is found again, and free.

Until 0.1 a key was a digest of how Python prints the plan, with the names that classes and fields had then.
This module prints a plan as they did: `_RENAMED` tells what has another name since, `_SINCE` what was not
there. It is tried only on ledgers whose first answer is as old (`tests/older`).
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from discreet.model.query import FewRows

_RENAMED: Mapping[str, str] = {
    "ListedValues": "Listed",
    "BinnedValues": "Binned",
    "QuestionKind": "Kind",
    "CountedCells": "Cells",
    "NumberColumn": "Number",
    "ChoiceColumn": "Choice",
}
"""Classes by their names today; fields as Class.field."""
_SINCE = frozenset({"PrivateTable.well_formed", "PublicTable.max_matches", "Lookup.matches"})
"""What the first version had not."""


def older_keys(plan: object) -> tuple[str, ...]:
    """Of a question, a synthetic table or a fit: by the second version, and by the first."""
    texts = {_printed(plan, without=frozenset()), _printed(plan, without=_SINCE)}
    return tuple(hashlib.sha256(text.encode()).hexdigest() for text in sorted(texts))


def older_check_keys(loss: object, encoded: bytes) -> tuple[str, ...]:
    """Of a check of the synthetic table that these bytes are."""
    return (hashlib.sha256(_printed(("check", loss), without=frozenset()).encode() + encoded).hexdigest(),)


def older_prefixes(table: object) -> tuple[str, ...]:
    """With which the keys of all readings of a cached table begin."""
    return tuple(f"cache:{key[:32]}:" for key in older_keys(table))


def _printed(value: Any, *, without: frozenset[str]) -> str:
    """As `repr` printed it."""
    if is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, FewRows) and without:
            return _printed(value.source, without=without)
        return _dataclass(value, without)
    if isinstance(value, Enum):
        return f"<{_renamed(type(value).__name__)}.{value.name}: {value.value!r}>"
    if isinstance(value, tuple):
        return _listed(value, without, "(", ",)" if len(value) == 1 else ")")
    if isinstance(value, list):
        return _listed(value, without, "[", "]")
    if isinstance(value, dict):
        inner = (f"{key!r}: {_printed(each, without=without)}" for key, each in value.items())
        return "{" + ", ".join(inner) + "}"
    return repr(value)


def _dataclass(value: Any, without: frozenset[str]) -> str:
    name = type(value).__name__
    told = (
        f"{_renamed(f'{name}.{each.name}').rpartition('.')[2]}="
        + _printed(getattr(value, each.name), without=without)
        for each in fields(value)
        if each.repr and f"{name}.{each.name}" not in without
    )
    return f"{_renamed(name)}({', '.join(told)})"


def _renamed(name: str) -> str:
    return _RENAMED.get(name, name)


def _listed(values: Iterable[Any], without: frozenset[str], opening: str, closing: str) -> str:
    return opening + ", ".join(_printed(each, without=without) for each in values) + closing
