"""What an analyst receives: noisy values with their error, and the receipt."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

Cell: TypeAlias = str | int | float | bool | date | None
Reach: TypeAlias = tuple[float, float] | None
"""From … to, at the stated confidence; None for a key, which has no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The columns of an answer, each as long as the others, and where the bounded truth lies."""

    columns: tuple[str, ...]
    values: Mapping[str, Sequence[Cell]]
    intervals: Mapping[str, Sequence[Reach]]
    confidence: float
    notes: tuple[str, ...]
    """What bounding may have done to the truth, in words."""

    def __len__(self) -> int:
        return len(self.values[self.columns[0]]) if self.columns else 0

    def encode(self) -> bytes:
        """For the ledger: JSON in which dates keep their kind."""
        data = {
            "columns": self.columns,
            "values": {name: [_to_json(cell) for cell in cells] for name, cells in self.values.items()},
            "intervals": {name: list(cells) for name, cells in self.intervals.items()},
            "confidence": self.confidence,
            "notes": self.notes,
        }
        return json.dumps(data, ensure_ascii=False).encode()

    @classmethod
    def decode(cls, data: bytes) -> "Released":
        """What `encode` wrote."""
        read = json.loads(data)
        return cls(
            columns=tuple(read["columns"]),
            values={name: [_from_json(cell) for cell in cells] for name, cells in read["values"].items()},
            intervals={
                name: [None if cell is None else (cell[0], cell[1]) for cell in cells]
                for name, cells in read["intervals"].items()
            },
            confidence=read["confidence"],
            notes=tuple(read["notes"]),
        )


def _to_json(cell: Cell) -> object:
    if isinstance(cell, datetime):
        return {"timestamp": cell.isoformat()}
    return {"date": cell.isoformat()} if isinstance(cell, date) else cell


def _from_json(cell: object) -> Cell:
    if isinstance(cell, dict):
        kind, text = next(iter(cell.items()))
        return datetime.fromisoformat(text) if kind == "timestamp" else date.fromisoformat(text)
    plain: Cell = cell if cell is None or isinstance(cell, str | int | float | bool) else str(cell)
    return plain
