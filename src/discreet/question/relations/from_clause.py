"""FROM, JOIN, WITH and UNION ALL: from sqlglot's tree to a relation whose rows each belong to one person.

A private table joins a public one on anything equal, and another private one only on the person: so a row of
the result never holds two people. A subquery either picks and computes columns of rows, or computes values of
each person.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from discreet.bounds.relation_tree import columns_of
from discreet.bounds.work_limits import (
    MOST_JOINS,
    check_looked_up,
    check_matches,
    check_rows_of_a_person,
)
from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, build_literal, check_size
from discreet.model.expression import Expression, Field
from discreet.model.policy import Dataset, PersonColumn, PublicTable
from discreet.model.query import Filter, Lookup, Pair, Relation, Scan
from discreet.question.expressions.scope import (
    PublicKeys,
    ReadFanOut,
    Scope,
    conjuncts,
    nearest,
    predicate,
)
from discreet.question.mistakes.compared_keys import DeclaredKeys
from discreet.question.relations.columns import field_of, owner_keys, projected, refuse_windows
from discreet.question.relations.follow_keys import private_join
from discreet.question.relations.join_conditions import (
    WhatJoins,
    equal_pairs,
    is_natural,
    join_conditions,
    met_before,
    met_by_people,
    no_condition,
    shared_columns,
    side_of,
    together,
)
from discreet.question.relations.per_person import per_person
from discreet.question.relations.person_conditions import joined, person_conditions
from discreet.question.relations.public_conditions import semi_join
from discreet.question.relations.subqueries import (
    MOST_SOURCES,
    Cte,
    check_alias,
    plain_from,
    unwrapped,
    with_queries,
)
from discreet.question.relations.unions import united
from discreet.question.spelling.allowed_clauses import check_clauses


@dataclass(frozen=True, slots=True)
class Public:
    """A public table in FROM, which still has to meet a private one."""

    table: PublicTable
    alias: str


class Relations:
    """Reads the FROM of one question; every table that it uses gets an alias of its own."""

    def __init__(
        self, dataset: Dataset, public_keys: PublicKeys, fan_out: ReadFanOut, *, follows_keys: bool = True
    ) -> None:
        """Without `follows_keys`, as older versions did: joins along a key are as others on the person."""
        self._dataset, self._follows_keys = dataset, follows_keys
        self._public_keys, self._fan_out = public_keys, fan_out
        self._aliases = self._joins = 0
        self._looked_up: list[Expression] = []
        """What public tables are joined on, in all joins so far."""
        self.with_rows_of_nobody: list[str] = []
        """The aliases of public tables whose rows are to be kept although nobody matches them."""
        self.public: set[str] = set()
        """The aliases of all public tables."""

    def read(self, select: exp.Select, ctes: Mapping[str, Cte]) -> tuple[Relation, Scope]:
        """The rows of a SELECT before it groups them, and what can be named in it."""
        check_clauses(select)
        left, scope, conditions = self.rows(select, ctes)
        where = select.args.get("where")
        found = person_conditions(select, conditions)
        if found:
            left = joined(left, scope, found, self, with_queries(select, ctes))
        met = [node for node, must_be_true in found if must_be_true]
        rest = [each for each in conditions if not any(each is node for node in met)]
        whole = (
            where.this if where is not None and len(rest) == len(conjuncts(where.this)) else together(rest)
        )
        if whole is not None:
            left = Filter(source=left, predicate=predicate(whole, scope, "WHERE"))
        return left, scope

    def rows(
        self, select: exp.Select, ctes: Mapping[str, Cte]
    ) -> tuple[Relation, Scope, list[exp.Expression]]:
        """All rows of FROM, and the conditions of WHERE that are still to be met."""
        ctes = with_queries(select, ctes)
        first = select.args.get("from_")
        if first is None:
            raise QueryRefused(
                "A question is about a table of the policy.", remedy="Write SELECT … FROM TABLE."
            )
        where = select.args.get("where")
        conditions = conjuncts(where.this) if where is not None else []
        left, scope, used = self._joined(first.this, select.args.get("joins") or (), conditions, ctes)
        if isinstance(left, Public):
            raise QueryRefused(
                f"“{left.table.name}” is a public table: there is nothing to protect.",
                remedy="Look at it directly, and ask about a table with people.",
            )
        return left, scope, [each for each in conditions if each not in used]

    def _item(self, node: exp.Expression | None, ctes: Mapping[str, Cte]) -> tuple[Relation | Public, Scope]:
        """One table or subquery of FROM."""
        if isinstance(node, exp.Subquery):
            if {name for name, value in node.args.items() if value} - {"this", "alias"}:
                raise plain_from()
            check_alias(node)
            return self.derived(node.this, node.alias or "subquery", ctes)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise plain_from()
        if {name for name, value in node.args.items() if value} - {"this", "alias"}:
            raise QueryRefused("A table is named by its name alone.", remedy="Write FROM TABLE.")
        check_alias(node)
        known = ctes.get(node.name.casefold())
        if known is not None:
            return self.derived(known.query, node.alias_or_name, known.before)
        table = nearest(node.name, self._dataset.tables, "table")
        alias = self.new_alias()
        fields = {column.name: field_of(alias, column, table) for column in table.columns.values()}
        scope = Scope().named(node.alias_or_name, fields)
        if isinstance(table, PublicTable):
            for name, field in fields.items():
                scope.keys[field.name] = partial(self._public_keys, table.name, name)
            self.public.add(alias)
            return Public(table, alias), scope
        if isinstance(table.person, PersonColumn):
            scope.persons.add(f"{alias}.{table.person.name}")
        if table.through is not None:  # its name means the column of the table that has it
            scope.sources[0] = replace(scope.sources[0], merged=frozenset({table.through.person}))
            if table.through.other == table.through.person:  # its key is the person
                scope.persons.add(f"{alias}.{table.through.key}")
        scope.owner_keys |= owner_keys(table, alias, self._dataset)
        for column in table.columns.values():
            if column.keys is not None:
                scope.keys[f"{alias}.{column.name}"] = partial(tuple, column.keys)
                scope.declared[f"{alias}.{column.name}"] = DeclaredKeys(column.keys)
        return Scan(table=table, alias=alias), scope

    def new_alias(self) -> str:
        self._aliases += 1
        if self._aliases > MOST_SOURCES:
            raise QueryRefused(
                f"The question uses more than {MOST_SOURCES} tables.", remedy="Ask a simpler one."
            )
        return f"t{self._aliases - 1}"

    # Joins

    def _joined(
        self,
        first: exp.Expression,
        joins: Iterable[exp.Join],
        conditions: list[exp.Expression],
        ctes: Mapping[str, Cte],
    ) -> tuple[Relation | Public, Scope, list[exp.Expression]]:
        """All of FROM, and the conditions of WHERE that say what tables after commas are joined on."""
        left, scope = self._item(first, ctes)
        waiting: list[tuple[Relation | Public, Scope]] = []
        used: list[exp.Expression] = []
        for join in joins:
            side = side_of(join)
            right, other = self._item(join.this, ctes)
            told = join.args.get("on") or join.args.get("using") or is_natural(join)
            if not told and not side:
                waiting.append((right, other))
            else:
                left, scope = self._after_commas(left, scope, waiting, conditions, used)
                using = shared_columns(scope, other) if is_natural(join) else join.args.get("using") or ()
                merged = [identifier.name for identifier in using]
                if side == "RIGHT":
                    left, right, scope, other = right, left, other, scope
                both = scope.joined(other, merged)
                found = join_conditions(join, using, scope, other, both)
                left = self._join(left, right, scope, other, both, found, outer=bool(side))
                scope = both
        left, scope = self._after_commas(left, scope, waiting, conditions, used)
        return left, scope, used

    def _after_commas(
        self,
        left: Relation | Public,
        scope: Scope,
        waiting: list[tuple[Relation | Public, Scope]],
        conditions: list[exp.Expression],
        used: list[exp.Expression],
    ) -> tuple[Relation | Public, Scope]:
        """FROM a, b WHERE a.x = b.x is FROM a JOIN b ON a.x = b.x, in an order in which that works."""
        told = WhatJoins([each for each in conditions if each not in used], [scope, *(s for _, s in waiting)])
        while waiting:
            for right, other in waiting:
                found = told.take(other)
                if found:
                    both = scope.joined(other)
                    meant = [predicate(each, both, "WHERE") for each in found]
                    left, scope = self._join(left, right, scope, other, both, meant, outer=False), both
                    used += found
                    waiting.remove((right, other))
                    break
            else:
                raise no_condition()
        return left, scope

    def _join(
        self,
        left: Relation | Public,
        right: Relation | Public,
        scope: Scope,
        other: Scope,
        both: Scope,
        conditions: list[Expression],
        *,
        outer: bool,
    ) -> Relation:
        """Both sides, on these conditions."""
        self.count_join()
        pairs, rest = equal_pairs(conditions, scope, other)
        if isinstance(left, Public) and not isinstance(right, Public):
            if outer:
                self.with_rows_of_nobody.append(left.alias)
                right, rest = met_by_people(right, rest, left.alias)
            left, right, outer = right, left, False
            pairs = [(second, first) for first, second in pairs]
        if isinstance(left, Public):
            raise QueryRefused(
                "The first table of a join must be one about people.",
                remedy="Write FROM the private table JOIN the public one.",
            )
        if outer and rest:
            right, rest = met_before(None if isinstance(right, Public) else right, rest), []
        if isinstance(right, Public):
            relation: Relation = self._lookup(left, right, pairs, both, outer=outer)
        else:
            relation = private_join(left, right, pairs, both, outer=outer, follows=self._follows_keys)
            if outer:  # without a match the right side's id is NULL, but the row still belongs to a person
                both.persons -= other.persons
        check_rows_of_a_person(relation)
        for condition in rest:
            relation = Filter(source=relation, predicate=condition)
        return relation

    def count_join(self) -> None:
        self._joins += 1
        if self._joins > MOST_JOINS:
            raise QueryRefused(
                f"The question has more than {MOST_JOINS} joins.", remedy="Ask it in several questions."
            )

    def _lookup(
        self, left: Relation, right: Public, pairs: list[Pair], scope: Scope, *, outer: bool
    ) -> Relation:
        if not pairs:
            raise QueryRefused(
                f"“{right.table.name}” is joined without saying on what.",
                remedy="Write JOIN … ON a.x = b.x.",
            )
        if not outer:  # what equals a public column has only its values
            for private, public in pairs:
                if isinstance(private, Field) and isinstance(public, Field) and public.name in scope.keys:
                    scope.keys.setdefault(private.name, scope.keys[public.name])
        shared = tuple(public for _, public in pairs)
        self._looked_up += shared
        check_size(*self._looked_up)
        check_looked_up(self._looked_up)
        fan_out = self._fan_out(right.table, shared)
        matches = max(1, fan_out.matches)
        check_matches(right.table, shared, matches)
        return Lookup(
            source=left,
            table=right.table,
            alias=right.alias,
            pairs=tuple(pairs),
            matches=matches,
            keep_unmatched=outer,
            table_rows=fan_out.rows,
        )

    def in_public_table(
        self,
        relation: Relation,
        node: exp.In | exp.Exists,
        scope: Scope,
        ctes: Mapping[str, Cte],
        *,
        keep_unmatched: bool,
    ) -> tuple[Relation, Expression] | None:
        """x IN (SELECT y FROM public WHERE …), or EXISTS: each row with the one that it meets."""
        query = node.args["query"] if isinstance(node, exp.In) else node.this
        select = query.this if isinstance(query, exp.Subquery) else query
        found = self._one_public_table(select, ctes)
        if found is None:
            return None
        right, other, conditions = found
        pairs, rest = semi_join(node, select, scope, other, conditions)
        self.count_join()
        both = Scope(keys=scope.keys | other.keys)
        matched = self._lookup(relation, right, pairs, both, outer=keep_unmatched)
        if isinstance(matched, Lookup) and matched.matches > 1:
            same = columns_of(each for _, each in pairs)
            raise QueryRefused(
                f"Several rows of “{right.table.name}” have the same {same}.",
                remedy="Use a public table with one row for each, or list the values: x IN (1, 2, 3).",
            )
        check_rows_of_a_person(matched)
        met = build_call("is_not_null", (pairs[0][1],))
        met = build_call("and", (met, *rest)) if rest else met
        meaning = build_call("coalesce", (met, build_literal(False)))
        if isinstance(node, exp.In):
            meaning = build_call("case", (build_call("is_not_null", (pairs[0][0],)), meaning))
        return matched, meaning

    def _one_public_table(
        self, select: exp.Expression, ctes: Mapping[str, Cte]
    ) -> tuple[Public, Scope, list[exp.Expression]] | None:
        """Of a subquery over a public table alone."""
        if not isinstance(select, exp.Select) or select.args.get("from_") is None:
            return None
        node = select.args["from_"].this
        if not isinstance(node, exp.Table) or node.name.casefold() in with_queries(select, ctes):
            return None
        named = {name.casefold(): table for name, table in self._dataset.tables.items()}
        if not isinstance(named.get(node.name.casefold()), PublicTable):
            return None
        if {name for name, value in select.args.items() if value} - {"expressions", "from_", "where"}:
            raise QueryRefused(
                "A subquery over a public table in a condition only chooses rows.",
                remedy="Write x IN (SELECT y FROM public WHERE …), or JOIN the public table.",
            )
        item, scope = self._item(node, {})
        where = select.args.get("where")
        return (item, scope, conjuncts(where.this) if where else []) if isinstance(item, Public) else None

    # Subqueries

    def derived(self, node: exp.Expression, name: str, ctes: Mapping[str, Cte]) -> tuple[Relation, Scope]:
        """A subquery: rows with other columns, values of each person, or several of these in one."""
        if isinstance(node, exp.Union):
            return self._union(node, name, ctes)
        if not isinstance(node, exp.Select):
            raise plain_from()
        for clause in ("order", "limit"):
            if node.args.get(clause):
                raise QueryRefused(
                    f"{clause.upper()} in a subquery would choose among people.",
                    remedy=f"Put {clause.upper()} at the end of the question, on noisy values.",
                )
        relation, scope = self.read(node, ctes)
        if self.with_rows_of_nobody:
            raise QueryRefused(
                "LEFT JOIN after a public table keeps rows that belong to nobody: not in a subquery.",
                remedy="Write JOIN there.",
            )
        refuse_windows(node)
        if node.args.get("group") or any(item.find(exp.AggFunc) for item in node.expressions):
            relation, columns, scope = per_person(node, relation, scope, self.new_alias())
        elif node.args.get("having"):
            raise QueryRefused("HAVING needs GROUP BY.", remedy="Use WHERE.")
        else:
            columns = projected(node, scope)
        return relation, scope.named(name, columns)

    def _union(self, node: exp.Union, name: str, ctes: Mapping[str, Cte]) -> tuple[Relation, Scope]:
        ctes = with_queries(node, ctes)
        if node.args.get("distinct") or {
            key for key, value in node.args.items() if value and key not in ("this", "expression", "with_")
        }:
            raise QueryRefused(
                "Only UNION ALL can be asked.", remedy="Write UNION ALL: people are told apart anyway."
            )
        parts = [self.derived(unwrapped(side), name, ctes) for side in (node.this, node.expression)]
        for relation, _ in parts:
            if not relation.has_ids:
                raise QueryRefused(
                    "UNION ALL needs a person column in every table, to know who is the same.",
                    remedy="Ask about each table on its own.",
                )
        return united(parts, name, self.new_alias())
