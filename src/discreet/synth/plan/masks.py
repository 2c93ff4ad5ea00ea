"""Which cells of a table a condition holds in: what turns a counting question into a sum of cells.

The condition is computed by DuckDB on the declared values, by the very functions that compute it on rows. No
data is involved.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dialects.duckdb import DUCKDB
from discreet.functions.registry import emit
from discreet.model.expression import Call, Expression, Field, Literal, fields_of
from discreet.synth.plan.attributes import Attribute, ListedValues, Values

if TYPE_CHECKING:
    import duckdb


def readable(condition: Expression, attributes: Sequence[Attribute]) -> tuple[int, ...] | None:
    """The attributes that a condition reads, in order; None if it reads anything else, or bins."""
    listed = {
        attribute.column.name: i
        for i, attribute in enumerate(attributes)
        if isinstance(attribute.column, Field) and isinstance(attribute.values, ListedValues)
    }
    names = {field.name for field in fields_of(condition)}
    return tuple(sorted(listed[name] for name in names)) if names <= set(listed) else None


def same_for_rows(condition: Expression, attributes: Sequence[Attribute]) -> bool:
    """Whether it holds on a row exactly if it holds in the row's cell, also where a value is not declared.

    The cell of such a row is that of NULL. So a column with undeclared values may only be compared with
    declared ones, by = or IN, under nothing but AND and OR. Then it is false on the row and unknown in the
    cell, and AND and OR make nothing true of one that they do not make true of the other.
    """
    open_ended = {
        attribute.column.name: attribute.values.values
        for attribute in attributes
        if isinstance(attribute.column, Field)
        and isinstance(attribute.values, ListedValues)
        and attribute.key().expression != attribute.column
    }

    def same(part: Expression) -> bool:
        match part:
            case Call(function="and" | "or", arguments=arguments):
                return all(map(same, arguments))
            case Call(function="=" | "in", arguments=(Field(name=name), *compared)) if name in open_ended:
                return all(isinstance(each, Literal) and each.value in open_ended[name] for each in compared)
        return not any(field.name in open_ended for field in fields_of(part))

    return same(condition)


def cells_where(
    condition: Expression, attributes: Sequence[Attribute], chosen: Sequence[int]
) -> NDArray[np.bool_]:
    """For every cell of the table of the chosen attributes, whether the condition is true in it."""
    sizes = [attributes[i].size for i in chosen]
    cells = np.arange(np.prod(sizes, dtype=np.int64))
    codes = np.unravel_index(cells, sizes) if sizes else ()
    random = np.random.default_rng(0)  # nothing is drawn: values are listed
    columns = {"cell": cells} | {
        f"c{place}": _for_duckdb(attributes[i].drawn(code, random))
        for place, (i, code) in enumerate(zip(chosen, codes, strict=True))
    }
    names = {
        expression.name: f"c{place}"
        for place, i in enumerate(chosen)
        if isinstance(expression := attributes[i].column, Field)
    }
    truth = emit(condition, DUCKDB, names)
    with _database().cursor() as connection:
        connection.register("cells", columns)
        found = connection.sql(f"SELECT ({truth}) IS TRUE AS holds FROM cells")  # noqa: S608  our own tree
        holds: NDArray[np.bool_] = np.asarray(found.fetchnumpy()["holds"], dtype=np.bool_)
    return holds


def _for_duckdb(values: Values) -> Values:
    """Days as timestamps at midnight, which a condition reads as days again."""
    return values.astype("datetime64[us]") if values.dtype == np.dtype("datetime64[D]") else values


@cache
def _database() -> "duckdb.DuckDBPyConnection":
    """An empty database, kept because opening it takes longer than any query here."""
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "1GB"})
