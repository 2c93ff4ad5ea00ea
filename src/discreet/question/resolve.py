"""Stage 2: names, types, and who the person is: from sqlglot's tree to our own. The rest is refused."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.aggregates.aggregate import AskedMeasure
from discreet.aggregates.people import PEOPLE
from discreet.aggregates.registry import AGGREGATES, READERS
from discreet.bounds.work_limits import check_question
from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, build_literal, range_of
from discreet.model.expression import Expression, Field, fields_of
from discreet.model.policy import Dataset, ValueType
from discreet.model.query import (
    GroupingSets,
    GroupKey,
    Measure,
    Order,
    Output,
    Picks,
    Query,
    Relation,
    key_field,
)
from discreet.question.answer_size import check_answer_size
from discreet.question.expressions.convert import convert
from discreet.question.expressions.grouping import MOST_GROUPS, group_by, in_units, is_name
from discreet.question.expressions.scope import (
    PublicKeys,
    ReadFanOut,
    Scope,
    as_declared,
    position_of,
    predicate,
    row_expression,
)
from discreet.question.mistakes.instead import instead_of_aggregate, plain_sql, typed_name
from discreet.question.relations.from_clause import Relations
from discreet.question.relations.public_first import check_rows_of_nobody

MOST_OUTPUTS = 200


def resolve(
    select: exp.Select,
    dataset: Dataset,
    public_keys: PublicKeys,
    fan_out: ReadFanOut = as_declared,
    *,
    follows_keys: bool = True,
) -> Query:
    """The question in our own tree; `public_keys` lists the values of columns of public tables, and `fan_out`
    counts how many of their rows share a value; by default, as many as declared. `follows_keys` is as for
    `Relations`.
    """
    if len(select.expressions) > MOST_OUTPUTS:
        raise QueryRefused(
            f"At most {MOST_OUTPUTS} columns can be asked for.", remedy="Ask in two questions."
        )
    relations = Relations(dataset, public_keys, fan_out, follows_keys=follows_keys)
    source, scope = relations.read(select, {})
    keys, sets = group_by(select, scope)
    query = Resolver(select, source, scope, keys, sets, dataset.min_people).query()
    check_kept_rows(relations, query)
    return query


def check_kept_rows(relations: Relations, query: Query) -> None:
    """Refuse what would count rows of public tables that nobody matches."""
    for kept in relations.with_rows_of_nobody:
        check_rows_of_nobody(query, kept, frozenset(relations.public))


@dataclass(slots=True)
class Resolver:
    """Reads what a question asks of the groups of a relation."""

    select: exp.Select
    source: Relation
    scope: Scope
    keys: tuple[GroupKey, ...]
    sets: GroupingSets
    min_people: int = 0
    measures: list[Measure] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    _measured: dict[tuple[object, ...], Field] = field(default_factory=dict)
    """The measures so far, by what they are: there may be many."""

    def query(self) -> Query:
        self._read_outputs()
        having = self.select.args.get("having")
        limit = limit_of(self.select)
        picks = None if having is not None else self.picks(limit)
        condition = None if having is None else self._condition(having.this)
        order = () if picks is not None else tuple(self._order())
        self.count_people()
        query = Query(
            source=self.source,
            keys=self.keys,
            sets=self.sets,
            picks=picks,
            outputs=tuple(self.outputs),
            having=condition,
            order=order,
            limit=limit,
            measures=tuple(self.measures),
            min_people=self.min_people,
        )
        check_question(query)
        check_answer_size(query)
        if not query.measures and picks is None and not query.private_keys:
            raise QueryRefused(
                "The question asks for no aggregate, and single rows are never shown.",
                remedy="Ask for count(*), sum(…) or avg(…), with GROUP BY for each group.",
            )
        return query

    # SELECT, HAVING, ORDER BY: over keys and measures only

    def _read_outputs(self) -> None:
        taken: set[str] = set()
        for item in self.select.expressions:
            if isinstance(item, exp.Star):
                raise QueryRefused(
                    "Rows are never shown, so * stands for nothing.",
                    remedy="Ask for aggregates: count(*), sum(…), avg(…).",
                )
            inner = item.this if isinstance(item, exp.Alias) else item
            name = free_name(item, taken)
            self.outputs.append(Output(name=name, expression=self._output(inner)))

    def _condition(self, node: exp.Expression) -> Expression:
        condition = self._output(node)
        if condition.type is not ValueType.BOOLEAN:
            raise QueryRefused("HAVING needs a condition.", remedy="Compare something: count(*) > 100.")
        return condition

    def _output(self, node: exp.Expression) -> Expression:
        return convert(node, self.output_leaf)

    def output_leaf(self, node: exp.Expression) -> Expression | None:
        """What a node stands for, if it is a key, a measure or an output."""
        measure = self._measure(node)
        if measure is not None:
            return measure
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            return None
        for i, key in enumerate(self.keys):
            if is_name(node, key.name):
                return _shown(i, key)
        for output in self.outputs:
            if is_name(node, output.name):
                return output.expression
        try:
            expression = row_expression(node, self.scope)
        except QueryRefused:
            if isinstance(node, exp.Column):
                raise
            return None
        either = expression, self.scope.clamped(expression)
        for i, key in enumerate(self.keys):
            same = in_units(expression, key.per_one) if key.per_one else None
            if key.expression in either or key.expression == same:
                return _shown(i, key)
        if isinstance(node, exp.Column):
            raise QueryRefused(
                f"“{node.name}” is neither grouped by nor aggregated.",
                remedy=f"Single people are never shown; count them: count(DISTINCT {node.name})."
                if self.scope.is_person(expression)
                else f"Add GROUP BY {node.name}, or aggregate it: count({node.name}).",
            )
        return None

    # Aggregates

    def _measure(self, node: exp.Expression) -> Expression | None:
        condition: Expression | None = None
        if isinstance(node, exp.Filter):
            condition = predicate(node.expression.this, self.scope, "FILTER")
            node = node.this
        definition = READERS.get(type(node))
        if definition is None:
            if isinstance(node, exp.AggFunc | exp.IgnoreNulls):
                raise QueryRefused(
                    f"{typed_name(node)} has no private version here.", remedy=instead_of_aggregate(node)
                )
            return None
        asked = definition.read(node, _ResolvedArguments(self.scope))
        measured = self._add(asked, condition)
        if asked.squared:
            return build_call("*", (measured, measured))
        return measured if asked.function is None else build_call(asked.function, (measured,))

    def _add(self, asked: AskedMeasure, condition: Expression | None) -> Field:
        made = Measure(
            name=f"m{len(self.measures)}",
            aggregate=asked.aggregate,
            argument=asked.argument,
            condition=condition,
            share=asked.share,
            second=asked.second,
        )
        found = self._measured.setdefault(what_of(made), Field(name=made.name, type=ValueType.NUMBER))
        if found.name == made.name:
            self.measures.append(made)
        return found

    def count_people(self) -> None:
        """Also count the people behind each number, if too few of them are not shown."""
        if self.min_people:
            for measure in tuple(self.measures):
                self._add(PEOPLE, measure.condition)

    # ORDER BY and LIMIT

    def picks(self, limit: int | None) -> Picks | None:
        """SELECT key … ORDER BY count(*) DESC LIMIT k, without the count itself: only which ones."""
        order = self.select.args.get("order")
        items = order.expressions if order is not None else []
        public = self.keys and len(self.sets) == 1 and all(key.values is not None for key in self.keys)
        if self.measures or limit is None or len(items) != 1 or not public or limit < 1:
            return None
        plain = isinstance(self._output(items[0].this), Field)
        found = list(self.measures)
        self.measures.clear()
        self._measured.clear()
        if not plain or len(found) != 1 or found[0].argument is not None:
            return None
        (measure,) = found
        if AGGREGATES[measure.aggregate].counts is None:
            return None
        return Picks(
            count=limit,
            aggregate=measure.aggregate,
            condition=measure.condition,
            largest=bool(items[0].args.get("desc")),
        )

    def _order(self) -> Iterable[Order]:
        order = self.select.args.get("order")
        for item in order.expressions if order is not None else ():
            node = item.this
            position = position_of(node)
            known = 1 <= position <= len(self.outputs)
            expression = self.outputs[position - 1].expression if known else self._output(node)
            if not known and not fields_of(expression):
                raise QueryRefused(
                    "ORDER BY has a constant, which orders nothing.",
                    remedy=f"Name a column, or its position from 1 to {len(self.outputs)}.",
                )
            yield Order(expression=expression, descending=bool(item.args.get("desc")))


def free_name(item: exp.Expression, taken: set[str]) -> str:
    """What a column is called: by its alias, its own name, or its text; and as no other one."""
    named = isinstance(item, exp.Alias | exp.Column)
    inner = item.this if isinstance(item, exp.Alias) else item
    name = item.alias_or_name if named else plain_sql(inner).lower()
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def limit_of(select: exp.Expression) -> int | None:
    """The number of LIMIT; None if there is none."""
    return _whole_number(select.args.get("limit"), "LIMIT")


def offset_of(select: exp.Expression) -> int:
    """The number of OFFSET."""
    return _whole_number(select.args.get("offset"), "OFFSET") or 0


def _whole_number(clause: exp.Expression | None, name: str) -> int | None:
    if clause is None:
        return None
    node = clause.expression
    plain = {part for part, value in clause.args.items() if value} == {"expression"}
    if not plain or not isinstance(node, exp.Literal) or node.is_string or not node.this.isdigit():
        raise QueryRefused(f"{name} needs a whole number.", remedy=f"Write {name} 10.")
    return min(int(node.this), MOST_GROUPS) if len(node.this) <= 9 else MOST_GROUPS


def what_of(measure: Measure) -> tuple[object, ...]:
    """All of a measure but its name."""
    return measure.aggregate, measure.argument, measure.condition, measure.share, measure.second


@dataclass(frozen=True, slots=True)
class _ResolvedArguments:
    """Resolves the arguments of an aggregate, by the names of one question."""

    scope: Scope

    def expression(self, node: exp.Expression) -> Expression:
        return row_expression(node, self.scope)

    def number(self, node: exp.Expression, function: str, *, conditions: bool = False) -> Expression:
        argument = row_expression(node, self.scope)
        if conditions and argument.type is ValueType.BOOLEAN:
            argument = build_call("cast_integer", (argument,))
        if not argument.type.numeric:
            raise QueryRefused(
                f"{function.upper()} needs a number, not {argument.type.value}.",
                remedy="Use a numeric column, or CASE WHEN … THEN 1 ELSE 0 END.",
            )
        return argument if range_of(argument) is not None else self.scope.clamped(argument)

    def is_person(self, expression: Expression) -> bool:
        return self.scope.is_person(expression)


def _shown(position: int, key: GroupKey) -> Expression:
    """A key as it is shown: a whole number of units is the number again."""
    found = Field(name=key_field(position), type=key.expression.type)
    return build_call("/", (found, build_literal(key.per_one))) if key.per_one else found
