"""Where the truth of each output lies, at the stated confidence.

Of a count, sum or quantile the noise alone says it (`estimate.reach`). Of all else `shape` says which parts
may be simulated, and `box` puts the intervals of these parts together, all of which hold at once by a union
bound.

Groups that were selected by their own noise are seen because it was large. So where HAVING, or ORDER BY with
LIMIT, looks at a noisy vector, the intervals of what is computed from that vector hold for all groups at once
that might have been selected: whichever was, its interval is one of them. That is a promise for the answer
as a whole: a HAVING that hardly any group passes shows mostly noise, in the few answers that show anything.
With private keys one noisy count decided which groups are seen at all; its law is the one given that it
passed (`noise.threshold`).
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.left_out import NOTHING, Lost
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.shape import Shape
from discreet.arrays import ColumnValues, Floats
from discreet.bounds.bound import BoundedMeasure
from discreet.bounds.calibrate import Plan
from discreet.model.expression import Expression, Field, fields_of, size_of
from discreet.model.policy import ValueType
from discreet.release.box import Box, BoxOrTruth, Truth, push
from discreet.release.estimate import (
    Noisy,
    draw_sums,
    ends_of,
    near_threshold,
    noisy_measure,
    reach,
    with_left_out,
)
from discreet.release.shape import noisy_divisors, parts_to_simulate, uses

Ends: TypeAlias = tuple[Floats, Floats]
Evaluate: TypeAlias = Callable[[Expression, Sequence[Expression], Mapping[str, ColumnValues], int], Floats]
"""An expression over columns of so many rows, as floats; NaN for NULL, and where one of some others is not
above 0."""

_LEAST_BEYOND = 5
"""Draws that are left out on either side, at least: fewer would make the ends of intervals jump."""
_MOST_DRAWS, _DRAWS_AT_ONCE = 2_000, 2_000_000
MOST_DRAWS_OF_AN_ANSWER = 40_000_000
"""Over all its groups and columns: half a minute or so. What is left then has wider intervals, from the tails
of each vector. They are computed anew whenever an answer is given again."""
NUMBERS_AT_ONCE = 2**23
"""Of the parts of an expression, over all groups that are looked at together: some 200 MB."""


class OutputIntervals:
    """Of the groups of one answer."""

    def __init__(
        self,
        plan: Plan,
        noisy: Noisy,
        estimates: Mapping[str, Floats],
        groups: int,
        keys: Mapping[str, ColumnValues],
        evaluate: Evaluate,
    ) -> None:
        self._plan = plan
        self._noisy = noisy
        self._groups = groups
        self._keys = keys
        self._evaluate = evaluate
        self._check_time = noisy.check_time
        self._measures = {measure.measure.name: measure for measure in plan.bounded.measures}
        self._estimates = estimates
        self._generator = np.random.default_rng(noisy.seed)
        self._selecting = self._selecting_parts()
        self._draws_left = MOST_DRAWS_OF_AN_ANSWER // noisy.questions

    def of(self, expression: Expression, kept: NDArray[np.int64], *, together: int = 1) -> Ends:
        """The ends for each group that is kept; NaN where there is nothing to be known.

        They hold for `together` such expressions at once.
        """
        at_once = self._groups if self._parts(expression) & self._selecting else 1
        miss = (1 - self._plan.request.confidence) / max(1, at_once) / together
        near = self._near_threshold(expression, miss)[kept]
        low, high = np.empty(len(kept)), np.empty(len(kept))
        for chosen, is_near in ((near, True), (~near, False)):
            if chosen.any():
                low[chosen], high[chosen] = self._ends(expression, kept[chosen], miss, near=is_near)
        return low, high

    def without_limits(
        self, expression: Expression, kept: NDArray[np.int64], lost: Mapping[str, Lost], *, together: int = 1
    ) -> Ends | None:
        """The ends for the answer without limits; None if limits leave nothing out, as far as is known.

        They hold for `together` such expressions at once.
        """
        used = self._used(expression)
        if not any(lost_something(lost[m.measure.name]) for m in used if m.measure.name in lost):
            return None
        everything = np.arange(self._groups)
        boxes: dict[Expression, Box] = {}
        for measure in used:
            field, found = _field(measure), lost.get(measure.measure.name, NOTHING)
            reach = self.of(field, everything, together=len(used) * together)
            low, high = with_left_out(self._plan, measure, self._noisy, reach, found)
            boxes[field] = Box(low[kept], high[kept], np.isnan(low[kept]))
        if isinstance(expression, Field):
            return boxes[_field(used[0])].low, boxes[_field(used[0])].high
        fields = {each.name: each for each in fields_of(expression) if each.name in self._measures}
        pushed = self._pushed(
            expression, kept, {each: boxes[_field(self._measures[name])] for name, each in fields.items()}
        )
        return pushed.low, pushed.high

    # Which noise selected

    def _parts(self, expression: Expression) -> set[int]:
        """The noisy vectors that an expression is computed from."""
        return {part for measure in self._used(expression) for part in measure.parts}

    def _selecting_parts(self) -> set[int]:
        """The vectors whose noise decides which groups are left; a LIMIT that leaves all decides nothing."""
        query = self._plan.bounded.query
        by = [] if query.having is None else [query.having]
        if query.picks is None and query.limit is not None and query.limit < self._groups:
            by += [order.expression for order in query.order]
        return {part for expression in by for part in self._parts(expression)}

    def _near_threshold(self, expression: Expression, miss: Fraction) -> NDArray[np.bool_]:
        """Groups whose count passed a threshold narrowly, where more than that count alone is asked for."""
        if isinstance(expression, Field) or self._plan.bounded.selector not in self._parts(expression):
            return np.zeros(self._groups, dtype=np.bool_)
        each = miss / max(1, len(self._variables(expression, near=False)))
        return near_threshold(self._plan, self._noisy, 1 - each)

    # Parts, and what is put together from them

    def _variables(self, expression: Expression, *, near: bool) -> list[Expression]:
        def leaf(field: Field) -> Shape:
            measure = self._measures.get(field.name)
            if measure is None:
                return Shape.CONSTANT
            if near and self._plan.bounded.selector in measure.parts:
                return Shape.BENT
            return AGGREGATES[measure.measure.aggregate].shape

        return list(dict.fromkeys(parts_to_simulate(expression, leaf, self._never_negative)))

    def _never_negative(self, field: Field) -> bool:
        return field.name in self._measures and self._span(self._measures[field.name])[0] >= 0

    def _ends(self, expression: Expression, kept: NDArray[np.int64], miss: Fraction, *, near: bool) -> Ends:
        variables = self._variables(expression, near=near)
        boxes = {each: self._variable(each, kept, miss / len(variables)) for each in variables}
        found = self._pushed(expression, kept, boxes)
        return found.low, found.high

    def _pushed(
        self, expression: Expression, kept: NDArray[np.int64], boxes: Mapping[Expression, Box]
    ) -> Box:
        """Where an expression lies if all these parts lie where they are said to.

        Some groups at a time: the numbers of all parts of an expression may be in memory at once.
        """
        at_once = max(1, NUMBERS_AT_ONCE // size_of(expression).nodes)
        constants: dict[Expression, Floats] = {}
        pieces = []
        for start in range(0, max(1, len(kept)), at_once):
            some = slice(start, start + at_once)
            here = {part: box.at(some) for part, box in boxes.items()}
            pieces.append(self._pushed_at(expression, kept[some], here, constants))
        return pieces[0] if len(pieces) == 1 else Box.joined(pieces)

    def _pushed_at(
        self,
        expression: Expression,
        kept: NDArray[np.int64],
        boxes: Mapping[Expression, Box],
        constants: dict[Expression, Floats],
    ) -> Box:
        self._check_time()

        def known(part: Expression) -> BoxOrTruth | None:
            if part in boxes:
                return boxes[part]
            if uses(part, set(self._measures)) or not _is_number_or_condition(part):
                return None
            values = self._without_noise(part, kept, constants)
            return Truth.points(values) if part.type is ValueType.BOOLEAN else Box.points(values)

        found = push(expression, known, len(kept))
        if not isinstance(found, Box):
            raise TypeError("A condition has no interval.")
        return found

    def _without_noise(
        self, part: Expression, kept: NDArray[np.int64], constants: dict[Expression, Floats]
    ) -> Floats:
        """A part that no measure is in. If no key is either, it is one number, which all groups share."""
        if any(True for _ in fields_of(part)):
            return self._values(part, kept, {})
        if part not in constants:
            constants[part] = self._evaluate(part, (), {}, 1)
        return np.broadcast_to(constants[part], len(kept))

    def _variable(self, part: Expression, kept: NDArray[np.int64], miss: Fraction) -> Box:
        """Where one part lies: exactly, by simulation, or from the vectors where that takes too long."""
        if isinstance(part, Field):
            measure = self._measures[part.name]
            known = reach(self._plan, measure, self._estimates[part.name], self._noisy, 1 - miss)
            if known is not None:
                return Box(known[0][kept], known[1][kept], np.zeros(len(kept), dtype=np.bool_))
        draws = _draws(len(kept), float(miss) / 2, self._draws_left)
        self._draws_left -= 0 if draws is None else draws * len(kept)
        found = self.from_vectors(part, kept, miss) if draws is None else self._drawn(part, kept, miss, draws)
        certain = self._pushed(part, kept, self._spans(part, kept))
        low = np.where(np.isneginf(found.low), certain.low, found.low)
        return Box(low, np.where(np.isposinf(found.high), certain.high, found.high), found.missing)

    # From the exact tails of each vector

    def from_vectors(self, part: Expression, kept: NDArray[np.int64], miss: Fraction) -> Box:
        """Where a part lies if each of its noisy vectors lies within the tails of its noise."""
        vectors = {each.terms for measure in self._used(part) for each in measure.vectors}
        level = 1 - miss / len(vectors)
        boxes: dict[Expression, Box] = {}
        for measure in self._used(part):
            ends = ends_of(self._plan, measure, self._noisy, level)
            least, most = AGGREGATES[measure.measure.aggregate].box(*ends)
            unsure = np.isneginf(least) | np.isposinf(most)
            boxes[_field(measure)] = Box(least[kept], most[kept], unsure[kept])
        return self._pushed(part, kept, boxes)

    def _spans(self, part: Expression, kept: NDArray[np.int64]) -> dict[Expression, Box]:
        """Where the measures lie for certain."""
        return {_field(each): Box.between(*self._span(each), len(kept)) for each in self._used(part)}

    def _span(self, measure: BoundedMeasure) -> tuple[float, float]:
        return AGGREGATES[measure.measure.aggregate].span(measure.measure)

    # By simulation

    def _drawn(self, part: Expression, kept: NDArray[np.int64], miss: Fraction, draws: int) -> Box:
        columns = len(self._parts(part)) + len(self._used(part))  # all are in memory at once
        at_once = max(1, _DRAWS_AT_ONCE // draws // columns)
        pieces = [
            self._middle(part, kept[start : start + at_once], float(miss) / 2, draws)
            for start in range(0, len(kept), at_once)
        ]
        return Box(*(np.concatenate(ends) for ends in zip(*pieces, strict=True)))

    def _middle(
        self, part: Expression, kept: NDArray[np.int64], miss: float, draws: int
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """All but the outermost draws. What is NULL may be anything, and so counts on both sides.

        The noise and the draws of it have one law, so that each of them is the k-th smallest with probability
        1/(draws + 1). The outermost k ≤ miss·(draws + 1) are left out: the noise is among these with
        probability `miss` at most.
        """
        self._check_time()
        at = np.repeat(kept, draws)
        sums = draw_sums(self._plan, self._noisy, self._parts(part), at, self._generator)
        columns: dict[str, ColumnValues] = {}
        for measure in self._used(part):
            noisy = noisy_measure(self._plan, measure, self._noisy, sums, self._plan.request.confidence)
            columns[measure.measure.name] = AGGREGATES[measure.measure.aggregate].estimate(noisy)
        divisors = noisy_divisors(part, lambda each: uses(each, set(self._measures)))
        values = self._values(part, at, columns, divisors).reshape(len(kept), draws)
        beyond = floor(miss * (draws + 1))
        null = np.isnan(values)
        low = np.partition(np.where(null, -np.inf, values), beyond - 1, axis=1)[:, beyond - 1]
        high = np.partition(np.where(null, np.inf, values), draws - beyond, axis=1)[:, draws - beyond]
        missing: NDArray[np.bool_] = np.any(null, axis=1)
        nothing = np.all(null, axis=1)  # there is no number, by all that is known
        return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high), missing

    def _values(
        self,
        part: Expression,
        at: NDArray[np.int64],
        columns: Mapping[str, ColumnValues],
        positive: Sequence[Expression] = (),
    ) -> Floats:
        """An expression of keys and of these columns, for each group in `at`; NaN where one of the others is
        not above 0.
        """
        if isinstance(part, Field) and part.name in columns:
            return columns[part.name]
        used = {field.name for field in fields_of(part)}
        keys = {name: column[at] for name, column in self._keys.items() if name in used}
        return self._evaluate(part, positive, {**columns, **keys}, len(at))

    def _used(self, expression: Expression) -> list[BoundedMeasure]:
        names = {field.name for field in fields_of(expression)}
        return [measure for name, measure in self._measures.items() if name in names]


def lost_something(lost: Lost) -> bool:
    """Whether limits leave anything out, as far as is known."""
    return bool(lost.high or lost.above.high or lost.below.high)


def _field(measure: BoundedMeasure) -> Field:
    return Field(name=measure.measure.name, type=ValueType.NUMBER)


def _is_number_or_condition(part: Expression) -> bool:
    return part.type.numeric or part.type is ValueType.BOOLEAN


def _draws(groups: int, miss: float, left: int) -> int | None:
    """How many times the noise of a group is drawn; None if so many are not left."""
    least = ceil(_LEAST_BEYOND / miss)
    if least > _DRAWS_AT_ONCE or least * groups > left:
        return None
    return max(least, min(_MOST_DRAWS, _DRAWS_AT_ONCE // max(1, groups)))
