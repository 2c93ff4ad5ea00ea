"""Cells with too few people show no number, if the policy says so (`min_people`).

How many people are behind a cell is private. So each question also counts them, with noise: once for all
rows, and once for each FILTER. A cell is shown if its noisy number is above min_people by more than the noise
makes of a smaller one: a cell with fewer people is shown with a probability of at most 5 %. This is
post-processing of what was paid for. It is a rule of the owner, and no privacy rests on it.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.people import PEOPLE
from discreet.arrays import ColumnValues, Floats
from discreet.bounds.bound import BoundedMeasure
from discreet.bounds.calibrate import Plan

_BOTH_SIDES = Fraction(9, 10)
"""5 % on either side."""


def hidden_cells(plan: Plan, estimates: Mapping[str, Floats]) -> dict[str, NDArray[np.bool_]]:
    """By measure: the groups whose number is not shown. Empty if there is no such rule."""
    least = plan.bounded.query.min_people
    counts = people_counts(plan)
    hidden: dict[str, NDArray[np.bool_]] = {}
    for measure in plan.bounded.measures if least else ():
        people = next((each for each in counts if _same_rows(each, measure)), None)
        if people is not None:
            hidden[measure.measure.name] = ~(estimates[people.measure.name] >= shown_from(plan, people))
    return hidden


def people_counts(plan: Plan) -> list[BoundedMeasure]:
    return [each for each in plan.bounded.measures if each.measure.aggregate is PEOPLE.aggregate]


def shown_from(plan: Plan, people: BoundedMeasure) -> float:
    """The noisy number of people from which on a cell is shown."""
    certain = replace(plan, request=replace(plan.request, confidence=_BOTH_SIDES))
    return plan.bounded.query.min_people + float(certain.error(people).high)


def without_cells(column: ColumnValues, hidden: NDArray[np.bool_]) -> ColumnValues:
    """The column with what is hidden missing."""
    if not hidden.any():
        return column
    if column.dtype.kind == "f" and not isinstance(column, np.ma.MaskedArray):
        return np.where(hidden, np.nan, column)
    return np.ma.MaskedArray(np.ma.getdata(column), mask=np.ma.getmaskarray(column) | hidden)


def _same_rows(people: BoundedMeasure, measure: BoundedMeasure) -> bool:
    return people.measure.condition == measure.measure.condition
