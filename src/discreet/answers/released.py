"""What is released: columns of values, and for each measured one the intervals of the bounded truth."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from discreet.answers.columns import Cell, KeyEnds, as_column, as_floats, plain_cells
from discreet.answers.encoding import decode_columns, encode_columns
from discreet.answers.wording import group_text
from discreet.arrays import ColumnValues, Floats
from discreet.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Released:
    """The columns of an answer, each as long as the others. A column is measured if it has an error."""

    columns: tuple[str, ...]
    values: Mapping[str, ColumnValues]
    """What is shown. Missing numbers are NaN; any other column in which NULL occurs is a masked array."""
    raw: Mapping[str, Floats]
    """Of each measured column: the noisy estimate before it is rounded and clipped."""
    low: Mapping[str, Floats]
    """Of each measured column: the low ends of the intervals, at the stated confidence; NaN if unknown."""
    high: Mapping[str, Floats]
    confidence: float
    notes: tuple[str, ...]
    """What bounding may have done to the truth, in words."""
    noise_low: Mapping[str, Floats] = field(default_factory=dict)
    """Of columns whose interval also holds what limits leave out: where that of noise alone begins."""
    noise_high: Mapping[str, Floats] = field(default_factory=dict)
    ends: Mapping[str, KeyEnds] = field(default_factory=dict)
    """Of keys that were clamped: the one that stands for all below it, and the one for all above it."""

    def __post_init__(self) -> None:
        measured = [name for name in self.columns if name in self.raw]
        values = {name: as_column(self.values[name]) for name in self.columns}
        floats = [{name: as_floats(each[name]) for name in measured} for each in self._measures()]
        floats += [
            {name: as_floats(column) for name, column in each.items()}
            for each in (self.noise_low, self.noise_high)
        ]
        lengths = {len(column) for each in (values, *floats) for column in each.values()}
        if len(lengths) > 1 or len(values) < len(self.columns):
            raise InvalidInput(
                "The columns of an answer have different names and the same length.",
                remedy="Give each column a value for each row.",
            )
        if any(values[name].dtype.kind not in "if" for name in measured):
            raise InvalidInput("Only numbers can have an error.", remedy="Measure numbers only.")
        object.__setattr__(self, "values", MappingProxyType(values))
        for name, each in zip(("raw", "low", "high", "noise_low", "noise_high"), floats, strict=True):
            object.__setattr__(self, name, MappingProxyType(each))

    def __len__(self) -> int:
        return len(self.values[self.columns[0]]) if self.columns else 0

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns with an error; the others are keys, or computed from keys."""
        return tuple(self.raw)

    def only(self, names: Sequence[str]) -> "Released":
        """The same with some of its columns, in this order."""
        kept = tuple(dict.fromkeys(names))

        def some(each: Mapping[str, Any]) -> dict[str, Any]:
            return {name: each[name] for name in kept if name in each}

        return replace(
            self,
            columns=kept,
            values=some(self.values),
            raw=some(self.raw),
            low=some(self.low),
            high=some(self.high),
            noise_low=some(self.noise_low),
            noise_high=some(self.noise_high),
            ends=some(self.ends),
        )

    def flat(self) -> dict[str, ColumnValues]:
        """All columns side by side, each measure NAME followed by NAME_low and NAME_high."""
        taken = {name.lower() for name in self.columns}
        flat: dict[str, ColumnValues] = {}
        for name in self.columns:
            flat[name] = self.values[name]
            if name in self.raw:
                flat[_free(f"{name}_low", taken)] = self.low[name]
                flat[_free(f"{name}_high", taken)] = self.high[name]
            if name in self.noise_low:
                flat[_free(f"{name}_noise_low", taken)] = self.noise_low[name]
                flat[_free(f"{name}_noise_high", taken)] = self.noise_high[name]
        return flat

    def head(self, name: str, most: int) -> list[tuple[Cell, float, float]]:
        """The first cells of a column, with the ends of their intervals: NaN where there is none."""
        cells = plain_cells(self.values[name][:most])
        if name not in self.raw:
            return [(cell, math.nan, math.nan) for cell in cells]
        low, high = self.low[name][:most].tolist(), self.high[name][:most].tolist()
        return list(zip(cells, low, high, strict=True))

    def key_label(self, name: str, cell: Cell) -> str:
        """A key as it is shown: “≥ 100” where it stands for all above it too."""
        return group_text(cell, self.ends.get(name, (None, None)))

    def encode(self) -> bytes:
        """For the ledger: the same answer gives the same bytes."""
        facts = {
            "columns": list(self.columns),
            "measured": list(self.measured),
            "confidence": self.confidence,
            "notes": list(self.notes),
        }
        floats = [each[name] for each in self._measures() for name in self.measured]
        return encode_columns(facts, [*(self.values[name] for name in self.columns), *floats])

    @classmethod
    def decode(cls, data: bytes) -> "Released":
        """What `encode` wrote."""
        facts, arrays = decode_columns(data)
        try:
            names, measured, confidence = facts["columns"], facts["measured"], float(facts["confidence"])
            sizes = (len(names), *[len(measured)] * 3)
            values, raw, low, high = _split(arrays, sizes)
            return cls(
                columns=tuple(map(str, names)),
                values=dict(zip(names, values, strict=True)),
                raw=dict(zip(measured, raw, strict=True)),
                low=dict(zip(measured, low, strict=True)),
                high=dict(zip(measured, high, strict=True)),
                confidence=confidence,
                notes=tuple(map(str, facts["notes"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                "A stored answer cannot be read: its header does not describe its columns.",
                remedy="Restore it from a backup, or read it with the version that wrote it.",
            ) from error

    def _measures(self) -> tuple[Mapping[str, Floats], ...]:
        return self.raw, self.low, self.high


def _free(name: str, taken: set[str]) -> str:
    """A name that no column has, not even in another case: databases read those as the same."""
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _split(arrays: list[NDArray[Any]], sizes: Sequence[int]) -> list[list[NDArray[Any]]]:
    if sum(sizes) != len(arrays):
        raise ValueError
    parts, start = [], 0
    for size in sizes:
        parts.append(arrays[start : start + size])
        start += size
    return parts
