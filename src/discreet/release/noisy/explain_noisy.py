"""What a question over noisy answers would cost and how accurate it would be, before anything is spent."""

from dataclasses import replace

import numpy as np

from discreet.aggregates.shape import Shape
from discreet.aggregates.vectors import Histogram
from discreet.answers.explanation import ErrorStatement, Explanation
from discreet.bounds.calibrate import Plan
from discreet.bounds.leaves import NoisyPlan
from discreet.model.deadline import Deadline
from discreet.model.noisy_table import tables_within
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend, amount_of
from discreet.model.query import group_count
from discreet.release.estimate import Noisy
from discreet.release.exact_vectors import public_keys
from discreet.release.explain import explain, priced
from discreet.release.noisy.answer import DrawnLeaf, noisy_answer
from discreet.release.noisy.shape import Shapes

_MOST_CELLS = 2_000
"""Errors of more numbers are not simulated before somebody pays for them: that would take too long."""


def explain_noisy(
    plan: NoisyPlan, dataset: Dataset, deadline: Deadline, *, budget: Spend, left: Spend, questions: int = 1
) -> Explanation:
    """What is said of its leaves, and the errors of what is computed from them, where they are known.

    So many questions share the limits on what that may take.
    """
    leaves = [explain(leaf, dataset, budget=budget, left=left) for leaf in plan.leaves]
    first = leaves[0]
    errors, shares, taken = [], {}, set[str]()
    for found, leaf in zip(leaves, plan.leaves, strict=True):
        names: dict[str, str] = {}
        part = float(amount_of(leaf.loss) / amount_of(plan.loss))
        for name, share in found.shares.items():
            names[name] = _free(name, taken)
            shares[names[name]] = share * part
        errors += [replace(error, measure=names[error.measure]) for error in found.errors]
    known, unknown = _computed(plan, deadline, taken, questions)
    whole = priced(first, plan.loss, dataset, budget=budget, left=left, way="", reach=0.0)
    groups = [found.groups for found in leaves]
    return replace(
        whole,
        groups=None if None in groups else sum(each or 0 for each in groups),
        shares=shares,
        errors=(*errors, *known),
        weights=" and ".join(dict.fromkeys(found.weights for found in leaves)),
        noise=" and ".join(dict.fromkeys(found.noise for found in leaves)),
        private_groups=next((found.private_groups for found in leaves if found.private_groups), None),
        alternatives=first.alternatives if len(leaves) == 1 else (),
        notes=tuple(dict.fromkeys([*(note for found in leaves for note in found.notes), *unknown])),
    )


def _free(name: str, taken: set[str]) -> str:
    """A name for each measure; two leaves may give the same one."""
    free, others = name, 1
    while free in taken:
        others += 1
        free = f"{name} ({others})"
    taken.add(free)
    return free


def _computed(
    plan: NoisyPlan, deadline: Deadline, taken: set[str], questions: int
) -> tuple[list[ErrorStatement], list[str]]:
    """The errors of columns that are computed, and a note on those whose errors depend on the data."""
    shapes = Shapes(plan.leaves)
    found = shapes.read(plan.asked.table)
    columns = dict(zip(plan.asked.names, plan.asked.table.columns, strict=True))
    definitions = {name: found.defined[column.name] for name, column in columns.items()}
    noisy = [
        name
        for name, definition in definitions.items()
        if shapes.is_noisy(definition) and columns[name].type.numeric and name not in taken
    ]
    affine = [name for name in noisy if shapes.shape(definitions[name]) is Shape.AFFINE]
    statements: list[ErrorStatement] = []
    cells = max(each.most_rows for each in tables_within(plan.asked.table)) * len(columns)
    if affine and cells <= _MOST_CELLS and not found.selected and all(map(_is_known, plan.leaves)):
        drawn = [_nothing(leaf, questions) for leaf in plan.leaves]
        answer = noisy_answer(plan.asked, drawn, deadline, beforehand=True)
        for name in affine:
            if name in answer.raw and len(answer):
                each = float(np.nanmax((answer.high[name] - answer.low[name]) / 2))
                statements.append(ErrorStatement(measure=name, each=each, all=each, of="value"))
    told = {statement.measure for statement in statements}
    unknown = [name for name in noisy if name not in told]
    if not unknown:
        return statements, []
    return statements, [f"{' and '.join(unknown)}: the error, if there is one, is known with the answer."]


def _is_known(leaf: Plan) -> bool:
    """Whether its groups are public, and all that it releases is sums."""
    parts = leaf.bounded.parts
    query = leaf.bounded.query
    return (
        not query.private_keys
        and query.picks is None
        and not any(isinstance(part, Histogram) for part in parts)
    )


def _nothing(leaf: Plan, questions: int) -> DrawnLeaf:
    """An answer in which all noisy numbers are 0: what is affine in them errs by the same everywhere."""
    groups = group_count(leaf.bounded.query)
    used = {part for measure in leaf.bounded.measures for part in measure.parts}
    sums = {part: np.zeros(groups) for part in used}
    noisy = Noisy(sums=sums, trees={}, left_out={}, seed=0, questions=questions)
    return DrawnLeaf(plan=leaf, keys=public_keys(leaf.bounded.query), noisy=noisy, groups=groups)
