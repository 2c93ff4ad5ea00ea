"""The keys that older versions gave to what was paid for, so that it is found again, and free.

Until 0.1 a key was a digest of how Python prints the plan, with the names that classes and fields had then.
This module prints a plan as they did: `_RENAMED` lists what was renamed since, `_SINCE` what was added. It is
tried only on ledgers whose first answer is as old (`tests/older`).
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from discreet.bounds.bound import BoundedMeasure
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
_IF_SET = frozenset({"Field.format", "Field.per_person"})
"""What neither version had: printed where it is used, so that nothing older is found for it."""


def older_keys(plan: object) -> tuple[str, ...]:
    """The keys of a question, a synthetic table or a fit in the first and in the second version."""
    texts = {_printed(plan, without=frozenset()), _printed(plan, without=_SINCE)}
    return tuple(hashlib.sha256(text.encode()).hexdigest() for text in sorted(texts))


def older_check_keys(loss: object, encoded: bytes) -> tuple[str, ...]:
    """The keys of a check of the synthetic table with these bytes."""
    return (hashlib.sha256(_printed(("check", loss), without=frozenset()).encode() + encoded).hexdigest(),)


def older_prefixes(table: object) -> tuple[str, ...]:
    """The prefixes of the keys of all readings of a cached table."""
    return tuple(f"cache:{key[:32]}:" for key in older_keys(table))


def _printed(value: Any, *, without: frozenset[str]) -> str:
    """The value as `repr` printed it."""
    if is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, FewRows) and without:
            return _printed(value.source, without=without)
        if isinstance(value, BoundedMeasure):
            return _measure(value, without)
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


def _measure(measure: BoundedMeasure, without: frozenset[str]) -> str:
    """With the parts that it is computed from: there was one for each vector."""
    told = _printed(measure.measure, without=without)
    parts = tuple(part for each in measure.vectors for part, _ in each.terms)
    return f"{_renamed('BoundedMeasure')}(measure={told}, parts={parts!r})"


def _dataclass(value: Any, without: frozenset[str]) -> str:
    name = type(value).__name__
    told = (
        f"{_renamed(f'{name}.{each.name}').rpartition('.')[2]}="
        + _printed(getattr(value, each.name), without=without)
        for each in fields(value)
        if _is_told(value, f"{name}.{each.name}", each) and f"{name}.{each.name}" not in without
    )
    return f"{_renamed(name)}({', '.join(told)})"


def _is_told(value: Any, name: str, each: Any) -> bool:
    return each.repr or (name in _IF_SET and getattr(value, each.name))


def _renamed(name: str) -> str:
    return _RENAMED.get(name, name)


def _listed(values: Iterable[Any], without: frozenset[str], opening: str, closing: str) -> str:
    return opening + ", ".join(_printed(each, without=without) for each in values) + closing
