"""strftime, to_char and date_format: dates as texts, in the usual formats.

A date as a text is its ISO form on every engine. So most formats are pieces of that form.
"""

import re

from discreet.errors import QueryRefused
from discreet.functions.registry import build_literal
from discreet.model.expression import Expression, Literal
from discreet.model.policy import ValueType
from discreet.question.spelling.dates import call, date_part, named_day, named_month, short_day, short_month

_LONGEST_FORMAT = 64

_ISO = {
    "%Y-%m-%d": (1, 10), "%Y-%m": (1, 7), "%m-%d": (6, 5), "%Y": (1, 4), "%y": (3, 2), "%m": (6, 2),
    "%d": (9, 2), "%F": (1, 10),
}  # fmt: skip
"""Where they are in 2024-01-31."""
_ISO_TIMES = {
    "%H:%M:%S": (12, 8),
    "%H:%M": (12, 5),
    "%H": (12, 2),
    "%M": (15, 2),
    "%S": (18, 2),
    "%T": (12, 8),
}
"""Where they are in 2024-01-31 23:59:00."""
_NUMBERS = {
    "%V": ("week", 2),
    "%G": ("isoyear", 4),
    "%j": ("doy", 3),
    "%u": ("isodow", 1),
    "%w": ("dow", 1),
    "%q": ("quarter", 1),
}
"""Parts of a date, and how many digits they have."""
_NAMES = {"%B": named_month, "%b": short_month, "%A": named_day, "%a": short_day}
_PERCENT = re.compile(
    "|".join(map(re.escape, sorted((*_ISO, *_ISO_TIMES, *_NUMBERS, *_NAMES, "%%"), key=len)[::-1]))
)

_TO_CHAR = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DDD": "%j", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S",
    "IYYY": "%G", "IW": "%V", "ID": "%u", "Q": "%q", "FMMonth": "%B", "Month": "%B", "Mon": "%b",
    "FMDay": "%A", "Day": "%A", "Dy": "%a",
}  # fmt: skip
_JAVA = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M",
    "ss": "%S", "EEEE": "%A", "EEE": "%a", "E": "%a", "DDD": "%j",
}  # fmt: skip
_MYSQL = {"%i": "%M", "%M": "%B", "%s": "%S", "%W": "%A", "%v": "%V", "%x": "%G"}
"""Where MySQL's differ from those of strftime."""


def strftime(moment: Expression, format_: Expression) -> Expression:
    """As DuckDB and Python write formats: %Y-%m."""
    return _formatted(moment, _text(format_))


def to_char(moment: Expression, format_: Expression) -> Expression:
    """As PostgreSQL writes formats: YYYY-MM."""
    return _formatted(moment, _translated(_text(format_), _TO_CHAR, '"'))


def date_format(moment: Expression, format_: Expression) -> Expression:
    """As MySQL writes them, %Y-%m, or Spark, yyyy-MM."""
    text = _text(format_)
    if "%" in text:
        return _formatted(moment, re.sub("%.", lambda found: _MYSQL.get(found[0], found[0]), text))
    return _formatted(moment, _translated(text, _JAVA, "'"))


def _text(format_: Expression) -> str:
    value = format_.value if isinstance(format_, Literal) else None
    if isinstance(value, str) and len(value) <= _LONGEST_FORMAT:
        return value
    raise QueryRefused("A format of dates is a short constant text.", remedy="Write strftime(day, '%Y-%m').")


def _translated(text: str, words: dict[str, str], quote: str) -> str:
    """Another language of formats in ours. Letters that mean nothing there are refused, unless quoted."""
    known = "|".join(sorted(words, key=len)[::-1])
    made = ""
    for found in re.finditer(f"{quote}([^{quote}]*){quote}|({known})|(.)", text, re.DOTALL):
        quoted, word, other = found.groups()
        if word is not None:
            made += words[word]
        elif quoted is None and other.isalpha() and other != "T":
            raise _unknown()
        else:
            made += (other if quoted is None else quoted).replace("%", "%%")
    return made


def _formatted(moment: Expression, text: str) -> Expression:
    if moment.type not in (ValueType.DATE, ValueType.TIMESTAMP):
        raise QueryRefused(
            "A format is for dates and timestamps.", remedy="Convert with CAST(x AS DATE) first."
        )
    pieces: list[Expression] = []
    words = ""
    place = 0
    for found in _PERCENT.finditer(text):
        words += _plain(text[place : found.start()])
        place = found.end()
        if found[0] == "%%":
            words += "%"
            continue
        if words:
            pieces.append(build_literal(words))
        words = ""
        pieces.append(_piece(moment, found[0]))
    words += _plain(text[place:])
    if words or not pieces:
        pieces.append(build_literal(words))
    return pieces[0] if len(pieces) == 1 else call("concat", *pieces)


def _plain(text: str) -> str:
    if "%" in text:
        raise _unknown()
    return text


def _piece(moment: Expression, code: str) -> Expression:
    if code in _NAMES:
        return _NAMES[code](moment)
    if code in _NUMBERS:
        part, digits = _NUMBERS[code]
        number = call("cast_text", date_part(part, moment))
        return number if digits == 1 else call("right", call("concat", "0" * (digits - 1), number), digits)
    if code in _ISO:
        start, length = _ISO[code]
        day = call("cast_text", moment if moment.type is ValueType.DATE else call("cast_date", moment))
    else:
        start, length = _ISO_TIMES[code]
        stamp = moment if moment.type is ValueType.TIMESTAMP else call("cast_timestamp", moment)
        day = call("cast_text", stamp)
    if start == 1:
        return day if length == 10 else call("left", day, length)
    return call("substring", day, start, length)


def _unknown() -> QueryRefused:
    return QueryRefused(
        "A format of dates has a code that is not known here.",
        remedy="Use %Y, %y, %m, %d, %H, %M, %S, %B, %b, %A, %a, %j, %u, %V (ISO week), %G (its year) and %q.",
    )
