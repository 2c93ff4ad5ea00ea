"""Where people are put together: below is private, above is noisy.

A query that aggregates rows of people, and does not keep people apart, is a *leaf*: its answer is noisy, and
is paid for. Whatever is computed from answers of leaves is free. A query that reads rows of people and an
answer of a leaf side by side is neither, and is refused.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.listing import Listing
from discreet.model.policy import Dataset
from discreet.question.expressions.scope import PublicKeys, ReadFanOut
from discreet.question.relations.from_clause import Relations
from discreet.question.relations.per_person import keeps_people_apart
from discreet.question.relations.subqueries import Cte, plain_from, unwrapped, with_queries
from discreet.question.spelling.allowed_clauses import AFTER_NOISE, CLAUSES

Ctes = Mapping[str, Cte]
_COMPUTED = ("expressions", "having", "qualify", "order")


class Boundary:
    """Tells which queries of a question are noisy answers, or are computed from such."""

    def __init__(
        self, dataset: Dataset, public_keys: PublicKeys, fan_out: ReadFanOut, *, follows_keys: bool = True
    ) -> None:
        self._dataset, self._follows_keys = dataset, follows_keys
        self._public_keys = public_keys
        self._fan_out = fan_out
        self.listing = Listing()
        """What it may take to list the values of the keys of all leaves."""
        self._known: dict[int, tuple[exp.Expression, bool]] = {}

    @property
    def min_people(self) -> int:
        return self._dataset.min_people

    def relations(self) -> Relations:
        """A reader of private tables: each leaf has one of its own, so that equal leaves are equal."""
        return Relations(self._dataset, self._public_keys, self._fan_out, follows_keys=self._follows_keys)

    def is_plain(self, select: exp.Select) -> bool:
        """Whether a question is a single leaf, without anything above it that needs more than one row."""
        if any(select.args.get(clause) for clause in AFTER_NOISE):
            return False
        if any(isinstance(node, exp.Window | exp.Subquery | exp.Select) for node in computed_nodes(select)):
            return False
        return not self.is_above(select, {})

    def is_above(self, select: exp.Select, ctes: Ctes) -> bool:
        """Whether a query reads noisy answers, and not rows of people."""
        ctes = with_queries(select, ctes)
        noisy = [self._is_noisy_item(item, ctes) for item in items_of(select)]
        if any(noisy) and not all(noisy):
            raise QueryRefused(
                "Noisy answers are joined with a table of the policy, and what stands beside noise is noisy.",
                remedy="Join tables inside of the subquery, and join its answer with other noisy answers.",
            )
        return any(noisy)

    def is_noisy(self, node: exp.Expression, ctes: Ctes) -> bool:
        """Whether a query is a leaf, or is computed from leaves."""
        if id(node) not in self._known:
            self._known[id(node)] = node, self._read_kind(unwrapped(node), ctes)
        return self._known[id(node)][1]

    def _read_kind(self, node: exp.Expression, ctes: Ctes) -> bool:
        if isinstance(node, exp.Union):
            ctes = with_queries(node, ctes)
            sides = [self.is_noisy(side, ctes) for side in (node.this, node.expression)]
            if any(sides) and not all(sides):
                raise QueryRefused(
                    "One side of UNION is a noisy answer, and the other one rows of people.",
                    remedy="Aggregate both sides: SELECT 'visits' AS what, count(*) AS n FROM …",
                )
            return any(sides)
        if not isinstance(node, exp.Select):
            raise plain_from()
        if self.is_above(node, ctes):
            return True
        if not aggregates(node):
            return False
        source, scope = self.relations().read(rows_of(node), ctes)
        return not keeps_people_apart(node, source, scope)

    def _is_noisy_item(self, node: exp.Expression, ctes: Ctes) -> bool:
        if isinstance(node, exp.Subquery):
            return self.is_noisy(node.this, ctes)
        known = ctes.get(node.name.casefold()) if isinstance(node, exp.Table) else None
        return known is not None and self.is_noisy(known.query, known.before)


def items_of(select: exp.Select) -> list[exp.Expression]:
    """All tables and subqueries of FROM and JOIN."""
    first = select.args.get("from_")
    found = [] if first is None else [first.this]
    return found + [join.this for join in select.args.get("joins") or ()]


def rows_of(select: exp.Select) -> exp.Select:
    """A leaf without what is computed from its noisy answer."""
    return exp.Select(**{name: value for name, value in select.args.items() if name in CLAUSES})


def aggregates(select: exp.Select) -> bool:
    """Whether a query puts rows together. The function of a window does not, but its arguments may."""
    if select.args.get("group") is not None:
        return True
    of_windows = {
        id(node)
        for window in computed_nodes(select)
        if isinstance(window, exp.Window)
        for node in _of_window(window)
    }
    return any(
        isinstance(node, exp.AggFunc | exp.WithinGroup) and id(node) not in of_windows
        for node in computed_nodes(select)
    )


def _of_window(window: exp.Window) -> Iterator[exp.Expression]:
    """The function of a window: below a FILTER, perhaps."""
    node = window.this
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        yield node
        node = node.this
    if isinstance(node, exp.Expression):
        yield node


def computed_nodes(select: exp.Select) -> Iterator[exp.Expression]:
    """What a query computes from its groups, node by node; subqueries are not looked into."""
    waiting: list[exp.Expression] = []
    for clause in _COMPUTED:
        value = select.args.get(clause)
        waiting += value if isinstance(value, list) else [] if value is None else [value]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, exp.Subquery | exp.Select):
            waiting += node.iter_expressions()
