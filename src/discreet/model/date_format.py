"""How a column of texts writes its dates: the codes of strptime, as a closed list.

A format is honoured by a regular expression and a cast that gives NULL where there is no such day. So it has
the same meaning on every engine, and no text can make it fail.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from discreet.errors import InvalidInput

_DIGITS = {
    "%Y": "[0-9]{4}",
    "%m": "[0-9]{1,2}",
    "%d": "[0-9]{1,2}",
    "%H": "[01]?[0-9]|2[0-3]",
    "%M": "[0-9]{1,2}",
    "%S": "[0-9]{1,2}",
}
_TWO_DIGITS = {
    "%m": "[0-9]{2}",
    "%d": "[0-9]{2}",
    "%H": "[01][0-9]|2[0-3]",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
}
"""Where codes follow each other without a separator, as in 20250315."""
_DAY, _TIME = ("%Y", "%m", "%d"), ("%H", "%M", "%S")
_SEPARATORS = " .,:/_-T"
_LONGEST = 40
_REMEDY = (
    'Write format = "%d.%m.%Y", with the codes %Y, %m, %d, %H, %M and %S, each once, and separators between'
    " them: a space, or one of . , : / _ - T"
)


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A format that was read: its codes in their order, and a regular expression with a group for each."""

    codes: tuple[str, ...]
    pattern: str
    """Of the whole text, without anchors. Spaces around it are allowed."""

    @property
    def has_time(self) -> bool:
        return "%H" in self.codes

    def iso(self, group: Callable[[int], str]) -> str:
        """The moment as every engine casts it, from the groups of the pattern as an engine writes them."""

        def part(code: str) -> str:
            return group(self.codes.index(code) + 1) if code in self.codes else "00"

        return f"{'-'.join(map(part, _DAY))} {':'.join(map(part, _TIME))}"

    def parse(self, text: str) -> datetime | None:
        """What engines read from a text; None where it does not fit."""
        found = re.fullmatch(self.pattern, text)
        if found is None:
            return None
        try:
            return datetime.fromisoformat(self._padded(found))
        except ValueError:
            return None

    def _padded(self, found: re.Match[str]) -> str:
        return self.iso(lambda place: found[place].zfill(2))


def read_format(text: str) -> DateFormat:
    """A format as the owner wrote it."""
    pieces = re.findall("%.|.", text, re.DOTALL)
    codes = tuple(piece for piece in pieces if piece in _DIGITS)
    others = [piece for piece in pieces if piece not in _DIGITS]
    time = _codes_of_time(codes)
    if (
        len(text) > _LONGEST
        or sorted(codes) != sorted((*_DAY, *time))
        or time != _TIME[: len(time)]
        or len(time) == 1
        or any(piece not in _SEPARATORS for piece in others)
    ):
        raise InvalidInput(f"“{text[:_LONGEST]}” is no format of dates.", remedy=_REMEDY)
    adjacent = any(first in _DIGITS and then in _DIGITS for first, then in pairwise(pieces))
    digits = _DIGITS | _TWO_DIGITS if adjacent else _DIGITS
    body = "".join(f"({digits[piece]})" if piece in digits else f"[{piece}]" for piece in pieces)
    return DateFormat(codes=codes, pattern=f" *{body} *")


def _codes_of_time(codes: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the time of day, in their own order: without hours no minutes, without minutes no seconds."""
    return tuple(code for code in _TIME if code in codes)
