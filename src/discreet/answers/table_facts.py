"""What can be asked about: the tables of a policy, as text and in notebooks. All of it is public."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from discreet.answers.plain_html import html_block, html_line, html_rows
from discreet.answers.wording import cut_text, key_text
from discreet.errors import InvalidInput

_SHOWN_KEYS = 60
"""Characters of a list of keys."""
_HEADINGS = ("column", "type", "declared")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """A column, as the policy declares it."""

    name: str
    type: str
    bounds: tuple[float, float] | tuple[str, str] | None
    """Of a date, as 2024-01-31."""
    keys: tuple[object, ...] | None
    """The values that are listed; the first thousand if there are more."""
    unit: float | None = None
    """The grid that values are rounded to, if it is declared."""

    def facts(self) -> dict[str, object]:
        """For JSON: dates as text."""
        keys = None if self.keys is None else [_plain(key) for key in self.keys]
        bounds = None if self.bounds is None else list(self.bounds)
        return {"name": self.name, "type": self.type, "bounds": bounds, "keys": keys, "unit": self.unit}

    def declared(self) -> str:
        """Bounds, keys and unit in a line."""
        parts = []
        if self.bounds is not None:
            low, high = (each if isinstance(each, str) else f"{each:g}" for each in self.bounds)
            parts.append(f"{low} … {high}")
        if self.unit is not None:
            parts.append(f"in steps of {self.unit:g}")
        if self.keys is not None:
            listed = ", ".join(repr(key) if isinstance(key, str) else str(key) for key in self.keys)
            parts.append(f"{len(self.keys)} keys: {cut_text(listed, _SHOWN_KEYS)}")
        return "; ".join(parts)


def _plain(key: object) -> object:
    return key.isoformat() if isinstance(key, date) else key


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableFacts:
    """A table, as the policy declares it. All of this is public."""

    name: str
    public: bool
    """Whether it holds nothing about people."""
    person: str
    """The column that tells people apart, or “row”; empty for a public table."""
    max_rows: int | None
    max_groups: int | None
    columns: tuple[ColumnFacts, ...]
    unique: bool = False
    """Whether no person has two rows."""

    def title(self) -> str:
        """Whom it is about, and the limits of one person."""
        if self.public:
            return f"{self.name}: public, to join with"
        if self.person == "row":
            return f"{self.name}: every row is another person"
        if self.unique:
            return f"{self.name}: a person is {self.person}, with one row each"
        limits = f"max_rows = {self.max_rows}, max_groups = {self.max_groups}"
        return f"{self.name}: a person is {self.person}; {limits}"

    def __repr__(self) -> str:
        rows = list(self._rows())
        widths = [max(len(row[i]) for row in [*rows, _HEADINGS]) for i in range(2)]
        lines = [
            f"  {name.ljust(widths[0])}  {kind.ljust(widths[1])}  {told}".rstrip()
            for name, kind, told in rows
        ]
        return "\n".join([key_text(self.title()), *lines])

    def _repr_html_(self) -> str:
        return html_block(html_line(self.title(), strong=True), html_rows(_HEADINGS, self._rows()))

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for column in self.columns:
            told = "the person" if column.name == self.person else column.declared()
            yield key_text(column.name), column.type, told and key_text(told)


class TableList(tuple[TableFacts, ...]):
    """The tables of a dataset. One is found by its place or by its name: tables["visits"]."""

    __slots__ = ()

    def __getitem__(self, which: object) -> object:  # type: ignore[override]
        if not isinstance(which, str):
            return super().__getitem__(which)  # type: ignore[call-overload]
        for table in self:
            if table.name.casefold() == which.casefold():
                return table
        names = [table.name for table in self]
        near = difflib.get_close_matches(which[:60], names, n=1, cutoff=0.5)
        raise InvalidInput(
            f"There is no table “{which[:60]}”.",
            remedy=f"Did you mean “{near[0]}”?" if near else f"There are: {', '.join(names)}.",
        )

    def facts(self) -> list[dict[str, object]]:
        """For JSON."""
        return [
            {
                "name": table.name,
                "public": table.public,
                "person": table.person or None,
                "unique": table.unique,
                "max_rows": table.max_rows,
                "max_groups": table.max_groups,
                "columns": [column.facts() for column in table.columns],
            }
            for table in self
        ]

    def __call__(self) -> "TableList":
        """The same: `tables()` may be written too."""
        return self

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return html_block(*(table._repr_html_() for table in self))
