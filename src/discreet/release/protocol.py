"""What every release can do: a question, a synthetic table and a check of it, a model, a cached reading.

The curator charges for a release, reads what it needs, draws its noise and stores that (`curator.charging`).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from discreet.dialects.dialect import Dialect
from discreet.model.deadline import Deadline
from discreet.model.privacy import Spend
from discreet.release.exact_vectors import Results
from discreet.sql.statement import Statement


class Release(Protocol):
    """Paid once, drawn once, stored at once. All else is computed from what is stored, for free."""

    @property
    def loss(self) -> Spend:
        """Its price: what the draw may tell of any one person."""

    @property
    def repeatable(self) -> bool:
        """Whether the same can be asked for again, and is free then. If not, its key never comes again."""

    def identity(self) -> str:
        """The key that the ledger knows it by: see `model.identity`."""

    def older_keys(self) -> Sequence[str]:
        """The keys that older versions gave it. They are made only for ledgers that have such keys."""

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        """What the database runs. `relations` says what stands after FROM for each table of the policy.

        What this dialect cannot do soundly is refused here, before any charge.
        """

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:
        """Draw all that is released of the exact results, to be stored at once.

        A long draw looks at the clock between its steps.
        """
