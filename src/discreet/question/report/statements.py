"""The questions of a text, such as a file: statements with semicolons between them, and their titles.

The title of a question is the comment right before it: -- Patients by ward. If a comment begins with
“title:”, it is that one. Where statements end is told by tokens of SQL, and not by looking for semicolons.
"""

import re
from collections.abc import Iterator, Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import QueryRefused
from discreet.model.report import ReportQuestion, check_texts
from discreet.question.mistakes.syntax_errors import unclosed_refusal
from discreet.question.parse import LONGEST_TEXT

MOST_QUESTIONS = 100
_LONGEST_TITLE = 120
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_MARKS = re.compile(r"^[\s*-]*(.*?)[\s*]*$")
_END = re.compile(r"[\s*]+$")
_TITLE = re.compile(r"^title\s*:\s*", re.IGNORECASE)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What no ledger holds."""


def statements_in(text: str, place: str) -> list[str]:
    """The statements of a text, each with the comments before it. A text without any is refused.

    `place` is where the text is from.
    """
    _check_length([text])
    found = [text[before:last] for before, _, last in _places(text)]
    if not found:
        raise QueryRefused(
            f"There is no question in {place}.",
            remedy="Write one SELECT or more, with a semicolon after each.",
        )
    _check_length(found)
    return found


def questions_of(texts: Sequence[str]) -> list[ReportQuestion]:
    """A question for each text, with the title that a comment gives it."""
    check_texts(texts)
    _check_length(texts)
    return [_question_of(text) for text in texts]


def _question_of(text: str) -> ReportQuestion:
    """What cannot be read is refused later, when it is parsed."""
    try:
        places = [*_places(text)]
    except QueryRefused:
        places = []
    if not places:
        return ReportQuestion(sql=text)
    first, last = places[0][1], places[-1][2]
    return ReportQuestion(sql=text[first:last], title=_title(text[:first]))


def _check_length(texts: Sequence[str]) -> None:
    if sum(map(len, texts)) > LONGEST_TEXT or len(texts) > MOST_QUESTIONS:
        raise QueryRefused(
            f"A report has at most {MOST_QUESTIONS} questions, and {LONGEST_TEXT:,} characters.",
            remedy="Ask in several reports.",
        )


def _places(text: str) -> Iterator[tuple[int, int, int]]:
    """Where the comments before each statement begin, where it begins itself, and where it ends.

    A comment in the line in which the last statement ends is about that one.
    """
    end = 0
    for statement in _statements(text):
        first, last = statement[0].start, statement[-1].end + 1
        line = text.find("\n", end, first) if end else 0
        yield (first if line < 0 else line), first, last
        end = last


def _statements(text: str) -> Iterator[list[Token]]:
    try:
        tokens = Dialect.get_or_raise("duckdb").tokenize(text)
    except Exception:
        raise unclosed_refusal(text) from None
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _title(between: str) -> str:
    """From the comments before a statement. It is one line, and what is written of it reads as the same."""
    between = _UNSTORABLE.sub("", between)
    blocks: list[list[str]] = []
    end = 0
    for comment in _COMMENT.finditer(between):
        apart = between[end : comment.start()].count("\n") > 1
        text = comment[0][1:-2] if comment[0].startswith("/") else comment[0]
        lines = [_MARKS.sub(r"\1", line) for line in text.splitlines()]
        if apart or not blocks:
            blocks.append([])
        blocks[-1] += [line for line in lines if line]
        end = comment.end()
    titles = [_TITLE.sub("", line) for block in blocks for line in block if _TITLE.match(line)]
    if titles:
        return _cut(titles[-1])
    if not blocks or between[end:].count("\n") > 1:
        return ""
    return _cut(" ".join(blocks[-1]))


def _cut(title: str) -> str:
    return _END.sub("", title[:_LONGEST_TITLE])
