"""What may be run in Spark: one SELECT over views of ours.

Spark runs CREATE, INSERT or SET as soon as it is given one. Hence every statement is put in parentheses after
a FROM of ours, where its grammar takes a query and nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.errors import QueryRefused

MOST_REPEATED = 1_000_000
"""Characters of a statement, each as often as Spark repeats it. They are up to 40 MB of JSON, in seconds."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`", re.DOTALL)
_CASES = re.compile(r"\b(CASE|END)\b")
_RUNS_CODE = {"reflect", "try_reflect", "java_method", "raise_error", "assert_true"}


def as_query(sql: str) -> str:
    """The same rows, by a statement that can only be a query. Raises if the text begins like another one."""
    if not re.match(r"\s*(SELECT|WITH)\b", sql, re.IGNORECASE):
        raise ValueError("not a SELECT")
    return f"SELECT * FROM ({sql}\n) AS result"  # noqa: S608  the compiler's own SQL


def check_repeated(sql: str) -> None:
    """Refuse CASEs in each other that would be too long as JSON. Spark writes all of a CASE twice: as its
    children, and in its branches. So each level takes twice as long.
    """
    depth, repeated, end = 0, 0, 0
    plain = _QUOTED.sub("''", sql)
    for word in _CASES.finditer(plain):
        repeated += (word.end() - end) << depth
        depth = depth + 1 if word[0] == "CASE" else max(0, depth - 1)
        end = word.end()
        if repeated > MOST_REPEATED:
            raise QueryRefused(
                "Spark takes too long to read a question with so many CASEs in each other. No data was read"
                " and nothing was spent.",
                remedy="Write one CASE with more WHENs; or ask in several questions.",
            )


def check_parsed(parsed: Any, views: Sequence[str]) -> None:
    """Raise if a parsed statement reads anything but views and its own WITH, or calls what runs code.

    `parsed` is Spark's own tree as JSON, before any name in it was looked up.
    """
    nodes = list(_nodes(parsed))
    ctes = {str(node["_1"]) for node in nodes if str(node.get("product-class")).startswith("scala.Tuple")}
    readable = {f"[{name}]" for name in (*views, *ctes) if re.fullmatch(r"\w+", name)}
    for node in nodes:
        name = str(node.get("class", "")).rpartition(".")[2]
        if name == "UnresolvedRelation" and node["multipartIdentifier"] not in readable:
            raise ValueError("another table")
        if name == "ScriptTransformation" or name.endswith("WithUnresolvedIdentifier"):
            raise ValueError("a script, or a name that is computed")
        if name == "UnresolvedFunction" and _last(node["nameParts"]) in _RUNS_CODE:
            raise ValueError("a function that runs code")


def _nodes(parsed: Any) -> Iterator[dict[str, Any]]:
    waiting = [parsed]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
        waiting.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


def _last(parts: str) -> str:
    return parts.strip("[]").rpartition(", ")[2].lower()
