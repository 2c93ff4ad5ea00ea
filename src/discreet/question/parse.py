"""Stage 1: SQL text to a syntax tree of known shape. Nothing is looked up yet, and nothing is passed on.

The allow-list is default-deny: a clause that is not named here is refused, whatever it means. The SQL that an
engine runs is written anew, from our own tree, by `emit_sql`; no text of an analyst ever reaches it.
"""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token

from discreet.errors import QueryRefused
from discreet.question.mistakes.instead import note_typed
from discreet.question.mistakes.syntax_errors import Word, syntax_refusal, unclosed_refusal
from discreet.question.spelling.allowed_clauses import AFTER_NOISE, CLAUSES, check_clauses
from discreet.question.spelling.clauses import drop_needless_distinct, respell
from discreet.question.spelling.sets import respell_sets
from discreet.question.spelling.values import respell_values

LONGEST_TEXT = 100_000
DEEPEST_NESTING = 100
MOST_WORDS = 10_000
"""Names and operations, without constants. All that they stand for has a limit too (`check_size`)."""

_LONGEST_INTERVAL = 100
"""Characters between the quotation marks of an INTERVAL."""

_STEPS, _STEPS_OF_A_TOKEN = 2_000, 8
"""Of the parser. Usual questions take one to two for each token; 100,000 take about a second."""
_STEPS_OF_GUESSES = 30_000
"""Of all tries together to find out what was meant."""

_BRACKETS = re.compile(r"[()\[\]]")
_OF_SETS = re.compile(r"\b(cube|rollup|grouping\s+sets)\s*\(", re.IGNORECASE)


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
    statements = _statements(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Select | exp.Union):
        raise _one_select()
    _check_depth(statements[0])
    drop_needless_distinct(statements[0])
    respell_values(statements[0])
    respell_sets(statements[0])
    for select in statements[0].find_all(exp.Select):
        check_clauses(select, CLAUSES | AFTER_NOISE)
    return respell(statements[0])


def _one_select() -> QueryRefused:
    return QueryRefused(
        "A question is exactly one SELECT.", remedy="Write SELECT … FROM … GROUP BY …, and nothing else."
    )


class _PatientParser(DuckDBParser):
    """A parser that goes back and forth only so often.

    sqlglot tries some words first as a type and then as a function: `DATE(DATE(…))` takes twice as long for
    each level. Usual questions take one to two steps for each token.
    """

    _most_steps = 0
    stopped: Token | None = None
    """Where it could not go on."""

    def _advance(self, times: int = 1) -> None:
        self._most_steps -= 1
        if self._most_steps < 0:
            raise ParseError("too many steps")
        super()._advance(times)

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        self.stopped = token or self._curr or None
        super().raise_error(message, token)

    def _parse_interval_span(self, this: exp.Expr, *given: Any, **options: Any) -> exp.Interval:
        """sqlglot searches the text from each of its characters on: 100,000 digits would take minutes."""
        if isinstance(this, exp.Literal) and len(this.name) > _LONGEST_INTERVAL:
            self.raise_error("too long an interval")
        return super()._parse_interval_span(this, *given, **options)

    def _parse_function_call(self, *given: Any, **options: Any) -> exp.Expr | None:
        token = self._curr
        found = super()._parse_function_call(*given, **options)
        if token and isinstance(found, exp.Expression):
            note_typed(found, token.text)
        return found


def _statements(text: str) -> list[object]:
    """What sqlglot reads; or a refusal in our own words, as those of sqlglot name its own things."""
    dialect = Dialect.get_or_raise("duckdb")
    try:
        tokens = dialect.tokenize(text)
    except Exception:
        raise unclosed_refusal(text) from None
    parser = _parser(tokens)
    try:
        return [statement for statement in parser.parse(tokens, text) if statement is not None]
    except Exception as error:  # whatever sqlglot stumbles over
        if isinstance(error, RecursionError) or parser._most_steps < 0:
            refusal = _too_deep()
        else:
            refusal = _unreadable(text, tokens, _place(parser, tokens))
    raise refusal


def _unreadable(text: str, tokens: Sequence[Token], place: int) -> QueryRefused:
    if _OF_SETS.search(text):
        return QueryRefused(
            "This is not SQL that discreet can read.",
            remedy="In CUBE, ROLLUP and GROUPING SETS, write a comparison in parentheses of its own:"
            " CUBE ((age >= 65), ward). Check commas, quotes and parentheses.",
        )
    words = [Word(text[token.start : token.end + 1], token.start, token.end + 1) for token in tokens]
    return syntax_refusal(text, words, place, _TriedTexts().reached)


def _parser(tokens: Sequence[Token], most: int | None = None) -> _PatientParser:
    parser = _PatientParser(dialect=Dialect.get_or_raise("duckdb"))
    steps = _STEPS + _STEPS_OF_A_TOKEN * len(tokens)
    parser._most_steps = steps if most is None else min(steps, most)
    return parser


def _place(parser: _PatientParser, tokens: Sequence[Token]) -> int:
    """The index of the token at which the parser stopped; behind the last if that is the end."""
    stopped = parser.stopped
    return next(
        (i for i, token in enumerate(tokens) if stopped and token.start == stopped.start), len(tokens)
    )


class _TriedTexts:
    """Tries to read a question as it may have been meant. All tries together take only so many steps."""

    def __init__(self) -> None:
        self._left = _STEPS_OF_GUESSES

    def reached(self, text: str) -> int | None:
        """See `syntax_errors.Reached`."""
        tokens: Sequence[Token] = ()
        parser = _parser(tokens)
        try:
            tokens = Dialect.get_or_raise("duckdb").tokenize(text)
            parser = _parser(tokens, self._left)
            steps = parser._most_steps
            try:
                found = [statement for statement in parser.parse(list(tokens), text) if statement is not None]
            finally:
                self._left -= steps - parser._most_steps
        except Exception:
            return _place(parser, tokens)
        return None if len(found) == 1 and isinstance(found[0], exp.Select | exp.Union) else 0


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
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise _too_long()
    steps = (1 if bracket in "([" else -1 for bracket in _BRACKETS.findall(text))
    if max(accumulate(steps), default=0) > DEEPEST_NESTING:
        raise _too_long()
    if text.encode(errors="replace").decode() != text:
        raise QueryRefused("The question is not valid Unicode.", remedy="Remove lone surrogates.")


def _too_deep() -> QueryRefused:
    return QueryRefused(
        "The question is nested too deeply to be read.",
        remedy="Put fewer brackets, functions or NOTs into each other; name parts of it with WITH.",
    )


def _too_long() -> QueryRefused:
    return QueryRefused(
        "The question is too long, or nested too deeply.",
        remedy=f"Stay below {LONGEST_TEXT:,} characters, {MOST_WORDS:,} names and operations, and"
        f" {DEEPEST_NESTING} levels; use IN for long lists.",
    )
