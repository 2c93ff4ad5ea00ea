"""The facts that identify a question (`model.identity`), except its noise: what is read and summed."""

import hashlib
import json
from collections.abc import Sequence

from discreet.aggregates.joint import JointSum, VectorFamily
from discreet.aggregates.vectors import (
    DistinctCount,
    Histogram,
    LeftOut,
    Part,
    Scores,
    WeightedSum,
)
from discreet.aggregates.weights import Weight
from discreet.bounds.bound import Bounded
from discreet.model.identity import Facts, RelationFacts


def parts_in_order(bounded: Bounded) -> list[int]:
    """The parts in the order in which they are stored: it does not depend on what a question names first."""
    known = bounded.known.get("order")
    if not isinstance(known, list):
        texts = [*map(_text, _parts_facts(bounded))]
        known = bounded.known["order"] = sorted(range(len(texts)), key=texts.__getitem__)
    return known


def bounded_facts(bounded: Bounded, order: Sequence[int] | None = None) -> dict[str, Facts]:
    """What is read and summed, by which keys, of whom: everything but the noise."""
    query = bounded.query
    facts, parts = RelationFacts(query.source), _parts_facts(bounded)
    return {
        "neighbours": bounded.neighbours.value,
        "source": facts.source,
        "keys": [facts.key(key) for key in query.keys],
        "sets": [list(chosen) for chosen in query.sets],
        "parts": [parts[i] for i in order or range(len(parts))],
    }


def told_of_part(bounded: Bounded, part: int) -> str:
    """What is summed, and of which rows: the same text for parts that differ in what they are grouped by."""
    return _text([RelationFacts(bounded.query.source).source, _parts_facts(bounded)[part]])


def told_of_keys(bounded: Bounded) -> list[str]:
    """What each key is, with its values: the same text for the same key of another question."""
    facts = RelationFacts(bounded.query.source)
    return [_text(facts.key(key)) for key in bounded.query.keys]


def _text(facts: Facts) -> str:
    return json.dumps(facts, sort_keys=True)


def _parts_facts(bounded: Bounded) -> list[Facts]:
    known = bounded.known.get("facts")
    if not isinstance(known, list):
        facts, families = RelationFacts(bounded.query.source), dict[VectorFamily, str]()
        known = bounded.known["facts"] = [_part_facts(part, facts, families) for part in bounded.parts]
    return known


def _part_facts(part: Part, facts: RelationFacts, families: dict[VectorFamily, str]) -> Facts:
    """What is summed or counted in each group, and how much of one person."""
    match part:
        case JointSum(family=family, cell=cell):
            if family not in families:
                families[family] = _digest_of(family, facts)
            return {
                "family": families[family],
                "pattern": cell.pattern,
                "basis": cell.basis.value,
                "start": cell.start,
                "place": part.place,
                "weight": _weight_facts(part.weight),
            }
        case WeightedSum():
            return {
                "sum": facts.expression(part.value),
                "where": facts.expression(part.condition),
                "not_null": facts.expression(part.not_null),
                "weight": _weight_facts(part.weight),
                "offset": str(part.offset),
                "grid": str(part.grid),
                "power": part.power,
                "largest": part.largest,
            }
        case Histogram():
            return {
                "bins": facts.expression(part.value),
                "where": facts.expression(part.condition),
                "weight": _weight_facts(part.weight),
                "low": str(part.low),
                "width": str(part.width),
                "leaves": part.leaves,
                "points": part.points,
            }
        case DistinctCount():
            return {
                "distinct": facts.expression(part.value),
                "where": facts.expression(part.condition),
                "values": part.values,
            }
        case Scores():
            return {
                "scores": "largest" if part.largest else "smallest",
                "where": facts.expression(part.condition),
                "rows": part.rows,
            }
        case LeftOut():
            return {
                "left_out_of": _weight_facts(part.weight),
                "distinct": facts.expression(part.distinct),
                "where": facts.expression(part.condition),
                "bins": part.bins,
            }


def _digest_of(family: VectorFamily, facts: RelationFacts) -> str:
    """Of what its cells are cut by, and what is measured of them. Its vectors may be many."""
    told: Facts = {
        "conditions": [facts.expression(each) for each in family.conditions],
        "sum": facts.expression(family.value),
        "offset": str(family.offset),
        "grid": str(family.grid),
        "steps": family.steps,
    }
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _weight_facts(weight: Weight | None) -> Facts:
    if weight is None:
        return None
    norm = {"ℓ₁": "l1", "ℓ₂": "l2"}[weight.norm.value]
    return [norm, weight.unit.value, str(weight.square), weight.bits, weight.least]
