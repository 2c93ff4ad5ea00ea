"""What was drawn for a question: noisy integers, and nothing that was computed from them.

The ledger stores it right after the draw. Everything after that (outputs, HAVING, ORDER BY, intervals) is
computed from the stored bytes, as often as need be and always the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.vectors import Histogram, known
from discreet.answers.columns import as_column
from discreet.answers.encoding import decode_columns, encode_columns
from discreet.arrays import ColumnValues, Integers
from discreet.bounds.calibrate import Plan
from discreet.errors import InvalidInput, QueryRefused
from discreet.model.query import group_count
from discreet.model.receipt import LARGEST_ANSWER
from discreet.noise.quantile import QuantileTree
from discreet.release.exact_vectors import public_keys

_WORD, _MOST_OF_HEADER = 8, 2**20
_FAR = 2**1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Noisy integers of the groups that are shown."""

    groups: int
    keys: tuple[ColumnValues, ...]
    """The keys of the groups, if they are private. Public ones follow from the question."""
    places: NDArray[np.int64] | None
    """Which of the public groups were picked; None where all are shown, or keys are private."""
    sums: Mapping[int, Integers]
    """By the place of a part: one integer for each group."""
    trees: Mapping[int, Integers]
    """By the place of a histogram: the nodes of each group's tree, one group after the other."""
    left_out: Mapping[int, Integers] = field(default_factory=dict)
    """By the place of a part: how many people are in each bin of what is left out of them."""
    ordered: bool = True
    """Whether places are those of `parts_in_order`. At first they were those of the question's parts."""
    reconciled: bool = False
    """Whether answers are computed from tables that add up (`reconcile`). What was drawn before that is
    answered as it was."""

    def encode(self) -> bytes:
        """The same numbers give the same bytes."""
        vectors = [*self.sums.values(), *self.trees.values(), *self.left_out.values()]
        facts: dict[str, object] = {
            "drawn": 2,
            "groups": self.groups,
            "keys": len(self.keys),
            "picked": self.places is not None,
            "sums": list(self.sums),
            "trees": list(self.trees),
        }
        if self.left_out:
            facts["left_out"] = list(self.left_out)
        if self.reconciled:
            facts["reconciled"] = True
        places = [] if self.places is None else [self.places]
        columns = [*map(as_column, self.keys), *places, *map(_stored, vectors)]
        return encode_columns(facts, columns)

    @classmethod
    def decode(cls, data: bytes) -> "Drawn | None":
        """What `encode` wrote; None for bytes that are something else, such as a whole answer."""
        facts, columns = decode_columns(data)
        if facts.get("drawn") not in (1, 2):
            return None
        try:
            keys, rest = columns[: facts["keys"]], columns[facts["keys"] :]
            places = np.asarray(rest.pop(0)) if facts["picked"] else None
            left_out = facts.get("left_out", [])
            parts = [*facts["sums"], *facts["trees"], *left_out]
            vectors = dict(zip(parts, map(_integers, rest), strict=True))
            return cls(
                groups=int(facts["groups"]),
                keys=tuple(keys),
                places=places,
                sums={part: vectors[part] for part in facts["sums"]},
                trees={part: vectors[part] for part in facts["trees"]},
                left_out={part: vectors[part] for part in left_out},
                ordered=facts["drawn"] == 2,
                reconciled=bool(facts.get("reconciled", False)),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InvalidInput(
                "What was drawn for a question cannot be read.",
                remedy="Restore the ledger from a backup, or use the version of discreet that wrote it.",
            ) from error

    def in_order_of_keys(self) -> "Drawn":
        """Groups with private keys, sorted. Some were stored in the order in which a database met them, which
        tells of its rows.
        """
        if not self.keys:
            return self
        order = order_of_keys(self.keys)
        return replace(
            self,
            keys=tuple(key[order] for key in self.keys),
            sums={place: vector[order] for place, vector in self.sums.items()},
            trees={
                place: nodes.reshape(self.groups, -1)[order].reshape(-1) if self.groups else nodes
                for place, nodes in self.trees.items()
            },
        )

    def keys_of(self, plan: Plan) -> tuple[ColumnValues, ...]:
        """The keys of the groups that are shown."""
        if plan.bounded.query.private_keys:
            return self.keys
        shown = slice(None) if self.places is None else self.places
        return tuple(key[shown] for key in public_keys(plan.bounded.query))


def order_of_keys(keys: Sequence[ColumnValues]) -> NDArray[np.intp]:
    """The order in which groups are sorted by their keys; missing ones come last."""
    rows = list(zip(*(np.ma.asarray(key).tolist() for key in keys), strict=True))
    sortable = [tuple((cell is None, 0 if cell is None else cell) for cell in row) for row in rows]
    return np.array(sorted(range(len(rows)), key=sortable.__getitem__), dtype=np.intp)


def check_size(*plans: Plan) -> None:
    """Refuse, before anything is charged, what would be too large to be stored.

    The number of private keys is not known in advance. If they are too many, the charge is lost.
    """
    numbers = 0
    for plan in plans:
        query = plan.bounded.query
        groups = 1 if query.private_keys else group_count(query)
        words = sum(
            sum(known(QuantileTree, mechanism).shape.sizes) if isinstance(part, Histogram) else 1
            for part, mechanism in zip(plan.bounded.parts, plan.mechanisms, strict=True)
        )
        numbers += groups * words
        if numbers * _WORD > LARGEST_ANSWER - _MOST_OF_HEADER * len(plans):
            raise QueryRefused(
                f"This question has {groups:,} groups with {words:,} noisy numbers each, too many to be"
                " stored.",
                remedy="Ask for fewer groups or measures at once.",
            )


def _stored(vector: Integers) -> ColumnValues:
    """64 bits for each, so that the size is known in advance. Wider integers become the nearest floats: they
    are used as floats in any case.
    """
    if vector.dtype != object:
        return vector.astype(np.int64)
    return np.clip(vector, -_FAR, _FAR).astype(np.float64)


def _integers(column: ColumnValues) -> Integers:
    if column.dtype == np.int64:
        return column
    integers = np.empty(len(column), dtype=object)
    integers[:] = [int(number) for number in column]
    return integers
