"""TOML whose errors name the file, the line and the section, and say what to write instead."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

from discreet.errors import DiscreetError, InvalidInput
from discreet.model.declaration import nearest
from discreet.model.exact import positive_count, positive_epsilon

T = TypeVar("T")

LONGEST_NAME = 200
_LARGEST_FILE = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What errors call a file, and what they advise."""

    name: str
    error: type[DiscreetError]
    if_missing: str
    if_too_large: str


def read_toml(file: Path, kind: FileKind) -> "Section":
    text = _text_of(file, kind)
    values = _parse(file.name, text, kind)
    return Section(kind=kind, file=file.name, lines=_lines(text), path=(), values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table of TOML that knows where it stands, so that every error can say so."""

    kind: FileKind
    file: str
    lines: Mapping[tuple[str, ...], int]
    path: tuple[str, ...]
    values: Mapping[str, object]

    def place(self, setting: str = "") -> str:
        full = (*self.path, setting) if setting else self.path
        known = (full[:length] for length in range(len(full), 0, -1))
        line = next((f", line {self.lines[place]}" for place in known if place in self.lines), "")
        heading = f": [{'.'.join(self.path)}]" if self.path else ":"
        return f"{self.file}{line}{heading}" + (f" {setting}" if setting else "")

    def refuse(self, setting: str, problem: str, remedy: str) -> NoReturn:
        raise self.kind.error(f"{self.place(setting)}: {problem}", remedy=remedy) from None

    def checked(self, setting: str, read: Callable[[], T]) -> T:
        """The result of `read`. Its errors are reported at this setting."""
        try:
            return read()
        except InvalidInput as error:
            self.refuse(setting, error.problem, error.remedy)

    def allow_only(self, known: tuple[str, ...]) -> None:
        for setting in self.values:
            if setting not in known:
                self.refuse(setting, f"there is no setting “{setting}” here.", nearest(setting, list(known)))

    def required(self, setting: str, example: str) -> object:
        if setting not in self.values:
            self.refuse("", f"“{setting}” is missing.", f"Write {example}.")
        return self.values[setting]

    def section(self, name: str) -> "Section":
        example = f"a section [{'.'.join((*self.path, name))}]"
        values = self.required(name, example)
        if not isinstance(values, dict):
            self.refuse(name, "this must be a section.", f"Write {example}.")
        return Section(
            kind=self.kind, file=self.file, lines=self.lines, path=(*self.path, name), values=values
        )

    def text(self, setting: str, example: str) -> str:
        value = self.required(setting, example)
        if not isinstance(value, str):
            self.refuse(setting, "this must be text in quotes.", f"Write {example}.")
        if not value.strip() or not value.isprintable() or len(value) > LONGEST_NAME * 10:
            self.refuse(
                setting, "this is empty, too long, or holds signs that cannot be seen.", f"Write {example}."
            )
        return value

    def flag(self, setting: str) -> bool:
        value = self.values.get(setting, False)
        if not isinstance(value, bool):
            self.refuse(setting, "this must be true or false, without quotes.", f"Write {setting} = true.")
        return value

    def count(self, setting: str) -> int:
        value = self.required(setting, f"{setting} = 5")
        return self.checked(setting, lambda: positive_count(value, setting))

    def epsilon(self) -> Fraction:
        value = self.required("epsilon", "epsilon = 0.5")
        return self.checked("epsilon", lambda: positive_epsilon(value))


def _text_of(file: Path, kind: FileKind) -> str:
    try:
        with file.open("rb") as stream:
            raw = stream.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise kind.error(f"There is no {kind.name} “{file}”.", remedy=kind.if_missing) from None
    except (OSError, ValueError):
        raise kind.error(
            f"The {kind.name} “{file}” cannot be opened.", remedy="Check that it is a file that you may read."
        ) from None
    if len(raw) > _LARGEST_FILE:
        raise kind.error(f"The {kind.name} “{file}” is too large.", remedy=kind.if_too_large)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise kind.error(
            f"{file.name}, line {line}: this is not UTF-8.", remedy="Save it as UTF-8."
        ) from None


def _parse(file: str, text: str, kind: FileKind) -> dict[str, object]:
    try:
        return tomllib.loads(text, parse_float=_number)
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except (ValueError, RecursionError):
        problem = "a number is too long, or brackets are nested too deeply"
    raise kind.error(
        f"{file} is not TOML: {problem}.",
        remedy='Settings are NAME = VALUE, text is in "quotes", sections are [in.brackets].',
    )


def _number(text: str) -> Decimal:
    """Every digit as written. What not even a Decimal can hold becomes infinite, and is refused later."""
    try:
        return Decimal(text.replace("_", ""))
    except InvalidOperation:
        return Decimal("Infinity")


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each section and setting: TOML itself reads each heading and each name."""
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        start = line.strip()
        if start.startswith("["):
            section = _names_in(start) or section
            for depth in range(1, len(section) + 1):
                lines.setdefault(section[:depth], number)
        elif "=" in start and not start.startswith("#"):
            names = _names_in(start.partition("=")[0] + " = 0")
            if names:
                lines.setdefault((*section, *names), number)
    return lines


def _names_in(statement: str) -> tuple[str, ...]:
    try:
        value: object = tomllib.loads(statement)
    except (ValueError, RecursionError):
        return ()
    names = []
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        names.append(name)
    return tuple(names)
