"""Stage 1: SQL text to a syntax tree of known shape. Nothing is looked up yet, and nothing is passed on.

The allow-list is default-deny: a clause that is not named here is refused, whatever it means. The SQL that an
engine runs is written anew, from our own tree, by `emit_sql`; no text of an analyst ever reaches it.
"""

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import QueryRefused

LONGEST_TEXT = 100_000
DEEPEST_NESTING = 100

_CLAUSES = {"expressions", "from_", "where", "group", "having", "order", "limit", "kind", "hint"}
_REMEDIES = {
    "joins": "Ask about one table at a time.",
    "distinct": "Use GROUP BY, or count(DISTINCT …) of the person column.",
    "with_": "Write the question as one SELECT.",
    "windows": "Window functions have no private version; use GROUP BY.",
    "qualify": "Use HAVING, on noisy values.",
    "offset": "Use ORDER BY and LIMIT.",
    "laterals": "Ask about one table at a time.",
    "pivots": "Use GROUP BY.",
    "sample": "Ask about all rows; noise already protects each of them.",
}


def parse_sql(text: str) -> exp.Select:
    """One SELECT, with known clauses only."""
    if not isinstance(text, str):
        raise QueryRefused("A question is a text of SQL.", remedy="Write SELECT count(*) FROM …")
    _check_size(text)
    try:
        statements = [statement for statement in sqlglot.parse(text, read="duckdb") if statement is not None]
    except (SqlglotError, RecursionError):
        raise QueryRefused(
            "This is not SQL that discreet can read.", remedy="Check commas, quotes and parentheses."
        ) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise QueryRefused(
            "A question is exactly one SELECT.", remedy="Write SELECT … FROM … GROUP BY …, and nothing else."
        )
    select = statements[0]
    for clause, value in select.args.items():
        if value and clause not in _CLAUSES:
            name = clause.rstrip("_").upper()
            raise QueryRefused(
                f"{name} is not part of what can be asked.",
                remedy=_REMEDIES.get(clause, "Ask without it."),
            )
    if select.args.get("kind") or select.args.get("hint"):
        raise QueryRefused("Only a plain SELECT can be asked.", remedy="Ask without it.")
    return select


def _check_size(text: str) -> None:
    depth = deepest = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        deepest = max(deepest, depth)
    if len(text) > LONGEST_TEXT or deepest > DEEPEST_NESTING or "\0" in text:
        raise QueryRefused(
            "The question is too long, or nested too deeply.",
            remedy=f"Stay below {LONGEST_TEXT:,} characters and {DEEPEST_NESTING} levels of parentheses.",
        )
