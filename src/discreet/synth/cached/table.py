"""Counting questions about the cached columns of a table: how they meet `strategy`, how readings are kept.

Everything here follows from the policy, the questions and what was released. The exact counts of a reading
are of rows in which each person has the one weight that they have in the whole table (`count_tables`). So
all readings are of the same table, and least squares may combine them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.bounds.bound import Bounded
from discreet.bounds.calibrate import least_amount
from discreet.bounds.facts import bounded_facts
from discreet.model.identity import identity_of
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.sensitivity import Sensitivity
from discreet.question.counting import Count
from discreet.question.expressions.scope import PublicKeys
from discreet.question.parse import parse_sql
from discreet.question.plain_rows import resolve_rows, select_of
from discreet.release.exact_vectors import Results
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.cached.readings import Pricing, Reading
from discreet.synth.cached.strategy import Buy, Pay
from discreet.synth.core.domain import MOST_COUNTED_CELLS, MOST_VALUES, Domain, Marginal
from discreet.synth.plan.attributes import Attribute, attributes_of, domain_of
from discreet.synth.plan.count_tables import Counted, counting, table_sensitivity, unit_of
from discreet.synth.plan.masks import cells_where, readable, same_for_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedTable:
    """A table with cached columns, as the policy declares it."""

    name: str
    dataset: Dataset
    attributes: tuple[Attribute, ...]
    bounded: Bounded
    """Counts by all cached columns; its parts serve for any of them."""

    @classmethod
    def of(cls, table: PrivateTable, dataset: Dataset, public_keys: PublicKeys) -> "CachedTable":
        rows = resolve_rows(parse_sql(select_of(table.cached, table.name)), dataset, public_keys)
        attributes = attributes_of(rows.columns, MOST_VALUES - 1)
        bounded = counting(rows, attributes, dataset, sets=(tuple(range(len(attributes))),))
        return cls(name=table.name, dataset=dataset, attributes=attributes, bounded=bounded)

    def identity(self) -> str:
        """What identifies the readings of the table."""
        return identity_of("cached", bounded_facts(self.bounded))

    @property
    def domain(self) -> Domain:
        return domain_of(self.attributes)

    def pricing(self) -> Pricing:
        table = table_sensitivity(self.bounded)
        return Pricing(
            concentrated=self.dataset.delta > 0,
            table=table,
            single=Sensitivity.scalar(table.linf, table.neighbours),
            unit=unit_of(self.bounded),
            least=least_amount(self.dataset),
        )

    def question(self, count: Count) -> CountingQuestion | None:
        """What is counted, in cells; None if the cached columns cannot tell."""
        chosen = readable(count.condition, self.attributes)
        if chosen is None or not same_for_rows(count.condition, self.attributes):
            return None
        sizes = [self.attributes[i].size for i in chosen]
        if int(np.prod(sizes, dtype=object)) > MOST_COUNTED_CELLS:
            return None
        mask = cells_where(count.condition, self.attributes, chosen).reshape(sizes)
        return CountingQuestion.about(self.domain, chosen, mask) if mask.any() else None

    def narrowed(self, step: Pay | Buy) -> "CachedTable":
        """The same, counted only by the attributes of a step."""
        query = replace(self.bounded.query, sets=(step.attributes,))
        return replace(self, bounded=replace(self.bounded, query=query))

    def measure(self, step: Pay | Buy, results: Results) -> tuple[Reading, ...]:
        """The table of the step's attributes, or the one count of its question, with noise."""
        table = self._table(step, results)
        if isinstance(step, Buy):
            return step.measure(table.reshape(step.shape))
        return step.measure(CountingQuestion(attributes=step.attributes, mask=step.mask).count(table))

    def _table(self, step: Pay | Buy, results: Results) -> NDArray[np.int64]:
        (table,) = Counted(self.domain, self.bounded, results)([Marginal.full(self.domain, step.attributes)])
        return table
