"""Writes the first draft of a policy from the schema alone, and leaves to the owner what it cannot know."""

import json
import os
import re
from pathlib import Path

import click

from discreet.answers.wording import visible_text
from discreet.engines.open_engine import FILES, engine_of, schema_of
from discreet.errors import PolicyError
from discreet.model.declaration import nearest
from discreet.model.policy import ValueType


def write_policy(data: str, *, person: str, out: Path) -> None:
    """Write the draft and say what is left to declare. An existing file is never touched."""
    if out.exists():
        raise _exists(out)
    schema, guessed = schema_of(data, Path())
    if person != "row" and person not in schema:
        raise PolicyError(
            f"“{data}” has no usable column “{person}”.",
            remedy=nearest(person, schema) + " Or write --person row if every row is another person.",
        )
    table = _table_name(data)
    source = data
    if engine_of(data) == FILES and not Path(data).is_absolute():
        source = Path(os.path.relpath(data, out.parent)).as_posix()
    text = draft(table, source, person, schema, guessed=guessed)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(out) from None
    except OSError:
        raise PolicyError(f"“{out}” cannot be written.", remedy="Check the folder, or give --out.") from None
    click.echo(
        f"Wrote {out}. No row was used, except to guess types."
        if guessed
        else f"Wrote {out}. No row was read."
    )
    click.echo("Left for you to declare:")
    for line in _left(person, schema, guessed=guessed):
        click.echo(f"  - {visible_text(line)}")
    click.echo("Then run: discreet check" + ("" if out.name == "discreet.toml" else f" --policy {out}"))


def draft(table: str, source: str, person: str, schema: dict[str, ValueType], *, guessed: bool) -> str:
    """The text of the policy."""
    place = "    # relative to this file" if engine_of(source) == FILES else ""
    lines = [
        "# What analysts may learn from this data, and how much. Everything in this file is public.",
        "# All settings: docs/reference/policy.md. Check it with: discreet check",
        "",
        "[dataset]",
        f"name = {_text(table)}",
        'neighbours = "add_remove"          # whether a person is in the data is itself private',
        "# DECIDE: all that may ever be spent, by everybody together. ε below 1 is strong, above 10 weak.",
        "# delta must be far below one over the number of people; 0 allows pure ε only.",
        "budget = { epsilon = 1.0, delta = 1e-6 }",
        "# per_analyst = { epsilon = 0.5 }   # the most that any one analyst may spend",
        "# per_question = { epsilon = 0.1 }  # the most that any one question may cost",
        "",
        f"[tables.{_key(table)}]",
        f"source = {_text(source)}{place}",
        f"person = {_text(person)}",
    ]
    if person != "row":
        lines += [
            "# unique = true                    # if no person has two rows; then drop max_rows",
            "max_rows = 1                       # DECLARE: rows of a person that count fully in one question",
            "# max_groups = 1                   # groups that a person counts fully in, for COUNT(DISTINCT)",
        ]
    if guessed:
        lines += ["", "# The types below were guessed from the first rows of the file: CHECK each of them."]
    for name, kind in schema.items():
        lines += _column_lines(table, name, kind, is_person=name == person, guessed=guessed)
    return "\n".join(lines) + "\n"


def _column_lines(table: str, name: str, kind: ValueType, *, is_person: bool, guessed: bool) -> list[str]:
    comments = []
    if not is_person and kind.numeric:
        comments.append("# bounds = [LOW, HIGH]             # DECLARE from what you know, not from the data")
    if not is_person and kind is ValueType.TEXT:
        comments.append('# keys = ["…", "…"]                # if all its values are public')
    typed = f'type = "{kind.value}"'
    if not guessed and not comments:
        return []
    return ["", f"[tables.{_key(table)}.columns.{_key(name)}]", typed if guessed else f"# {typed}", *comments]


def _left(person: str, schema: dict[str, ValueType], *, guessed: bool) -> list[str]:
    others = {name: kind for name, kind in schema.items() if name != person}
    numbers = [name for name, kind in others.items() if kind.numeric]
    texts = [name for name, kind in others.items() if kind is ValueType.TEXT]
    left = ["the budget: ε = 1 and δ = 1e-6 are only a start"]
    if person != "row":
        left.append("max_rows: 1 is safe, but rows of people with more than that are weighed down")
    if guessed:
        left.append("types: they were guessed from the first rows, so check them")
    if numbers:
        left.append(f"bounds, without which there is no SUM or AVG: {', '.join(numbers)}")
    if texts:
        left.append(f"keys, if they are public: {', '.join(texts)}")
    return left


def _exists(out: Path) -> PolicyError:
    return PolicyError(f"“{out}” exists already.", remedy="Move it away, or give another name with --out.")


def _table_name(data: str) -> str:
    """The name of the file or of the table in it, without what a pattern adds."""
    file, _, inside = data.rpartition("#")
    is_table = bool(file) and not inside.endswith((".parquet", "/"))
    name = inside.rpartition(".")[2] if is_table else Path(inside).stem
    cleaned = re.sub(r"[^\w-]+", "_", name).strip("_")
    return cleaned or re.sub(r"[^\w-]+", "_", Path(data).parent.name).strip("_") or "data"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    """As TOML: what cannot be printed is escaped, beyond U+FFFF in its own way."""
    escaped = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped)
