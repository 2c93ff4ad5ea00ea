"""A reading of a cached table as a release: what a question takes that the cache cannot answer yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.dialects.dialect import Dialect
from discreet.model.deadline import Deadline
from discreet.model.privacy import Spend
from discreet.release.exact_vectors import Results
from discreet.sql.emit import emit_sql
from discreet.sql.statement import Statement
from discreet.synth.cached.cache import encode_readings
from discreet.synth.cached.strategy import Buy, Pay
from discreet.synth.cached.table import CachedTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadingRelease:
    """A step of the strategy, and the key that it has after all readings before it."""

    table: CachedTable
    """Counted only by the attributes of the step."""
    step: Pay | Buy
    key: str

    @property
    def loss(self) -> Spend:
        return self.step.loss

    @property
    def repeatable(self) -> bool:
        return True

    def identity(self) -> str:
        return self.key

    def older_keys(self) -> Sequence[str]:
        """None: a reading that older versions stored is known to the cache, and not taken again."""
        return ()

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        return emit_sql(self.table, relations, dialect)

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:  # noqa: ARG002
        return encode_readings(self.table.measure(self.step, exact))
