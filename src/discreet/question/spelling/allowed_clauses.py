"""The clauses that a SELECT may have. All others are refused, whatever they mean."""

from sqlglot import exp

from discreet.errors import QueryRefused

CLAUSES = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"})
"""Those of a query that reads rows of people."""
AFTER_NOISE = frozenset({"distinct", "windows", "qualify", "offset"})
"""Those that only noisy answers can have."""
_REMEDIES = {
    "distinct": "Use GROUP BY, or count(DISTINCT …).",
    "windows": "A window is of noisy answers: use GROUP BY first.",
    "qualify": "QUALIFY is of noisy answers: use GROUP BY first.",
    "offset": "Use ORDER BY and LIMIT.",
    "laterals": "Use JOIN with a public table, or on the person.",
    "pivots": "Use GROUP BY.",
    "sample": "Ask about all rows; noise already protects each of them.",
}


def check_clauses(select: exp.Select, known: frozenset[str] = CLAUSES) -> None:
    """Refuse clauses that are not on the list."""
    for clause, value in select.args.items():
        if value and clause not in known:
            name = clause.rstrip("_").upper()
            raise QueryRefused(
                f"{name} is not part of what can be asked.",
                remedy=_REMEDIES.get(clause, "Ask without it."),
            )
