"""Different values: of a person who has too many, the first ones in the order of a hash.

Which ones count has to follow from the person's own rows alone. So the hash is of the person's id. Where each
row is another person there is no id, and the number of a row would not do: it follows from the rows before
it, so that one person more would change which values of all others count. There, the hash is of all that the
question reads of the row. Rows that hold the same are numbered among themselves: one more of them changes
nothing for the others.
"""

from collections.abc import Sequence
from dataclasses import replace

from discreet.aggregates.vectors import DistinctCount
from discreet.bounds.relation_tree import expressions_of
from discreet.dialects.dialect import Dialect
from discreet.functions.registry import emit
from discreet.model.expression import Expression, Field, fields_of, owners
from discreet.model.policy import ValueType
from discreet.model.query import FewRows, Filter, Lookup, Relation, Scan
from discreet.sql.row_columns import EmittedColumn
from discreet.sql.weights import group_by


def own_fields(source: Relation, used: Sequence[Expression]) -> list[Field]:
    """What is read of a row that is a person, as it is in the table; nothing where rows have ids."""
    scan = source
    while isinstance(scan, Filter | Lookup | FewRows):
        scan = scan.source
    if source.has_ids or not isinstance(scan, Scan):
        return []
    read = {field.name: field for each in (*used, *expressions_of(source)) for field in fields_of(each)}
    own = [read[name] for name in sorted(read) if owners(read[name]) == {scan.alias}]
    return [replace(field, range=None, days=None) for field in own]


def own_columns(fields: Sequence[Field], dialect: Dialect) -> list[EmittedColumn]:
    """As texts, which differ wherever values do."""
    kind = dialect.types[ValueType.TEXT]
    return [(f"o{i}", f"CAST({emit(field, dialect)} AS {kind})", f"o{i}") for i, field in enumerate(fields)]


def distinct_sql(
    rows: str, part: DistinctCount, index: int, keys: Sequence[str], own: Sequence[str], dialect: Dialect
) -> str:
    """How many different values each group has. The rows have p, the keys, v, and the columns `own`."""
    names = [*keys, "v"]
    wanted = names if part.one_row else ["p", *names, *own]
    source = f"SELECT DISTINCT {', '.join(wanted)} FROM ({rows}) AS rows WHERE v IS NOT NULL"
    if not part.one_row:
        person = ["p"]
        if own:
            same = f"dense_rank() OVER (PARTITION BY {', '.join(own)} ORDER BY p) AS number"
            source, person = f"SELECT *, {same} FROM ({source}) AS own", [*own, "number"]
        kind = dialect.types[ValueType.TEXT]
        text = " || ' ' || ".join(f"coalesce(CAST({name} AS {kind}), '')" for name in [*person, *names])
        order = f"row_number() OVER (PARTITION BY p ORDER BY md5({text}), {', '.join(names)})"
        source = f"SELECT *, {order} AS place FROM ({source}) AS pairs"
    kept = "" if part.one_row else f" WHERE place <= {part.values}"
    select = ", ".join([*keys, f"count(DISTINCT v) AS s{index}"])
    return f"SELECT {select} FROM ({source}) AS kept{kept}{group_by(keys)}"
