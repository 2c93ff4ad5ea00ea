"""What the analyst called a thing, and what to write instead of what cannot be asked.

sqlglot gives functions and operators names of its own. Refusals say what was typed.
"""

import difflib
import re
from collections.abc import Mapping
from functools import cache

from sqlglot import ErrorLevel, exp

from discreet.aggregates.registry import AGGREGATES, offered
from discreet.functions.registry import FUNCTIONS

_TYPED = "typed"
_WRAPPERS = (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)

REWORDED: Mapping[str, str] = {
    **dict.fromkeys(("mean", "average"), "avg(x)"),
    **dict.fromkeys(("std", "sd", "stddev_s"), "stddev(x)"),
    "var": "variance(x)",
    **dict.fromkeys(
        ("percentile", "approx_percentile", "percentile_approx"),
        "quantile(x, 0.9)",
    ),
    **dict.fromkeys(
        ("nunique", "n_distinct", "uniq", "count_distinct", "approx_count_distinct", "countd"),
        "count(DISTINCT x)",
    ),
    **dict.fromkeys(
        ("bool_or", "bool_and", "every", "logical_or", "logical_and"),
        "avg(CASE WHEN x > 0 THEN 1 ELSE 0 END)",
    ),
    "sumif": "sum(x) FILTER (WHERE x > 0)",
}
"""By what people type: what discreet calls it, of a column x of numbers."""

REWORDED_ROWS: Mapping[str, str] = {
    **dict.fromkeys(("to_date", "todate", "str_to_date"), "CAST(x AS DATE)"),
    **dict.fromkeys(("to_number", "float", "double", "to_double", "number"), "CAST(x AS DOUBLE)"),
    **dict.fromkeys(("to_timestamp", "to_datetime"), "CAST(x AS TIMESTAMP)"),
    **dict.fromkeys(("str", "tostring", "to_text", "to_varchar"), "CAST(x AS VARCHAR)"),
    **dict.fromkeys(("int", "toint", "to_integer"), "CAST(x AS BIGINT)"),
    **dict.fromkeys(("concat_ws",), "x || '-' || x"),
    **dict.fromkeys(("isnull", "isna", "is_null"), "x IS NULL"),
    **dict.fromkeys(("rlike", "regexp", "glob"), "x LIKE '%text%'"),
    "has": "contains(x, 'text')",
}
"""The same for what is computed from one row, of a column x of texts."""

_SINGLE = "Values of single people are never shown. Count the values: SELECT x, count(*) … GROUP BY x."
_TODAY = "An answer must not depend on the day it is asked: write the day itself, DATE '2026-01-31'."
_REMEDIES: Mapping[str, str] = {
    **dict.fromkeys(("list", "array_agg", "string_agg", "group_concat", "listagg", "collect_list"), _SINGLE),
    **dict.fromkeys(("first", "last", "any_value", "arbitrary", "arg_max", "arg_min", "max_by"), _SINGLE),
    **dict.fromkeys(("min_by", "argmax", "argmin", "first_value", "last_value", "nth_value"), _SINGLE),
    **dict.fromkeys(("curdate", "getdate", "sysdate"), _TODAY),
    **dict.fromkeys(("current_time", "localtimestamp", "transaction_timestamp"), _TODAY),
    **dict.fromkeys(
        ("random", "rand", "uuid"), "Ask about all rows: the noise is chance enough, and protects each."
    ),
    "mode": "Ask which is the most frequent: SELECT x … GROUP BY x ORDER BY count(*) DESC LIMIT 1.",
    "isnan": "NaN counts as missing: write x IS NULL.",
}

_OPERATORS: Mapping[type[exp.Expression], str] = {
    exp.BitwiseAnd: "x & y",
    exp.BitwiseOr: "x | y",
    exp.BitwiseXor: "xor",
    exp.BitwiseNot: "~x",
    exp.BitwiseLeftShift: "x << y",
    exp.BitwiseRightShift: "x >> y",
    exp.RegexpLike: "x ~ y",
    exp.RegexpILike: "x ~* y",
    exp.SimilarTo: "SIMILAR TO",
    exp.Glob: "GLOB",
    exp.JSONExtract: "x -> y",
    exp.JSONExtractScalar: "x ->> y",
    exp.Bracket: "x[…]",
    exp.Array: "A list",
    exp.Struct: "A structure",
    exp.Tuple: "(x, y)",
    exp.Placeholder: "A placeholder",
    exp.Parameter: "A placeholder",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Interval: "INTERVAL",
    exp.Collate: "COLLATE",
    exp.Lambda: "x -> y",
    exp.Star: "*",
    exp.Distinct: "DISTINCT inside of an aggregate other than count",
    exp.Between: "BETWEEN SYMMETRIC",
    exp.Any: "ANY",
    exp.All: "ALL",
    exp.Escape: "ESCAPE",
    exp.Is: "IS with anything but NULL, TRUE and FALSE",
}
_OF_OPERATORS: Mapping[type[exp.Expression], str] = {
    exp.Placeholder: "Write the value itself.",
    exp.Parameter: "Write the value itself.",
    exp.RegexpLike: "Write x LIKE '%text%'.",
    exp.RegexpILike: "Write lower(x) LIKE '%text%'.",
    exp.Glob: "Write x LIKE 'text%'.",
    exp.Between: "Write x BETWEEN low AND high.",
    exp.Any: "Write x IN (1, 2).",
    exp.Is: "Write x IS NULL, or x = y.",
    exp.Distinct: "Write count(DISTINCT x), or leave DISTINCT out.",
}


def note_typed(found: exp.Expression, word: str) -> None:
    """Remember the word that a function was called by."""
    _unwrapped(found).meta.setdefault(_TYPED, word)


def _unwrapped(node: exp.Expression) -> exp.Expression:
    """The function itself, without what stands behind its brackets."""
    while isinstance(node, _WRAPPERS) and isinstance(node.this, exp.Expression):
        node = node.this
    return node


def typed_name(node: exp.Expression, known: str | None = None) -> str:
    """What was typed: the name of a function, what is known of an operator, or else the piece of SQL."""
    node = _unwrapped(node)
    typed = node.meta.get(_TYPED)
    if typed:
        return str(typed)[:40]
    if isinstance(node, exp.Anonymous):
        return node.name[:40]
    return known or _OPERATORS.get(type(node)) or f"“{_shortened(plain_sql(node))}”"


def instead_of(node: exp.Expression) -> str:
    """What to write instead: a rewording, the nearest function, or all that there are."""
    node = _unwrapped(node)
    typed = node.meta.get(_TYPED)
    if not typed and not isinstance(node, exp.Anonymous):
        return _OF_OPERATORS.get(
            type(node), "Write it with what the reference lists: Functions in questions."
        )
    name = str(typed or node.name).lower()
    reworded = _reworded(name, node)
    if reworded is not None:
        return reworded
    if isinstance(node, exp.Anonymous):  # what sqlglot knows was not mistyped
        known = {**dict.fromkeys((*REWORDED, *REWORDED_ROWS), ""), **usages()}
        near = difflib.get_close_matches(name[:40], known, n=1, cutoff=0.76)
        if near and near[0] != name:
            return f"Did you mean {_of_argument(known[near[0]] or _meaning(near[0]), node)}?"
    return f"There are: {', '.join(sorted(usages()))}."


def instead_of_aggregate(node: exp.Expression) -> str:
    """The same for an aggregate that has no private version."""
    node = _unwrapped(node)
    return _reworded(typed_name(node).lower(), node) or f"Ask for {offered()}; each takes FILTER (WHERE …)."


def _reworded(name: str, node: exp.Expression) -> str | None:
    if name in _REMEDIES:
        return _of_argument(_REMEDIES[name], node)
    known = _meaning(name)
    return f"Write {_of_argument(known, node)}." if known and name not in usages() else None


def _meaning(name: str) -> str:
    return REWORDED.get(name) or REWORDED_ROWS.get(name) or ""


def _of_argument(usage: str, node: exp.Expression) -> str:
    """With the column that it was asked of in the place of x."""
    first = node.find(exp.Column)
    if first is None or not first.name.isidentifier():
        return usage
    return re.sub(r"\bx\b", first.name[:40], usage)


@cache
def usages() -> Mapping[str, str]:
    """How every function and aggregate is written, by the word that it is called by."""
    found = [usage for function in FUNCTIONS.values() for usage in (function.usage,)]
    found += [usage for each in AGGREGATES.values() for usage in each.usages]
    named = ((re.match(r"\w+(?=\()", usage), usage) for usage in reversed(found))
    return {name[0].lower(): usage for name, usage in named if name is not None}


def plain_sql(node: exp.Expression) -> str:
    """The node as SQL. What sqlglot thinks of it is not said."""
    return node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
