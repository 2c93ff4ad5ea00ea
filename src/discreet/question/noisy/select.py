"""SELECT, QUALIFY, ORDER BY and LIMIT of a query over noisy rows: expressions, windows, scalar subqueries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.model.expression import Expression, Field
from discreet.model.noisy_table import NoisyTable, NoisyWindow, SelectFrom, Sorting
from discreet.model.policy import ValueType
from discreet.question.expressions.convert import convert
from discreet.question.expressions.grouping import MOST_GROUPS
from discreet.question.expressions.scope import position_of
from discreet.question.noisy.functions import read_frame, read_window
from discreet.question.resolve import MOST_OUTPUTS, free_name, limit_of, offset_of

NodeMeaning = Callable[[exp.Expression], Expression | None]


@dataclass(slots=True)
class NoisySelect:
    """One query over noisy rows, while it is read."""

    select: exp.Select
    number: int
    """Of the table that it becomes."""
    below: NodeMeaning
    """What a node stands for in the rows: a column, a key, an aggregate."""
    is_column: Callable[[str], bool]
    """Whether a name is that of a column of the rows, and so no alias."""
    all_columns: Callable[[exp.Expression], Mapping[str, Expression]]
    """What * stands for."""
    scalar: Callable[[exp.Expression], Field]
    """Joins a subquery of one number to the rows."""
    names: list[str] = field(default_factory=list)
    found: list[Expression] = field(default_factory=list)
    windows: list[NoisyWindow] = field(default_factory=list)

    def read_columns(self) -> None:
        """All items of SELECT."""
        taken: set[str] = set()
        for item in self.select.expressions:
            if isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                for name, expression in self.all_columns(item).items():
                    self.names.append(free_name(exp.column(name), taken))
                    self.found.append(expression)
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            expression = self.expression(inner)
            self.names.append(free_name(item, taken))
            self.found.append(expression)
        if len(self.names) > MOST_OUTPUTS:
            raise QueryRefused(
                f"At most {MOST_OUTPUTS} columns can be asked for.", remedy="Ask in two questions."
            )

    def expression(self, node: exp.Expression) -> Expression:
        return convert(node, self._leaf)

    def condition(self, clause: exp.Expression | None, name: str) -> Expression | None:
        """The condition of HAVING or QUALIFY."""
        if clause is None:
            return None
        found = self.expression(clause.this)
        if found.type is not ValueType.BOOLEAN:
            raise QueryRefused(f"{name} needs a condition.", remedy="Compare something: count(*) > 100.")
        return found

    def finished(self, source: NoisyTable, where: Expression | None) -> SelectFrom:
        """The query over these rows, once everything that may join scalar subqueries was read."""
        limit, offset = limit_of(self.select), offset_of(self.select)
        most = source.most_rows if limit is None else min(source.most_rows, limit)
        return SelectFrom(
            number=self.number,
            source=source,
            where=where,
            windows=tuple(self.windows),
            qualify=self.qualify,
            named=tuple(
                (Field(name=f"t{self.number}_c{i}", type=each.type), each)
                for i, each in enumerate(self.found)
            ),
            distinct=self._is_distinct(),
            order=self.order,
            limit=limit,
            offset=min(offset, MOST_GROUPS),
            most_rows=most,
        )

    qualify: Expression | None = None
    order: tuple[Sorting, ...] = ()

    def read_rest(self) -> None:
        """QUALIFY and ORDER BY, which may name the columns."""
        self.qualify = self.condition(self.select.args.get("qualify"), "QUALIFY")
        order = self.select.args.get("order")
        self.order = tuple(self._sorting(item, by_name=True) for item in (order.expressions if order else ()))

    def _is_distinct(self) -> bool:
        distinct = self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise QueryRefused(
                "DISTINCT ON cannot be asked.",
                remedy="Write QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) = 1.",
            )
        return distinct is not None

    def _leaf(self, node: exp.Expression) -> Expression | None:
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.Subquery):
            return self.scalar(node)
        if isinstance(node, exp.Column) and not node.args.get("table") and not self.is_column(node.name):
            known = self._named(node.name)
            if known is not None:
                return known
        return self.below(node)

    def _named(self, name: str) -> Expression | None:
        for known, expression in zip(self.names, self.found, strict=True):
            if known.casefold() == name.casefold():
                return expression
        return None

    def _sorting(self, item: exp.Expression, *, by_name: bool) -> Sorting:
        node = item.this
        position = position_of(node) if by_name else 0
        plain = isinstance(node, exp.Column) and not node.args.get("table")
        known = self._named(node.name) if by_name and plain else None
        if 1 <= position <= len(self.found):
            expression = self.found[position - 1]
        else:
            expression = known if known is not None else self.expression(node)
        return Sorting(
            expression=expression,
            descending=bool(item.args.get("desc")),
            nulls_first=bool(item.args.get("nulls_first")),
        )

    # Windows

    def _window(self, node: exp.Window) -> Field:
        if any(found is not node for found in node.find_all(exp.Window)):
            raise QueryRefused(
                "A window cannot stand within another one.",
                remedy="Compute the inner one in a subquery: SELECT … FROM (SELECT … OVER (…) AS x …).",
            )
        base = self._base(node)
        condition: Expression | None = None
        function = node.this
        if isinstance(function, exp.Filter):
            condition = self.expression(function.expression.this)
            if condition.type is not ValueType.BOOLEAN:
                raise QueryRefused("FILTER needs a condition.", remedy="Compare something: n > 100.")
            function = function.this
        asked = read_window(function, self.expression)
        partition = node.args.get("partition_by") or (base.args.get("partition_by") if base else None) or ()
        order = node.args.get("order") or (base.args.get("order") if base else None)
        spec = node.args.get("spec") or (base.args.get("spec") if base else None)
        made = NoisyWindow(
            field=Field(name=f"t{self.number}_w{len(self.windows)}", type=asked.type),
            function=asked.function,
            arguments=asked.arguments,
            condition=condition,
            partition=tuple(self.expression(each) for each in partition),
            order=tuple(self._sorting(item, by_name=False) for item in (order.expressions if order else ())),
            frame=read_frame(spec),
        )
        for window in self.windows:
            if _what(window) == _what(made):
                return window.field
        self.windows.append(made)
        return made.field

    def _base(self, node: exp.Window) -> exp.Expression | None:
        """The window of the WINDOW clause that this one is of."""
        named = node.args.get("alias")
        if named is None:
            return None
        for window in self.select.args.get("windows") or ():
            if window.name.casefold() == named.name.casefold():
                found: exp.Expression = window
                return found
        raise QueryRefused(
            f"There is no window “{named.name[:60]}”.", remedy="Write WINDOW w AS (ORDER BY …), or OVER (…)."
        )


def _what(window: NoisyWindow) -> tuple[object, ...]:
    """All of a window but its name."""
    return (
        window.function,
        window.arguments,
        window.condition,
        window.partition,
        window.order,
        window.frame,
    )
