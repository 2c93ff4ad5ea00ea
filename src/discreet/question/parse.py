"""Stage 1: SQL text to a syntax tree of known shape. Nothing is looked up yet, and nothing is passed on.

The allow-list is default-deny: a clause that is not named here is refused, whatever it means. The SQL that an
engine runs is written anew, from our own tree, by `emit_sql`; no text of an analyst ever reaches it.
"""

import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parsers.duckdb import DuckDBParser

from discreet.errors import QueryRefused

LONGEST_TEXT = 100_000
DEEPEST_NESTING = 100
MOST_WORDS = 10_000
"""Names and operations, without constants. All that they stand for has a limit too (`check_size`)."""

_STEPS, _STEPS_OF_A_TOKEN = 2_000, 20

CLAUSES = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"})
"""Those of a query that reads rows of people."""
AFTER_NOISE = frozenset({"distinct", "windows", "qualify", "offset"})
"""Those that only noisy answers can have."""
_OF_SETS = re.compile(r"\b(cube|rollup|grouping\s+sets)\s*\(", re.IGNORECASE)
_REMEDIES = {
    "distinct": "Use GROUP BY, or count(DISTINCT …).",
    "windows": "A window is of noisy answers: use GROUP BY first.",
    "qualify": "QUALIFY is of noisy answers: use GROUP BY first.",
    "offset": "Use ORDER BY and LIMIT.",
    "laterals": "Use JOIN with a public table, or on the person.",
    "pivots": "Use GROUP BY.",
    "sample": "Ask about all rows; noise already protects each of them.",
}


def parse_sql(text: str) -> exp.Select:
    """One SELECT about rows, with known clauses only."""
    found = parse_question(text)
    if not isinstance(found, exp.Select):
        raise _one_select()
    for select in found.find_all(exp.Select):
        check_clauses(select)
    return found


def parse_question(text: str) -> exp.Select | exp.Union:
    """One SELECT, or several with UNION, with known clauses only; some are for noisy answers alone."""
    if not isinstance(text, str):
        raise QueryRefused("A question is a text of SQL.", remedy="Write SELECT count(*) FROM …")
    _check_size(text)
    try:
        statements = [statement for statement in _parsed(text) if statement is not None]
    except Exception:  # whatever sqlglot stumbles over; its own errors quote the text
        raise QueryRefused("This is not SQL that discreet can read.", remedy=_remedy(text)) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select | exp.Union):
        raise _one_select()
    _check_depth(statements[0])
    for select in statements[0].find_all(exp.Select):
        check_clauses(select, CLAUSES | AFTER_NOISE)
        _write_fetch_as_limit(select)
        _write_out_all(select)
    return statements[0]


def _one_select() -> QueryRefused:
    return QueryRefused(
        "A question is exactly one SELECT.", remedy="Write SELECT … FROM … GROUP BY …, and nothing else."
    )


def _write_fetch_as_limit(select: exp.Select) -> None:
    """FETCH FIRST 3 ROWS ONLY is LIMIT 3."""
    fetch = select.args.get("limit")
    if isinstance(fetch, exp.Fetch):
        options = fetch.args.get("limit_options")
        others = {name for name, value in options.args.items() if value} if options is not None else set()
        if others <= {"rows"} and fetch.args.get("count") is not None:
            select.set("limit", exp.Limit(expression=fetch.args["count"]))


def _write_out_all(select: exp.Select) -> None:
    """GROUP BY ALL is by all columns that are not aggregated."""
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    keys = [item for item in select.expressions if item.find(exp.AggFunc, exp.Window) is None]
    plain = [item.this if isinstance(item, exp.Alias) else item for item in keys]
    named = [
        key.copy() for key in plain if not isinstance(key, exp.Literal | exp.Boolean | exp.Null | exp.Star)
    ]
    select.set("group", exp.Group(expressions=named) if named else None)


class _PatientParser(DuckDBParser):
    """A parser that goes back and forth only so often.

    sqlglot tries some words first as a type and then as a function: `DATE(DATE(…))` takes twice as long for
    each level. Usual questions take one to two steps for each token.
    """

    _most_steps = 0

    def _advance(self, times: int = 1) -> None:
        self._most_steps -= 1
        if self._most_steps < 0:
            raise ParseError("too many steps")
        super()._advance(times)


def _parsed(text: str) -> Sequence[object]:
    dialect = Dialect.get_or_raise("duckdb")
    tokens = dialect.tokenize(text)
    parser = _PatientParser(dialect=dialect)
    parser._most_steps = _STEPS + _STEPS_OF_A_TOKEN * len(tokens)
    return parser.parse(tokens, text)


def _remedy(text: str) -> str:
    """What to check, and how to write a comparison in grouping sets."""
    check = "Check commas, quotes and parentheses."
    if not _OF_SETS.search(text):
        return check
    return (
        "In CUBE, ROLLUP and GROUPING SETS, write a comparison in parentheses of its own:"
        f" CUBE ((age >= 65), ward). {check}"
    )


def check_clauses(select: exp.Select, known: frozenset[str] = CLAUSES) -> None:
    """Refuse clauses that are not on the list."""
    for clause, value in select.args.items():
        if value and clause not in known:
            name = clause.rstrip("_").upper()
            raise QueryRefused(
                f"{name} is not part of what can be asked.",
                remedy=_REMEDIES.get(clause, "Ask without it."),
            )


def _check_depth(tree: exp.Expression) -> None:
    """Refuse what is nested too deeply, or is made of too many words.

    A chain of AND or OR is one level, however sqlglot nests it.
    """
    waiting: list[tuple[exp.Expression, int]] = [(tree, 0)]
    words = 0
    while waiting:
        node, depth = waiting.pop()
        words += not isinstance(node, exp.Literal)
        if depth > DEEPEST_NESTING or words > MOST_WORDS:
            raise _too_long()
        for child in node.iter_expressions():
            chained = isinstance(child, exp.And | exp.Or) and type(child) is type(node)
            waiting.append((child, depth if chained else depth + 1))


def _check_size(text: str) -> None:
    depth = deepest = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        deepest = max(deepest, depth)
    if len(text) > LONGEST_TEXT or deepest > DEEPEST_NESTING or "\0" in text:
        raise _too_long()
    if text.encode(errors="replace").decode() != text:
        raise QueryRefused("The question is not valid Unicode.", remedy="Remove lone surrogates.")


def _too_long() -> QueryRefused:
    return QueryRefused(
        "The question is too long, or nested too deeply.",
        remedy=f"Stay below {LONGEST_TEXT:,} characters, {MOST_WORDS:,} names and operations, and"
        f" {DEEPEST_NESTING} levels; use IN for long lists.",
    )
