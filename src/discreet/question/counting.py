"""Plain counting questions, which can be answered from a table of counts."""

from dataclasses import dataclass

from discreet.functions.registry import build_call
from discreet.model.expression import Expression, Field, Literal
from discreet.model.policy import ValueType
from discreet.model.query import Aggregate, Filter, Query, Relation, Scan

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
