"""The nearest of several names to one that was mistyped."""

import difflib
from collections.abc import Iterable

_LONGEST_COMPARED, _MOST_COMPARED = 60, 1_000
"""The names that are looked through for the nearest one: comparing takes the square of their length."""


def near_name(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> str | None:
    """The nearest name, whatever its case; None if none is near."""
    short = [other for other in known if len(other) <= _LONGEST_COMPARED][:_MOST_COMPARED]
    by_case = {other.casefold(): other for other in reversed(short)}
    close = difflib.get_close_matches(name[:_LONGEST_COMPARED].casefold(), by_case, n=1, cutoff=cutoff)
    return by_case[close[0]] if close else None
