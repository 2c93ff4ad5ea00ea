"""Writes the first draft of a policy from the schema alone, and leaves to the owner what it cannot know."""

import json
import os
import re
from pathlib import Path

import click

from discreet.answers.wording import visible_text
from discreet.engines.duckdb.draft_types import DraftTypes
from discreet.engines.open_engine import FILES, engine_of, schema_of
from discreet.errors import PolicyError
from discreet.model.declaration import nearest
from discreet.model.policy import ValueType

_TO_COMMENTS = 35
_ROWS = 10
"""A round number that follows from no data, as whatever the draft says is public."""
_LIMITS = (
    "# DECIDE: how many rows of one person count fully in one question. If a person has more, all of theirs",
    "# are weighed down, so that together they count as this many. If many people have more, answers are too",
    f"# low; the larger it is, the more noise they have. {_ROWS} is only a start, and follows from no data.",
    "# How to choose it: docs/how-to/choose-limits.md",
    f"max_rows = {_ROWS}",
    "# unique = true                    # instead of max_rows, if no person can have two rows",
    "# The same for count(DISTINCT …) and for people by group: in how many groups a person counts fully.",
    "# max_groups = 3                   # as max_rows, if it is left out",
    "# What a person has one of, such as a year of birth, needs no limit: declare per_person = true for it.",
)


def write_policy(data: str, *, person: str, out: Path) -> None:
    """Write the draft and say what is left to declare. An existing file is never touched."""
    if out.exists():
        raise _exists(out)
    found = schema_of(data, Path())
    if person != "row" and person not in found.types:
        raise PolicyError(
            f"“{data}” has no usable column “{person}”.",
            remedy=nearest(person, found.types) + " Or write --person row if every row is another person.",
        )
    table = _table_name(data)
    source = data
    if engine_of(data) == FILES and not Path(data).is_absolute():
        source = Path(os.path.relpath(data, out.parent)).as_posix()
    text = draft(table, source, person, found)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(out) from None
    except OSError:
        raise PolicyError(f"“{out}” cannot be written.", remedy="Check the folder, or give --out.") from None
    click.echo(
        f"Wrote {out}. No row was used, except to guess types."
        if found.guessed
        else f"Wrote {out}. No row was read."
    )
    click.echo("Left for you to declare:")
    for line in _left(person, found):
        click.echo(f"  - {visible_text(line)}")
    click.echo("Then run: discreet check" + ("" if out.name == "discreet.toml" else f" --policy {out}"))


def draft(table: str, source: str, person: str, found: DraftTypes) -> str:
    """The text of the policy."""
    place = "    # relative to this file" if engine_of(source) == FILES else ""
    lines = [
        "# What analysts may learn from this data, and how much. Everything in this file is public.",
        "# All settings: docs/reference/policy.md. Check it with: discreet check",
        "",
        "[dataset]",
        f"name = {toml_text(table)}",
        'neighbours = "add_remove"          # whether a person is in the data is itself private',
        "# DECIDE: all that may ever be spent, by everybody together. ε below 1 is strong, above 10 weak.",
        "# delta must be far below one over the number of people; 0 allows pure ε only.",
        "budget = { epsilon = 1.0, delta = 1e-6 }",
        "# per_analyst = { epsilon = 0.5 }   # the most that any one analyst may spend",
        "# per_question = { epsilon = 0.1 }  # the most that any one question may cost",
        "",
        f"[tables.{toml_key(table)}]",
        f"source = {toml_text(source)}{place}",
        f"person = {toml_text(person)}",
    ]
    if person != "row":
        lines += _LIMITS
    if found.guessed:
        lines += ["", "# The types below were guessed from the first rows of the file: CHECK each of them."]
    for name in found.types:
        lines += _column_lines(table, name, found, is_person=name == person)
    return "\n".join(lines) + "\n"


def _column_lines(table: str, name: str, found: DraftTypes, *, is_person: bool) -> list[str]:
    kind = found.types[name]
    lines = [f'type = "{kind.value}"' if found.guessed else f'# type = "{kind.value}"']
    if name in found.formats:
        lines.append(
            f'format = "{found.formats[name]}"'.ljust(_TO_COMMENTS) + "# how the file writes its dates"
        )
    if name in found.unsure:
        lines += _unsure_lines(found.unsure[name])
    if not is_person and kind.numeric:
        lines.append("# bounds = [LOW, HIGH]             # DECLARE from what you know, not from the data")
    place = f"[tables.{toml_key(table)}.columns.{toml_key(name)}]"
    if not is_person and kind in (ValueType.DATE, ValueType.TIMESTAMP):
        example = "# such as [2020-01-01, 2026-12-31], from what you know"
        lines.append(f"# bounds = [FIRST, LAST]           {example}")
        place = place if found.guessed or name in found.formats else f"# {place}"
    if not is_person and kind is ValueType.TEXT:
        lines.append('# keys = ["…", "…"]                # if all its values are public')
    if not found.guessed and len(lines) == 1:
        return []
    return ["", place, *lines]


def _unsure_lines(formats: tuple[str, ...]) -> list[str]:
    """What to write instead, if a column of texts holds dates."""
    if not formats:
        return ["# DECIDE: this looks like dates, but in a form that cannot be read. So it is text."]
    return [
        "# DECIDE: this looks like dates, but the first rows do not tell days from months. So it is text.",
        "# Take one of these lines instead of the type above, if you know which:",
        *(f'# format = "{written}"' for written in formats),
    ]


def _left(person: str, found: DraftTypes) -> list[str]:
    others = {name: kind for name, kind in found.types.items() if name != person}
    numbers = [name for name, kind in others.items() if kind.numeric]
    texts = [name for name, kind in others.items() if kind is ValueType.TEXT and name not in found.unsure]
    left = ["the budget: ε = 1 and δ = 1e-6 are only a start"]
    if person != "row":
        left.append(f"max_rows: {_ROWS} is only a start. A person with more rows is weighed down to so many")
    if found.guessed:
        left.append("types: they were guessed from the first rows, so check them")
    if found.formats:
        told = ", ".join(f"{name} ({written})" for name, written in found.formats.items())
        left.append(f"formats of dates, guessed as well: {told}")
    if found.unsure:
        left.append(f"dates that are taken as text, as their format is not clear: {', '.join(found.unsure)}")
    if numbers:
        left.append(f"bounds, without which there is no SUM or AVG: {', '.join(numbers)}")
    if texts:
        left.append(f"keys, if they are public: {', '.join(texts)}")
    return left


def _exists(out: Path) -> PolicyError:
    return PolicyError(f"“{out}” exists already.", remedy="Move it away, or give another name with --out.")


def _table_name(data: str) -> str:
    """The name of the file or of the table in it, without the signs of a pattern."""
    file, _, inside = data.rpartition("#")
    is_table = bool(file) and not inside.endswith((".parquet", "/"))
    name = inside.rpartition(".")[2] if is_table else Path(inside).stem
    cleaned = re.sub(r"[^\w-]+", "_", name).strip("_")
    return cleaned or re.sub(r"[^\w-]+", "_", Path(data).parent.name).strip("_") or "data"


def toml_key(name: str) -> str:
    """A name as it stands in a TOML header."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_text(value: str) -> str:
    """The text as TOML. What cannot be printed is escaped as \\U and eight digits."""
    escaped = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped)
