"""Stage 2 of a question with more than one query: leaves, and what is computed from their noisy answers.

Each leaf is resolved as a question of its own. All else becomes a tree of noisy tables, which is written anew
by `release.noisy.sql`: names are ours, functions are on the list, constants are encoded again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.registry import check_size
from discreet.functions.row_cost import check_row
from discreet.model.expression import Call, Expression, Field
from discreet.model.noisy_table import (
    AfterNoise,
    Joined,
    NoisyTable,
    expressions_in,
    tables_within,
)
from discreet.model.policy import Dataset
from discreet.model.query import Output, Query
from discreet.question.expressions.convert import convert
from discreet.question.expressions.grouping import group_by, is_name
from discreet.question.expressions.scope import PublicKeys, ReadFanOut, Scope, as_declared
from discreet.question.noisy.boundary import Boundary, Ctes, aggregates, rows_of
from discreet.question.noisy.grouping import NoisyGrouping, checked_condition
from discreet.question.noisy.joins import columns_of, joined
from discreet.question.noisy.leaves import Leaves
from discreet.question.noisy.select import NoisySelect
from discreet.question.noisy.size import check_noisy_size
from discreet.question.noisy.unions import NamedTable, sorted_union, stacked_tables
from discreet.question.relations.subqueries import check_alias, plain_from, unwrapped, with_queries
from discreet.question.resolve import Resolver, check_kept_rows, limit_of, resolve

_MOST_TABLES = 100


def read_question(
    parsed: exp.Select | exp.Union,
    dataset: Dataset,
    public_keys: PublicKeys,
    fan_out: ReadFanOut = as_declared,
    *,
    follows_keys: bool = True,
) -> Query | AfterNoise:
    """A question that is one leaf, as `resolve` reads it; or what is computed from leaves."""
    boundary = Boundary(dataset, public_keys, fan_out, follows_keys=follows_keys)
    if isinstance(parsed, exp.Select) and boundary.is_plain(parsed):
        return resolve(parsed, dataset, public_keys, fan_out, follows_keys=follows_keys)
    reader = _NoisyReader(boundary)
    if isinstance(parsed, exp.Select) and not boundary.is_above(parsed, {}) and not aggregates(parsed):
        return resolve(parsed, dataset, public_keys, fan_out)  # refuses, as rows are never shown
    found = reader.query(parsed, {})
    computed = [each for table in tables_within(found.table) for each in expressions_in(table)]
    check_size(*computed)
    check_row(computed)
    asked = AfterNoise(leaves=tuple(reader.leaves.found), table=found.table, names=found.names)
    check_noisy_size(asked)
    return asked


@dataclass(slots=True)
class _Scalars:
    """The subqueries of one number that a query uses: each is joined to all its rows."""

    found: list[tuple[int, NoisyTable]] = field(default_factory=list)

    def joined_to(self, table: NoisyTable) -> NoisyTable:
        for number, scalar in self.found:
            table = Joined(
                number=number, left=table, right=scalar, kind="left", on=None, most_rows=table.most_rows
            )
        return table


class _NoisyReader:
    """Reads noisy queries. All leaves that it meets are paid together, equal ones once."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        self.leaves = Leaves()
        self._tables = 0

    def query(self, node: exp.Expression, ctes: Ctes) -> NamedTable:
        """A query over noisy answers, or a leaf."""
        node = unwrapped(node)
        if isinstance(node, exp.Union):
            return self._union(node, ctes)
        if not isinstance(node, exp.Select):
            raise plain_from()
        if self._boundary.is_above(node, ctes):
            return self._select(node, with_queries(node, ctes))
        if not aggregates(node):
            raise QueryRefused(
                "A subquery beside noisy answers has no aggregate, and single rows are never shown.",
                remedy="Aggregate it: SELECT count(*) AS n FROM …",
            )
        return self._leaf(node, ctes)

    def _number(self) -> int:
        self._tables += 1
        if self._tables > _MOST_TABLES:
            raise QueryRefused(
                f"The question is made of more than {_MOST_TABLES} steps.",
                remedy="Ask a simpler one: a query of WITH counts as often as it is used.",
            )
        return self._tables - 1

    # Leaves

    def _leaf(self, node: exp.Select, ctes: Ctes) -> NamedTable:
        """A private question, and what is computed from its answer."""
        select = rows_of(node)
        relations = self._boundary.relations()
        source, scope = relations.read(select, ctes)
        scope.listing = self._boundary.listing
        keys, sets = group_by(select, scope)
        resolver = Resolver(select, source, scope, keys, sets, self._boundary.min_people)
        number, scalars, inside = self._number(), _Scalars(), with_queries(node, ctes)

        def below(inner: exp.Expression) -> Expression | None:
            found = resolver.output_leaf(inner)
            return None if found is None else _with_prefix(found, f"t{number}_")

        reading = NoisySelect(
            select=node,
            number=self._number(),
            below=below,
            is_column=lambda name: any(is_name(exp.column(name), key.name) for key in keys),
            all_columns=_no_star,
            scalar=lambda inner: self._scalar(inner, scalars, inside),
        )
        reading.read_columns()
        having = reading.condition(node.args.get("having"), "HAVING")
        picks = resolver.picks(limit_of(node)) if _may_pick(node, reading) else None
        if picks is None:
            reading.read_rest()
        resolver.count_people()
        query = Query(
            source=source,
            keys=keys,
            sets=sets,
            picks=picks,
            outputs=tuple(_plain_outputs(reading, number)),
            having=None,
            order=(),
            limit=None if picks is None else picks.count,
            measures=tuple(resolver.measures),
            min_people=resolver.min_people,
        )
        check_kept_rows(relations, query)
        made = reading.finished(scalars.joined_to(self.leaves.answer_of(query, number)), having)
        return NamedTable(replace(made, limit=None) if picks is not None else made, tuple(reading.names))

    # Queries over noisy answers

    def _select(self, node: exp.Select, ctes: Ctes) -> NamedTable:
        table, scope = self._from(node, ctes)
        scalars = _Scalars()

        def column(inner: exp.Expression) -> Expression | None:
            if isinstance(inner, exp.Column):
                return scope.expression(inner)
            if isinstance(inner, exp.Subquery):
                return self._scalar(inner, scalars, ctes)
            return None

        def in_where(inner: exp.Expression) -> Expression | None:
            if isinstance(inner, exp.AggFunc | exp.Window):
                raise QueryRefused(
                    "An aggregate cannot stand where rows are chosen.", remedy="Use HAVING or QUALIFY."
                )
            return column(inner)

        where = node.args.get("where")
        condition = None if where is None else checked_condition(convert(where.this, in_where), "WHERE")
        if aggregates(node):
            grouping = NoisyGrouping(node, self._number(), column)
            return self._grouped(grouping, lambda: scalars.joined_to(table), condition, ctes)
        if node.args.get("having"):
            raise QueryRefused("HAVING needs GROUP BY.", remedy="Use WHERE.")
        reading = NoisySelect(
            select=node,
            number=self._number(),
            below=column,
            is_column=lambda name: any(name.casefold() in each.unqualified for each in scope.sources),
            all_columns=lambda item: columns_of(item, scope),
            scalar=lambda inner: self._scalar(inner, scalars, ctes),
        )
        reading.read_columns()
        reading.read_rest()
        return NamedTable(reading.finished(scalars.joined_to(table), condition), tuple(reading.names))

    def _grouped(
        self,
        grouping: NoisyGrouping,
        rows: Callable[[], NoisyTable],
        where: Expression | None,
        ctes: Ctes,
    ) -> NamedTable:
        scalars = _Scalars()
        grouping.read_keys()
        reading = NoisySelect(
            select=grouping.select,
            number=self._number(),
            below=grouping.output,
            is_column=grouping.is_key,
            all_columns=_no_star,
            scalar=lambda inner: self._scalar(inner, scalars, ctes),
        )
        reading.read_columns()
        having = reading.condition(grouping.select.args.get("having"), "HAVING")
        reading.read_rest()
        grouped = grouping.finished(rows(), where)
        return NamedTable(reading.finished(scalars.joined_to(grouped), having), tuple(reading.names))

    def _from(self, node: exp.Select, ctes: Ctes) -> tuple[NoisyTable, Scope]:
        first = node.args["from_"]
        table, scope = self._item(first.this, ctes)
        for place, join in enumerate(node.args.get("joins") or (), 2):
            right, other = self._item(join.this, ctes, f"subquery {place}")
            table, scope = joined(join, (table, scope), (right, other), self._number())
        return table, scope

    def _item(self, node: exp.Expression, ctes: Ctes, unnamed: str = "subquery") -> tuple[NoisyTable, Scope]:
        if {name for name, value in node.args.items() if value} - {"this", "alias"}:
            raise plain_from()
        check_alias(node)
        if isinstance(node, exp.Subquery):
            found, name = self.query(node.this, ctes), node.alias or unnamed
        else:
            known = ctes[node.name.casefold()]
            found, name = self.query(known.query, known.before), node.alias_or_name
        columns = dict(zip(found.names, found.table.columns, strict=True))
        return found.table, Scope().named(name, columns)

    def _union(self, node: exp.Union, ctes: Ctes) -> NamedTable:
        """UNION ALL, or UNION, of noisy answers: columns are matched by position."""
        if not self._boundary.is_noisy(node, ctes):
            raise QueryRefused(
                "No side of this UNION has an aggregate, and single rows are never shown.",
                remedy="Aggregate both sides: SELECT 'visits' AS what, count(*) AS n FROM …",
            )
        ctes = with_queries(node, ctes)
        left, right = (self.query(side, ctes) for side in (node.this, node.expression))
        stacked = stacked_tables(node, left, right, self._number())
        return NamedTable(sorted_union(node, stacked, left.names, self._number), left.names)

    def _scalar(self, node: exp.Expression, scalars: _Scalars, ctes: Ctes) -> Field:
        """A subquery that is one number: it is joined to all rows."""
        if not self._boundary.is_noisy(node.this, ctes):
            raise QueryRefused(
                "A subquery among noisy values has no aggregate, or keeps people apart.",
                remedy="Write a subquery of one number: (SELECT avg(cost) FROM …).",
            )
        found = self.query(node.this, ctes)
        if len(found.names) != 1 or found.table.most_rows > 1:
            raise QueryRefused(
                "A subquery among noisy values may be more than one number.",
                remedy="Leave out GROUP BY and further columns, or join it: JOIN (SELECT …) USING (…).",
            )
        scalars.found.append((self._number(), found.table))
        return found.table.columns[0]


def _may_pick(node: exp.Select, reading: NoisySelect) -> bool:
    """Whether a leaf may be a private selection: nothing else looks at its noisy values."""
    others = any(node.args.get(clause) for clause in ("having", "qualify", "distinct", "offset"))
    return not others and not reading.windows


def _no_star(_: exp.Expression) -> dict[str, Expression]:
    raise QueryRefused(
        "Rows are never shown, so * stands for nothing.",
        remedy="Ask for aggregates: count(*), sum(…), avg(…).",
    )


def _plain_outputs(reading: NoisySelect, number: int) -> Iterator[Output]:
    """The columns that are keys or measures of the leaf, for what is said of them beforehand."""
    prefix = f"t{number}_"
    for name, expression in zip(reading.names, reading.found, strict=True):
        if isinstance(expression, Field) and expression.name.startswith(prefix):
            own = replace(expression, name=expression.name.removeprefix(prefix))
            yield Output(name=name, expression=own)


def _with_prefix(expression: Expression, prefix: str) -> Expression:
    """The keys and measures of a leaf by the names that they have in this table."""
    match expression:
        case Field():
            return replace(expression, name=prefix + expression.name)
        case Call():
            arguments = tuple(_with_prefix(each, prefix) for each in expression.arguments)
            return Call(function=expression.function, arguments=arguments, type=expression.type)
    return expression
