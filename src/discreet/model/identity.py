"""The identity of a paid question: a text of exactly what would be run, and nothing else.

The ledger keeps what was drawn under a digest of this text. So the text says which rows are read, with which
bounds and limits. It leaves out what is computed from noisy values alone: names, order, HAVING, rounding. It
is written out here word by word. It names no class, field or module of ours: they can be renamed, and a
repeated question is still found. A change of what is written needs a new `VERSION`, and a way to find old
keys.

The key of a question has its price before the digest, so that answers at higher prices are found: see
`bounds.paid_key`.
"""

import hashlib
import json
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias

from discreet.model.expression import Call, Constant, Expression, Field, Literal
from discreet.model.person_value import PersonValue
from discreet.model.policy import EachRow, KeyValue, PrivateTable, Through
from discreet.model.privacy import PureLoss, Spend
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    GroupKey,
    Lookup,
    Pair,
    PerPerson,
    PersonJoin,
    Relation,
    Scan,
    UnionAll,
)

VERSION = 1

Facts: TypeAlias = "str | int | bool | list[Facts] | dict[str, Facts] | None"
"""What JSON can say. Fractions are texts: 1/3."""


def identity_of(kind: str, facts: Facts, version: int = VERSION) -> str:
    """The key of a kind of release, such as a question, of which these are all the facts."""
    text = json.dumps([kind, version, facts], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"{kind}-{version}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def has_version(key: str) -> bool:
    """Whether a key of a ledger was made here; older ones are digests, or begin with “cache:”."""
    return "-" in key.partition(":")[0]


def has_older(first: str) -> bool:
    """Whether a ledger whose first charge has this key may have answers that have other keys today."""
    return not first.startswith(("question-3:", "questions-2:"))


def loss_facts(loss: Spend) -> Facts:
    if isinstance(loss, PureLoss):
        return {"epsilon": str(loss.epsilon)}
    return {"rho": str(loss.rho), "delta": str(loss.delta)}


def constant_facts(value: Constant) -> Facts:
    """A value with its type: a day as a text and the same day as a date differ."""
    match value:
        case None | bool() | str() | int():
            return value
        case Fraction():
            return {"number": str(value)}
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}


def values_facts(values: tuple[KeyValue | None, ...] | None) -> Facts:
    """In their order: the stored numbers are in the same order."""
    return None if values is None else [constant_facts(value) for value in values]


class RelationFacts:
    """What is read, and what is computed from its rows. Columns that a question names itself are numbered."""

    def __init__(self, source: Relation) -> None:
        self._places: dict[str, str] = {}
        self.source = self._relation(source)

    def expression(self, expression: Expression | None) -> Facts:
        match expression:
            case None:
                return None
            case Field():
                found: dict[str, Facts] = {
                    "field": self._places.get(expression.name, expression.name),
                    "type": expression.type.value,
                }
                if expression.range is not None:
                    found["range"] = [str(expression.range.low), str(expression.range.high)]
                if expression.unit is not None:
                    found["unit"] = str(expression.unit)
                if expression.format is not None:
                    found["format"] = expression.format
                if expression.days is not None:
                    found["days"] = [expression.days.low.isoformat(), expression.days.high.isoformat()]
                if expression.per_person:
                    found["per_person"] = True
                return found
            case Literal():
                return {"is": constant_facts(expression.value), "type": expression.type.value}
            case Call():
                return [expression.function, *map(self.expression, expression.arguments)]

    def key(self, key: GroupKey) -> Facts:
        return {"of": self.expression(key.expression), "values": values_facts(key.values)}

    def _relation(self, relation: Relation) -> Facts:
        match relation:
            case Scan():
                return {"scan": table_facts(relation.table), "as": relation.alias}
            case FollowKey():
                return {"follow": self._relation(relation.child), "to": self._relation(relation.parent)}
            case Filter():
                return {"filter": self._relation(relation.source), "by": self.expression(relation.predicate)}
            case FewRows():
                return {"few": self._relation(relation.source), "rows": relation.rows}
            case Lookup():
                return {
                    "lookup": self._relation(relation.source),
                    "in": relation.table.source,
                    "as": relation.alias,
                    "matches": relation.matches,
                    "on": self._pairs(relation.pairs),
                    "keep": relation.keep_unmatched,
                }
            case PersonJoin():
                return {
                    "join": [self._relation(relation.left), self._relation(relation.right)],
                    "on": self._pairs(relation.pairs),
                    "keep": relation.keep_unmatched,
                }
            case PerPerson():
                return self._per_person(relation)
            case UnionAll():
                return self._union(relation)

    def _per_person(self, relation: PerPerson) -> Facts:
        return {
            "each": self._relation(relation.source),
            "keys": [[field.name, self.expression(key)] for field, key in relation.keys],
            "values": [self._value(value) for value in relation.values],
        }

    def _value(self, value: PersonValue) -> Facts:
        return {
            "aggregate": value.aggregate.value,
            "as": value.field.name,
            "of": self.expression(value.argument),
            "where": self.expression(value.condition),
            "grid": str(value.grid),
        }

    def _union(self, relation: UnionAll) -> Facts:
        branches: list[Facts] = [
            {"from": self._relation(branch.source), "columns": [*map(self.expression, branch.columns)]}
            for branch in relation.branches
        ]
        for place, field in enumerate(relation.fields):
            self._places[field.name] = f"{field.name.partition('.')[0]}.{place}"
        return {"union": branches}

    def _pairs(self, pairs: tuple[Pair, ...]) -> Facts:
        return [[self.expression(left), self.expression(right)] for left, right in pairs]


def table_facts(table: PrivateTable) -> Facts:
    """Which rows, and whose they are. Columns are told where they are read, limits where they bind."""
    person: Facts = None
    if not isinstance(table.person, EachRow):
        person = [table.person.name, table.columns[table.person.name].type.value]
    facts: dict[str, Facts] = {
        "source": table.source,
        "person": person,
        "unique": table.unique,
        "well_formed": table.well_formed,
    }
    if table.through is not None:
        facts["through"] = _steps(table.through)
    return facts


def _steps(through: Through | None) -> Facts:
    """The way to the people of a table, and how its keys are read."""
    if through is None:
        return []
    further = _steps(through.further)
    kind = None if through.type is None else through.type.value
    step: list[Facts] = [through.source, through.key, through.other, kind, through.well_formed]
    return [step, *(further if isinstance(further, list) else [])]
