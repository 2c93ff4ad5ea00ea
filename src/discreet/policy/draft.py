"""Writes the first draft of a policy from the schema alone, and leaves to the owner what it cannot know."""

import os
import re
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from discreet.answers.wording import visible_text
from discreet.engines.duckdb.draft_types import DraftTypes
from discreet.engines.open_engine import FILES, engine_of, schema_of
from discreet.errors import PolicyError
from discreet.model.declaration import nearest
from discreet.model.policy import ValueType
from discreet.policy.draft_columns import column_lines, toml_key, toml_text

_ROWS = 10
"""A round number that follows from no data, as whatever the draft says is public."""
_BUDGET = "the budget: ε = 1 and δ = 1e-6 are only a start"
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


def write_policy(data: str, *, person: str, out: Path, table: str | None = None) -> None:
    """Write the draft and say what is left to declare. An existing file is never touched."""
    if out.exists():
        raise _exists(out)
    found = _schema(data, person)
    text = draft(table or _table_name(data), _source(data, out), person, found)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(out) from None
    except OSError:
        raise _cannot_be_written(out) from None
    _tell(f"Wrote {out}.", [_BUDGET, *_left(person, found)], found, out)


def add_table(data: str, *, person: str, policy: Path, table: str | None = None) -> None:
    """Append the draft of a table to a policy, of which every byte stays, and say what is left to declare."""
    before = _read(policy)
    name = table or _table_name(data)
    if name in _tables(before, policy):
        raise PolicyError(
            f"The policy has a table “{name}” already.", remedy="Give this one another name: --table NAME."
        )
    found = _schema(data, person)
    lines = ["", *_table_lines(name, _source(data, policy), person, found)]
    end = "\r\n" if b"\r\n" in before else "\n"
    added = "".join(f"{line}{end}" for line in lines)
    if before and not before.endswith(b"\n"):
        added = end + added
    try:
        tomllib.loads((before + added.encode()).decode())
    except tomllib.TOMLDecodeError:
        raise PolicyError(
            f"The tables of “{policy}” are written in one place, where none can be added.",
            remedy="Give each a section of its own: [tables.NAME]",
        ) from None
    try:
        with policy.open("ab") as file:
            file.write(added.encode())
    except OSError:
        raise _cannot_be_written(policy) from None
    _tell(f"Added the table “{visible_text(name)}” to {policy}.", _left(person, found), found, policy)


def draft(table: str, source: str, person: str, found: DraftTypes) -> str:
    """The text of the policy."""
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
        *_table_lines(table, source, person, found),
    ]
    return "\n".join(lines) + "\n"


def _table_lines(table: str, source: str, person: str, found: DraftTypes) -> list[str]:
    place = "    # relative to this file" if engine_of(source) == FILES else ""
    lines = [
        f"[tables.{toml_key(table)}]",
        f"source = {toml_text(source)}{place}",
        f"person = {toml_text(person)}",
    ]
    if person != "row":
        lines += _LIMITS
    if found.guessed:
        lines += ["", "# The types below were guessed from the first rows of the file: CHECK each of them."]
    return lines + column_lines(f"tables.{toml_key(table)}.columns", person, found)


def _schema(data: str, person: str) -> DraftTypes:
    found = schema_of(data, Path())
    if person != "row" and person not in found.types:
        raise PolicyError(
            f"“{data}” has no usable column “{person}”.",
            remedy=nearest(person, found.types) + " Or write --person row if every row is another person.",
        )
    return found


def _source(data: str, policy: Path) -> str:
    """Where the data is, from where the policy is."""
    if engine_of(data) == FILES and not Path(data).is_absolute():
        return Path(os.path.relpath(data, policy.parent)).as_posix()
    return data


def _read(policy: Path) -> bytes:
    try:
        return policy.read_bytes()
    except OSError:
        raise PolicyError(
            f"“{policy}” cannot be read.",
            remedy="Give the policy that the table is added to, or leave --policy out to write a new one.",
        ) from None


def _tables(policy: bytes, path: Path) -> Collection[str]:
    """The names of the tables of a policy."""
    try:
        found = tomllib.loads(policy.decode()).get("tables", {})
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"“{path}” is not TOML: {error}.", remedy="Check it with: discreet check") from None
    except UnicodeDecodeError:
        raise PolicyError(f"“{path}” is not in UTF-8.", remedy="Save it in UTF-8.") from None
    return found if isinstance(found, dict) else ()


def _tell(done: str, left: Sequence[str], found: DraftTypes, policy: Path) -> None:
    read = "No row was used, except to guess types." if found.guessed else "No row was read."
    click.echo(f"{done} {read}")
    click.echo("Left for you to declare:")
    for line in left:
        click.echo(f"  - {visible_text(line)}")
    click.echo("Then run: discreet check" + ("" if policy.name == "discreet.toml" else f" --policy {policy}"))


def _left(person: str, found: DraftTypes) -> list[str]:
    others = {name: kind for name, kind in found.types.items() if name != person}
    numbers = [name for name, kind in others.items() if kind.numeric]
    texts = [name for name, kind in others.items() if kind is ValueType.TEXT and name not in found.unsure]
    left = []
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


def _cannot_be_written(policy: Path) -> PolicyError:
    return PolicyError(
        f"“{policy}” cannot be written.", remedy="Check the folder and the rights of the file."
    )
