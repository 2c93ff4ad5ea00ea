"""Counting questions about the cached columns of a table: how they meet `online`, and how readings are kept.

Everything here follows from the policy, the questions and what was released. The exact counts of a reading
are of rows in which each person has the one weight that they have in the whole table (`counting`), so that
all readings are of the same table, and whatever is joined by least squares belongs together.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answers.encoding import decode_columns, encode_columns
from discreet.compile.bound import Bounded
from discreet.compile.exact import Results
from discreet.compile.functions import build_call
from discreet.compile.parse_sql import parse_sql
from discreet.compile.rows import resolve_rows
from discreet.compile.scope import PublicKeys
from discreet.model.expression import Expression, Field, Literal
from discreet.model.policy import Dataset, PrivateTable, ValueType
from discreet.model.query import Aggregate, Filter, Query, Relation, Scan
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.domain import MOST_VALUES, Domain, Marginal
from discreet.synth.online import Buy, Pay
from discreet.synth.question import MOST_CELLS, Question
from discreet.synth.readings import Pricing, Reading
from discreet.synth.release.attributes import Attribute, attributes_of, domain_of
from discreet.synth.release.counting import Counted, counting, table_sensitivity, unit_of
from discreet.synth.release.masks import cells_where, readable
from discreet.synth.release.table import select_of

_TRUE = Literal(value=True, type=ValueType.BOOLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A plain counting question: about which table, what the answer calls it, and which rows count."""

    table: str
    name: str
    condition: Expression


def plain_count(query: Query) -> Count | None:
    """SELECT count(*) FROM table WHERE …, and nothing else; None if it is anything else."""
    conditions: list[Expression] = []
    source: Relation = query.source
    while isinstance(source, Filter):
        conditions.append(source.predicate)
        source = source.source
    plain = len(query.measures) == len(query.outputs) == 1 and not query.keys and query.picks is None
    if not isinstance(source, Scan) or not plain or query.having is not None:
        return None
    (measure,), (output,) = query.measures, query.outputs
    if measure.aggregate is not Aggregate.COUNT or measure.argument is not None:
        return None
    if not isinstance(output.expression, Field) or output.expression.name != measure.name:
        return None
    if measure.condition is not None:
        conditions.append(measure.condition)
    whole = build_call("and", tuple(conditions)) if len(conditions) > 1 else (*conditions, _TRUE)[0]
    return Count(table=source.table.name, name=output.name, condition=whole)


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
        )

    def question(self, count: Count) -> Question | None:
        """What is counted, in cells; None if the cached columns cannot tell."""
        chosen = readable(count.condition, self.attributes)
        if chosen is None:
            return None
        sizes = [self.attributes[i].size for i in chosen]
        if int(np.prod(sizes, dtype=object)) > MOST_CELLS:
            return None
        mask = cells_where(count.condition, self.attributes, chosen).reshape(sizes)
        return Question.about(self.domain, chosen, mask) if mask.any() else None

    def narrowed(self, step: Pay | Buy) -> "CachedTable":
        """The same, counted only by the attributes of a step."""
        query = replace(self.bounded.query, sets=(step.attributes,))
        return replace(self, bounded=replace(self.bounded, query=query))

    def exact(self, step: Pay | Buy, results: Results) -> NDArray[np.int64]:
        """What meets noise: the table of the step's attributes, or the one count of its question."""
        (table,) = Counted(self.domain, self.bounded, results)([Marginal.full(self.domain, step.attributes)])
        if step.mask is None:
            return table
        return np.array([Question(attributes=step.attributes, mask=step.mask).count(table)])


def encode_reading(reading: Reading) -> bytes:
    """For the ledger."""
    noise = reading.noise
    gaussian = isinstance(noise, DiscreteGaussian)
    parameter = noise.sigma_squared if isinstance(noise, DiscreteGaussian) else noise.scale
    mask = np.zeros(0, dtype=np.bool_) if reading.mask is None else reading.mask
    facts = {
        "attributes": list(reading.attributes),
        "shape": None if reading.mask is None else list(reading.mask.shape),
        "law": "gaussian" if gaussian else "laplace",
        "parameter": str(parameter),
    }
    return encode_columns(facts, [reading.counts.astype(np.int64), mask.ravel()])


def decode_reading(data: bytes) -> Reading:
    facts, (counts, mask) = decode_columns(data)
    parameter = Fraction(facts["parameter"])
    shape = facts["shape"]
    return Reading(
        attributes=tuple(facts["attributes"]),
        mask=None if shape is None else np.asarray(mask, dtype=np.bool_).reshape(shape),
        noise=DiscreteGaussian(sigma_squared=parameter)
        if facts["law"] == "gaussian"
        else DiscreteLaplace(scale=parameter),
        counts=np.asarray(counts, dtype=np.int64),
    )
