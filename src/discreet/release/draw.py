"""The last stages: noise, and then whatever the question computes from noisy numbers, which is free.

`draw_noise` is the release: its bytes are stored before anything else happens. `answer_from` computes the
answer from those bytes alone, so that it can be done again, and comes out the same.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.aggregate import paced
from discreet.aggregates.vectors import Histogram, LeftOut, Scores, known
from discreet.answers.released import Released
from discreet.arrays import ColumnValues, Floats, Integers
from discreet.bounds.calibrate import Plan
from discreet.bounds.facts import parts_in_order
from discreet.model.deadline import Deadline
from discreet.model.query import Picks
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import NoisyTree, QuantileTree
from discreet.noise.selection import Selection
from discreet.release.drawn import Drawn, order_of_keys
from discreet.release.estimate import Noisy
from discreet.release.exact_vectors import ExactVectors, Results, exact_vectors
from discreet.release.notes.answer_notes import notes_of
from discreet.release.outputs import check_time, compute_outputs
from discreet.release.reconcile import RECONCILED, REPORT_RECONCILED, Reconciled, reconcile


def draw_noise(plan: Plan, results: Results) -> bytes:
    """Add noise to the exact results of a plan's statements: what is released, to be stored at once."""
    exact = exact_vectors(plan, results)
    private, order = plan.bounded.query.private_keys, parts_in_order(plan.bounded)
    shown, counts = _choose_groups(plan, exact)
    if private:
        by_key = order_of_keys([key[shown] for key in exact.keys])
        shown, counts = shown[by_key], None if counts is None else counts[by_key]
    sums, trees = _add_noise(plan, exact, shown, counts)
    return Drawn(
        groups=len(shown),
        keys=tuple(key[shown] for key in exact.keys) if private else (),
        places=shown.astype(np.int64) if plan.bounded.query.picks is not None and not private else None,
        sums={order.index(part): vector for part, vector in sums.items()},
        trees={order.index(part): nodes for part, nodes in trees.items()},
        left_out={order.index(part): _release_people(plan, part, exact) for part in exact.left_out},
        reconciled=len(plan.bounded.query.sets) > 1,
    ).encode()


def answer_from(
    plan: Plan,
    stored: bytes,
    deadline: Deadline,
    *,
    questions: int = 1,
    within_report: Reconciled | None = None,
) -> Released:
    """The answer, from what was drawn. The same bytes give the same answer, if there is time enough.

    So many questions of a report share the limits of one answer, and may be reconciled with each other.
    """
    drawn = Drawn.decode(stored)
    if drawn is None:  # stored by a version that kept whole answers
        return Released.decode(stored)
    keys, noisy, groups = noisy_numbers(plan, drawn, deadline)
    agreed, note = within_report, REPORT_RECONCILED
    if agreed is None and drawn.reconciled:
        (agreed,), note = reconcile([plan], [noisy.sums]), RECONCILED
    noisy = replace(agreed.put_into(noisy) if agreed else noisy, questions=questions)
    notes = (*notes_of(plan), *([note] if noisy.mixed else []))
    return compute_outputs(plan, keys, noisy, groups, notes, deadline)


def noisy_numbers(
    plan: Plan, drawn: Drawn, deadline: Deadline
) -> tuple[tuple[ColumnValues, ...], Noisy, int]:
    """The keys of the groups that are shown, their noisy numbers, and how many groups there are."""
    drawn = drawn.in_order_of_keys()  # intervals follow from the draw, and never from the order of rows
    groups, order = drawn.groups, _order_of_parts(plan, drawn)
    trees = {order[place]: nodes for place, nodes in drawn.trees.items()}
    left_out = {order[place]: people for place, people in drawn.left_out.items()}
    in_time = partial(check_time, deadline)
    noisy = Noisy(
        sums=noisy_sums(plan, drawn),
        trees={i: _trees(plan, i, nodes, groups, in_time) for i, nodes in trees.items()},
        left_out={i: people.astype(np.float64) for i, people in left_out.items()},
        seed=int.from_bytes(hashlib.sha256(drawn.encode()).digest(), "big"),
        check_time=in_time,
    )
    return drawn.keys_of(plan), noisy, groups


def noisy_sums(plan: Plan, drawn: Drawn) -> dict[int, Floats]:
    """By part, in the units of the question."""
    order, parts = _order_of_parts(plan, drawn), plan.bounded.parts
    sums = {order[place]: vector for place, vector in drawn.sums.items()}
    return {i: vector.astype(np.float64) * float(parts[i].scale) for i, vector in sums.items()}


def _order_of_parts(plan: Plan, drawn: Drawn) -> Sequence[int]:
    return parts_in_order(plan.bounded) if drawn.ordered else range(len(plan.bounded.parts))


def _trees(
    plan: Plan, part: int, nodes: Integers, groups: int, in_time: Callable[[], None]
) -> list[NoisyTree]:
    mechanism = known(QuantileTree, plan.mechanisms[part])
    size = sum(mechanism.shape.sizes)
    return [
        NoisyTree(mechanism=mechanism, noisy=nodes[start : start + size])
        for start in paced(range(0, groups * size, size), in_time)
    ]


def _choose_groups(plan: Plan, exact: ExactVectors) -> tuple[NDArray[np.intp], ColumnValues | None]:
    """The groups of the answer: all public ones, the picked ones, or those whose noisy count passes."""
    if plan.bounded.query.picks is not None:
        return _draw_top(plan, exact), None
    if plan.threshold is None or plan.bounded.selector is None:
        return np.arange(len(exact)), None
    return plan.threshold.release(exact.sums[plan.bounded.selector])


def _draw_top(plan: Plan, exact: ExactVectors) -> NDArray[np.intp]:
    picks = known(Picks, plan.bounded.query.picks)
    mechanism = plan.mechanisms[0]
    if not isinstance(mechanism, Selection):
        raise TypeError("A selection is expected here.")
    scores = exact.sums[0] if picks.largest else -exact.sums[0]
    return np.array(mechanism.release_top(scores, min(picks.count, len(scores))), dtype=np.intp)


def _add_noise(
    plan: Plan, exact: ExactVectors, shown: NDArray[np.intp], counts: ColumnValues | None
) -> tuple[dict[int, Integers], dict[int, Integers]]:
    """Noise on every vector; on one that selected the groups it has been added already."""
    sums: dict[int, Integers] = {}
    trees: dict[int, Integers] = {}
    for i, (mechanism, part) in enumerate(zip(plan.mechanisms, plan.bounded.parts, strict=True)):
        match part, mechanism:
            case ((Scores() | LeftOut()), _):
                continue
            case Histogram(), QuantileTree():
                trees[i] = _draw_trees(mechanism, part, exact, i, shown)
            case _ if i == plan.bounded.selector and counts is not None:
                sums[i] = counts
            case _, DiscreteLaplace() | DiscreteGaussian():
                vector = exact.sums[i][shown]
                sums[i] = mechanism.release(vector) if len(vector) else vector
    return sums, trees


def _release_people(plan: Plan, part: int, exact: ExactVectors) -> Integers:
    """Noise on the number of people in each bin of what is left out."""
    mechanism = plan.mechanisms[part]
    if not isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        raise TypeError("Added noise is expected here.")
    return mechanism.release(exact.left_out[part])


def _draw_trees(
    mechanism: QuantileTree, part: Histogram, exact: ExactVectors, index: int, shown: NDArray[np.intp]
) -> Integers:
    """The noisy trees of all groups, one after the other."""
    trees = [mechanism.release_nodes(exact.histogram(index, int(group), part.leaves)) for group in shown]
    return np.concatenate(trees) if trees else np.empty(0, dtype=np.int64)
