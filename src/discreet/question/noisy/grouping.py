"""GROUP BY and aggregates over noisy rows."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.model.expression import Expression, Field
from discreet.model.noisy_table import Grouped, NamedColumn, NoisyAggregate, NoisyTable
from discreet.model.policy import ValueType
from discreet.question.expressions.convert import convert
from discreet.question.expressions.scope import position_of
from discreet.question.noisy.functions import read_aggregate


def checked_condition(found: Expression, clause: str) -> Expression:
    """Refuse what is no condition."""
    if found.type is not ValueType.BOOLEAN:
        raise QueryRefused(f"{clause} needs a condition.", remedy="Compare something: n > 100.")
    return found


@dataclass(slots=True)
class NoisyGrouping:
    """One query that puts noisy rows together, while it is read."""

    select: exp.Select
    number: int
    column: Callable[[exp.Expression], Expression | None]
    """What a node stands for in one row."""
    keys: list[NamedColumn] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    aggregates: list[NoisyAggregate] = field(default_factory=list)

    def read_keys(self) -> None:
        """The items of GROUP BY: columns, expressions, positions and aliases."""
        group = self.select.args.get("group")
        if group is None:
            return
        sets = (exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple)
        others = {name for name, value in group.args.items() if value} - {"expressions"}
        if others or any(isinstance(each, sets) for each in group.expressions):
            raise QueryRefused(
                "Noisy answers are grouped by columns and expressions alone.",
                remedy="Put ROLLUP or GROUPING SETS into the query that aggregates people.",
            )
        for node in group.expressions:
            chosen, name = self._selected(node)
            expression = self.row(chosen)
            if all(expression != known for _, known in self.keys):
                made = Field(name=f"t{self.number}_k{len(self.keys)}", type=expression.type)
                self.keys.append((made, expression))
                self.names.append(name.casefold())

    def row(self, node: exp.Expression) -> Expression:
        """What is computed from one row."""

        def leaf(inner: exp.Expression) -> Expression | None:
            if isinstance(inner, exp.AggFunc | exp.Window | exp.Filter):
                raise QueryRefused(
                    "An aggregate cannot stand within another one.",
                    remedy="Compute the inner one in a subquery.",
                )
            return self.column(inner)

        return convert(node, leaf)

    def is_key(self, name: str) -> bool:
        return name.casefold() in self.names

    def output(self, node: exp.Expression) -> Expression | None:
        """What a node stands for in one group: an aggregate, or a key."""
        condition: Expression | None = None
        inner = node
        if isinstance(node, exp.Filter):
            condition = checked_condition(self.row(node.expression.this), "FILTER")
            inner = node.this
        asked = read_aggregate(inner, self.row)
        if asked is not None:
            made = NoisyAggregate(
                field=Field(name=f"t{self.number}_a{len(self.aggregates)}", type=asked.type),
                function=asked.function,
                arguments=asked.arguments,
                condition=condition,
                distinct=asked.distinct,
            )
            self.aggregates.append(made)
            return made.field
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            return None
        if isinstance(node, exp.Column) and not node.args.get("table") and self.is_key(node.name):
            return self.keys[self.names.index(node.name.casefold())][0]
        return self._key(node)

    def finished(self, source: NoisyTable, where: Expression | None) -> Grouped:
        return Grouped(
            number=self.number,
            source=source,
            where=where,
            keys=tuple(self.keys),
            aggregates=tuple(self.aggregates),
            most_rows=source.most_rows if self.keys else 1,
        )

    def _key(self, node: exp.Expression) -> Field | None:
        if any(isinstance(each, exp.AggFunc | exp.Window | exp.Subquery) for each in node.walk()):
            return None
        try:
            expression = self.row(node)
        except QueryRefused:
            if isinstance(node, exp.Column):
                raise
            return None
        for key, known in self.keys:
            if known == expression:
                return key
        if isinstance(node, exp.Column):
            raise QueryRefused(
                f"“{node.name}” is neither grouped by nor aggregated.",
                remedy=f"Add GROUP BY {node.name}, or aggregate it: max({node.name}).",
            )
        return None

    def _selected(self, node: exp.Expression) -> tuple[exp.Expression, str]:
        """A GROUP BY item may be a position or an alias of the SELECT list."""
        items = self.select.expressions
        position = position_of(node)
        if 1 <= position <= len(items):
            node = items[position - 1]
        for item in items:
            named = isinstance(node, exp.Column) and not node.args.get("table")
            if isinstance(item, exp.Alias) and (
                item is node or item.this == node or (named and item.alias.casefold() == node.name.casefold())
            ):
                return item.this, item.alias
        return node, node.alias_or_name
