"""What bounding may have done to the truth, in words that go with every answer."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from discreet.aggregates.aggregate import bounds_of
from discreet.aggregates.left_out import Lost
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import DistinctCount, Histogram, Part, Scores, WeightedSum, known
from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.answers.wording import number_text
from discreet.bounds.bound import limits_are_facts, values_of_people
from discreet.bounds.calibrate import Plan
from discreet.bounds.min_people import people_counts, shown_from
from discreet.bounds.relation_tree import columns_of, expressions_of, looked_up, sides_cut, tables_of
from discreet.model.expression import Field, fields_of, title
from discreet.model.query import (
    Aggregate,
    FewRows,
    Measure,
    Query,
    group_count,
)
from discreet.noise.selection import Selection
from discreet.release.notes.condition_notes import condition_notes
from discreet.release.notes.key_notes import key_notes


def notes_of(plan: Plan) -> tuple[str, ...]:
    """One sentence for each thing that may differ from a plain query."""
    return tuple(
        dict.fromkeys(
            [*_people(plan), *_values(plan), *_rows(plan), *_keys(plan), *_picks(plan), *_hidden(plan)]
        )
    )


def _people(plan: Plan) -> list[str]:
    source, parts = plan.bounded.query.source, plan.bounded.measured_parts
    notes = [
        f"People with more than {few.rows:,} rows of {_named(few)} on one side of a join are left out of it."
        for few in sides_cut(source)
    ]
    notes += [
        f"One row can meet {lookup.matches:,} rows of “{lookup.table.name}”, which is joined on"
        f" {columns_of(public for _, public in lookup.pairs)}."
        for lookup in looked_up(source)
        if lookup.matches > 1
    ]
    if source.one_row_a_person:
        return notes
    notes += [_weighed_rows(weight, source.max_rows) for weight in _weights(parts, Unit.ROWS)]
    if plan.bounded.query.keys:
        notes += [_weighed_people(weight, source.max_groups) for weight in _weights(parts, Unit.PEOPLE)]
    if any(isinstance(part, DistinctCount) and not part.one_each for part in parts):
        notes.append(f"Of each person, at most {source.max_groups} different values are counted.")
    return [*notes, *_one_value(plan.bounded.query)]


def _hidden(plan: Plan) -> list[str]:
    least, counts = plan.bounded.query.min_people, people_counts(plan)
    if not least or not counts:
        return []
    bound = ceil(max(shown_from(plan, each) for each in counts))
    return [
        f"Numbers of fewer than {least:,} people are not shown. For that, people are counted too, with noise:"
        f" a number is shown if {bound:,} of them are counted, or more."
    ]


def _weights(parts: Sequence[Part], unit: Unit) -> list[Weight]:
    """The ways in which rows, or people, are weighed. Who is in one group only is not weighed."""
    sums = [part for part in parts if isinstance(part, WeightedSum | Histogram)]
    found = [part.weight for part in sums if part.weight is not None and part.weight != Weight.one(unit)]
    return [weight for weight in dict.fromkeys(found) if weight.unit is unit]


def _weighed_rows(weight: Weight, most: int) -> str:
    if weight.norm is Norm.L2:
        return (
            f"A person with more than {most:,} rows counts as {most:,} if all are in one group, and as more"
            " if they are spread over groups."
        )
    if weight.least > 1:
        return (
            f"A person with more than {most:,} rows counts as {most:,} in all, and one with more than"
            f" {weight.most:,} not at all, because keys are private. To count everybody, list them:"
            " WHERE … IN (…)."
        )
    return f"A person with more than {most:,} rows counts as {most:,} in all."


def _weighed_people(weight: Weight, most: int) -> str:
    less = f"A person in more than {most:,} groups counts less in each of them"
    if weight.least > 1:
        return f"{less}, and one in more than {weight.most:,} not at all, because keys are private."
    return f"{less}."


def _one_value(query: Query) -> list[str]:
    """What the policy says a person has one of, if the question reads it."""
    measured = [each for measure in query.measures for each in measure.expressions]
    read = [*(key.expression for key in query.keys), *measured, *expressions_of(query.source)]
    fields = [field for each in read if each is not None for field in fields_of(each) if field.per_person]
    return [f"A person has one {title(each.name)}: the smallest, if their rows differ." for each in fields]


def left_out_notes(plan: Plan, lost: Mapping[str, Lost]) -> list[str]:
    """How much limits leave out, in words: one sentence for each way of being too many."""
    by_measure = {measure.measure.name: measure.measure.aggregate for measure in plan.bounded.measures}
    notes = [_left_out(plan, by_measure[name], found) for name, found in lost.items()]
    notes += [_beyond(plan, name, found) for name, found in lost.items()]
    return [note for note in dict.fromkeys(notes) if note]


def _left_out(plan: Plan, aggregate: Aggregate, lost: Lost) -> str:
    if not lost.hidden:
        return ""  # everybody has one row
    definition = AGGREGATES[aggregate]
    what, limit = definition.loses, definition.limit_text(plan.bounded.query.source)
    if not lost.guess:
        if not lost.near:
            return (
                f"Nobody stands out from the noise as having more than {limit}, or nearly as much. Up to"
                f" {_rough(lost.hidden)} people could have far more, unseen: that is in no error."
            )
        source, people = plan.bounded.query.source, lost.hidden / 3
        missing = people * (source.max_rows if what == "rows" else source.max_groups)
        return (
            f"Nobody stands out from the noise as having more than {limit}, but people come near it."
            f" If {_rough(people)} people had twice as much, unseen, {_rough(missing)} {what} more would be"
            " missing than errors hold."
        )
    return (
        f"About {_rough(lost.guess)} {what} do not count, of people with more than {limit}: from"
        f" {_rough(lost.low)} to {_rough(lost.high)}. Errors hold that."
        + (" Some may be in groups that are not shown." if plan.bounded.query.private_keys else "")
    )


def _beyond(plan: Plan, name: str, lost: Lost) -> str:
    """What clamping takes off a sum; of an average, the same is divided by the rows."""
    (measure,) = (each.measure for each in plan.bounded.measures if each.measure.name == name)
    taken, side = (lost.above, "above") if lost.above.high >= lost.below.high else (lost.below, "below")
    if not taken.guess or measure.argument is None:
        return ""
    least, most = bounds_of(measure)
    width = most - least
    return (
        f"Bounds take about {_rough(taken.guess * width)} off the sum, of values {side} them: from"
        f" {_rough(taken.low * width)} to {_rough(taken.high * width)}. Errors hold that."
    )


def _rough(number: float) -> str:
    """With two digits."""
    return number_text(float(f"{number:.2g}"), 0.0)


def _named(few: FewRows) -> str:
    return " and ".join(f"“{name}”" for name in tables_of(few.source))


def _values(plan: Plan) -> list[str]:
    measures = [each.measure for each in plan.bounded.measures]
    notes = [note for measure in measures for note in AGGREGATES[measure.aggregate].notes(measure)]
    return [*notes, *_values_of_people(plan, measures)]


def _values_of_people(plan: Plan, measures: Iterable[Measure]) -> list[str]:
    """What a person's count or sum is clamped to follows from max_rows: the plain answer may be larger."""
    source = plan.bounded.query.source
    rows = {} if limits_are_facts(source) else values_of_people(source)
    taken = [each.argument for each in measures if isinstance(each.argument, Field)]
    unknown = "" if plan.bounded.left_out_share else " What this takes off is not in the error."
    return [
        f"A person whose {title(field.name)} is above {float(field.range.high):g}, as much as"
        f" {rows[field.name]:,} rows come to, counts as that.{unknown}"
        for field in taken
        if field.name in rows and field.range is not None
    ]


def _rows(plan: Plan) -> list[str]:
    """In which groups rows are, and for which conditions they are taken for others."""
    query = plan.bounded.query
    return [*condition_notes(query), *key_notes(query)]


def _picks(plan: Plan) -> list[str]:
    """How far the score of a pick may be below the best, before any data is read."""
    mechanism, query = plan.mechanisms[0], plan.bounded.query
    if not isinstance(mechanism, Selection) or query.picks is None:
        return []
    confidence = plan.request.confidence
    off = int(-mechanism.interval(confidence, candidates=group_count(query)).low)
    unit = "people" if AGGREGATES[query.picks.aggregate].counts is Unit.PEOPLE else "rows"
    level = f"at {float(confidence):.4g} confidence"
    scores = next(part for part in plan.bounded.parts if isinstance(part, Scores))
    if unit == "people" or scores.one_row or limits_are_facts(query.source):
        return [f"Each pick is within {off:,} {unit} of the best that is left, {level}."]
    return [
        f"Each pick is within {off:,} rows of the best that is left, {level}, by the rows that count: at most"
        f" {scores.rows:,} of each person in a group. By all rows, a group of people who have more may be"
        " larger than what was picked."
    ]


def _keys(plan: Plan) -> list[str]:
    threshold, selector = plan.threshold, plan.bounded.selector
    if threshold is None or selector is None:
        return []
    part = known(WeightedSum, plan.bounded.parts[selector])
    least = float(threshold.threshold * part.scale)
    unit = "people" if part.unit is Unit.PEOPLE or part.weight is None else "rows"
    return [f"A group is shown only if its noisy count of {unit} is at least {least:,.4g}."]
