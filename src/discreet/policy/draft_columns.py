"""The columns of a drafted table: a section for each, or a line for each if there are many."""

import json
import re
from collections.abc import Iterator

from discreet.engines.duckdb.draft_types import DraftTypes
from discreet.model.policy import ValueType

_TO_COMMENTS = 35
_MANY = 20
"""More columns have a line each, and no section."""
_MOMENTS = (ValueType.DATE, ValueType.TIMESTAMP)


def column_lines(place: str, person: str, found: DraftTypes) -> list[str]:
    """All that can be declared of columns, as far as it is known."""
    if len(found.types) > _MANY:
        return ["", f"[{place}]", *_many_lines(person, found)]
    return [line for name in found.types for line in _section(place, name, found, is_person=name == person)]


def _many_lines(person: str, found: DraftTypes) -> Iterator[str]:
    """One line for each column, with what is left to declare behind it."""
    yield "# DECLARE from what you know, not from the data: inside of the braces, with a comma between."
    if not found.guessed:
        yield "# Types are those of the source. Take away the # of what you declare."
    for name, kind in found.types.items():
        facts = [f'type = "{kind.value}"'] if found.guessed else []
        if name in found.formats:
            facts.append(f'format = "{found.formats[name]}"')
        hints = [] if name == person else [hint for hint, _ in _hints(name, kind, found)]
        if name in found.unsure:
            hints = [f'format = "{written}"' for written in found.unsure[name]] or hints
        if not found.guessed and not facts:
            if hints:
                yield f"# {toml_key(name)} = {{ {hints[0]} }}"
            continue
        line = f"{toml_key(name)} = {{ {', '.join(facts)} }}"
        yield f"{line.ljust(_TO_COMMENTS)}# {' or '.join(hints)}" if hints else line


def _section(place: str, name: str, found: DraftTypes, *, is_person: bool) -> list[str]:
    kind = found.types[name]
    lines = [f'type = "{kind.value}"' if found.guessed else f'# type = "{kind.value}"']
    if name in found.whole:
        lines = [lines[0].ljust(_TO_COMMENTS) + "# written as 1.0: “number” if some have decimals"]
    if name in found.formats:
        lines.append(
            f'format = "{found.formats[name]}"'.ljust(_TO_COMMENTS) + "# how the file writes its dates"
        )
    if name in found.unsure:
        lines += _unsure_lines(found.unsure[name])
    header = f"[{place}.{toml_key(name)}]"
    if not is_person:
        lines += [f"# {hint}".ljust(_TO_COMMENTS) + f"# {why}" for hint, why in _hints(name, kind, found)]
        if kind in _MOMENTS and not found.guessed and name not in found.formats:
            header = f"# {header}"
    if not found.guessed and len(lines) == 1:
        return []
    return ["", header, *lines]


def _hints(name: str, kind: ValueType, found: DraftTypes) -> Iterator[tuple[str, str]]:
    """What can be declared of a column, and from what."""
    if name in found.flags:
        yield "keys = [0, 1]", "if it can be nothing else"
    if kind.numeric:
        yield "bounds = [LOW, HIGH]", "DECLARE from what you know, not from the data"
    if kind in _MOMENTS:
        yield "bounds = [FIRST, LAST]", "such as [2020-01-01, 2026-12-31], from what you know"
    if kind is ValueType.TEXT:
        yield 'keys = ["…", "…"]', "if all its values are public"


def _unsure_lines(formats: tuple[str, ...]) -> list[str]:
    """What to write instead, if a column of texts holds dates."""
    if not formats:
        return ["# DECIDE: this looks like dates, but in a form that cannot be read. So it is text."]
    return [
        "# DECIDE: this looks like dates, but the first rows do not tell days from months. So it is text.",
        "# Take one of these lines instead of the type above, if you know which:",
        *(f'# format = "{written}"' for written in formats),
    ]


def toml_key(name: str) -> str:
    """A name as it stands in a TOML header."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_text(value: str) -> str:
    """The text as TOML. What cannot be printed is escaped as \\U and eight digits."""
    escaped = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped)
