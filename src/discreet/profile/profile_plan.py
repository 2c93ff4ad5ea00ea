"""What is counted for a profile of a table, and its price. Each person is in one bin of each histogram.

A person who comes or goes moves one bin of each histogram by one, and one who is replaced moves two. So all
histograms of a table are side by side: each gets a share of the price, and their losses add up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answers.encoding import decode_columns, encode_columns
from discreet.dialects.dialect import Dialect
from discreet.dialects.parameters import Parameters
from discreet.errors import InvalidInput
from discreet.model.deadline import Deadline
from discreet.model.identity import Facts, identity_of, table_facts, values_facts
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Column, PrivateTable
from discreet.model.privacy import PureLoss, Spend, amount_of, share_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import AdditiveNoise, additive
from discreet.profile.table_profile import ColumnProfile, NoisyBins, TableProfile
from discreet.release.exact_vectors import Results, integers_of
from discreet.sql.profile import profile_sql
from discreet.sql.statement import Statement

EDGES = tuple(sorted({*range(1, 5), *(2**i for i in range(2, 21)), *(3 * 2**i for i in range(1, 20))}))
"""The most rows, or keys, of people in each bin but the last: 1, 2, 3, 4, 6, 8, 12, 16, …"""
ODD = ("below", "above", "missing")
"""What a person's values of a column can be, each once or more: eight combinations, and a bin for each."""
_ROWS, _KEYS, _VALUES = Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)
"""How the price is shared; what a table has nothing of goes to the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePlan:
    """A profile of one table."""

    table: PrivateTable
    neighbours: Neighbours
    loss: Spend

    @property
    def repeatable(self) -> bool:
        return True

    @property
    def keyed(self) -> list[Column]:
        """Columns whose values are public."""
        return [column for column in self.table.columns.values() if column.keys is not None]

    @property
    def bounded(self) -> list[Column]:
        return [column for column in self.table.columns.values() if column.bounds is not None]

    def identity(self) -> str:
        return f"{self.identity_at_any_price()}{_price(self.loss)}"

    def identity_at_any_price(self) -> str:
        """What the keys of all profiles of this table begin with: whoever needs one finds it by that."""
        columns: list[Facts] = [_column_facts(column) for column in (*self.keyed, *self.bounded)]
        facts: Facts = {"table": table_facts(self.table), "columns": columns}
        return f"{identity_of('profile', facts)} at "

    def older_keys(self) -> Sequence[str]:
        return ()

    # What the database runs

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        """One pass: a row for each person, and from those all histograms."""
        parameters = Parameters()
        binding = dialect.binding(parameters)
        sql = profile_sql(self.table, self.keyed, self.bounded, EDGES, relations, binding)
        return (
            Statement(
                sql=sql, grouping_set=0, keys=(), parts=(0,), by_leaf=True, parameters=parameters.values
            ),
        )

    # What is drawn

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:  # noqa: ARG002
        drawn = zip(self.exact_histograms(exact), self.noise(), strict=True)
        return encode_columns({"profile": 1}, [noise.release(people) for people, noise in drawn])

    def exact_histograms(self, exact: Results) -> list[NDArray[np.int64]]:
        """How many people are in each bin, of each histogram: secret, and never shown."""
        ((_, table),) = exact
        places, leaves, counts = (integers_of(table[name]) for name in ("h", "leaf", "s0"))
        histograms = [np.zeros(size, dtype=np.int64) for size in self._sizes()]
        for place, people in enumerate(histograms):
            here = places == place
            np.add.at(people, leaves[here], counts[here])
        return histograms

    def profile_from(self, stored: bytes, charged: Spend) -> TableProfile:
        """What is known from what is stored, and what was charged for it."""
        facts, columns = decode_columns(stored)
        if facts.get("profile") != 1 or len(columns) != len(self._sizes()):
            raise InvalidInput("A stored profile cannot be read.", remedy="Restore the ledger from a backup.")
        paid = replace(self, loss=charged)
        bins = [
            NoisyBins(people=column.astype(np.float64), noise=noise)
            for column, noise in zip(columns, paid.noise(), strict=True)
        ]
        keyed, bounded = len(self.keyed), len(self.bounded)
        return TableProfile(
            table=self.table.name,
            rows=bins[0],
            keys={c.name: b for c, b in zip(self.keyed, bins[1 : 1 + keyed], strict=True)},
            values={
                c.name: ColumnProfile(bins=b)
                for c, b in zip(self.bounded, bins[1 + keyed : 1 + keyed + bounded], strict=True)
            },
            loss=charged,
        )

    def _sizes(self) -> list[int]:
        return [len(EDGES) + 1] * (1 + len(self.keyed)) + [2 ** len(ODD)] * len(self.bounded)

    def noise(self) -> list[AdditiveNoise]:
        """Of each histogram, which has its share of the price."""
        wanted = [(_ROWS, 1), (_KEYS, len(self.keyed)), (_VALUES, len(self.bounded))]
        total = sum(share for share, count in wanted if count)
        shares = [share / total / count for share, count in wanted for _ in range(count)]
        sensitivity = Sensitivity.histogram(self.neighbours)
        return [additive(share_of(self.loss, share), sensitivity) for share in shares]


def _price(loss: Spend) -> str:
    return f"{'epsilon' if isinstance(loss, PureLoss) else 'rho'} {amount_of(loss)}"


def _column_facts(column: Column) -> Facts:
    bounds: Facts = None
    if column.bounds is not None:
        bounds = [str(column.bounds.low), str(column.bounds.high)]
    facts: dict[str, Facts] = {
        "name": column.name,
        "type": column.type.value,
        "bounds": bounds,
        "keys": values_facts(column.keys),
    }
    return facts if column.format is None else {**facts, "format": column.format}
