"""Splits the price of a question over its parts, so that the errors of its measures are least.

Let part i get noise of standard deviation sᵢ relative to its own bound. To first order, and for values spread
evenly over their bounds, the error of a measure is a sum of cᵢ·sᵢ. Its aggregate says the c² (`squares`).
What is least is Σ aᵢ·sᵢ², with aᵢ the sum of the c² of the measures that use part i. Gaussian noise has
s² ∝ 1/ρ, so ρᵢ ∝ √aᵢ; Laplace noise s² ∝ 1/ε², so εᵢ ∝ ∛aᵢ. Shares are whole 1024ths, or finer if there are
many, that add up to 1: what is asked for is what is spent.
The estimate of what is left out has a share of its own.

The parts of a family have one share together, and each of them noise for all of it. A measure whose vectors
are computed from them has an error of cᵢ·vᵢ·s, with vᵢ² the variance of its vector, relative to that of the
vector by itself at the same price.
"""

from collections.abc import Sequence
from fractions import Fraction

from discreet.aggregates.joint import JointSum
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import WeightedSum, known
from discreet.bounds.bound import Bounded, MeasuredVector, without_left_out
from discreet.bounds.facts import parts_in_order
from discreet.bounds.together.families import noise_of

_STEPS = 1024


def split(bounded: Bounded, *, concentrated: bool, in_order_asked: bool = False) -> list[Fraction]:
    """The share of each part, in the order of the parts. What estimates what is left out comes last."""
    measured = without_left_out(bounded)
    shares = _split(measured, concentrated=concentrated, in_order_asked=in_order_asked)
    lost, share = len(bounded.parts) - len(measured.parts), bounded.left_out_share
    return [each * (1 - share) for each in shares] + [share / lost] * lost if lost else shares


def _split(bounded: Bounded, *, concentrated: bool, in_order_asked: bool) -> list[Fraction]:
    """The shares of what measures are computed from.

    What rounding leaves over goes to the first of the largest shares, in an order that does not depend on
    what the question names first. With `in_order_asked` it does, as in older versions.
    """
    blocks, roots = bounded.blocks, roots_of(bounded, concentrated=concentrated)
    total = _STEPS * max(1, len(roots) // 16)
    steps = [max(1, int(total * root / sum(roots))) for root in roots]
    order: Sequence[int] = range(len(steps))
    if not in_order_asked:
        block_of = {part: place for place, block in enumerate(blocks) for part in block}
        order = list(dict.fromkeys(block_of[part] for part in parts_in_order(bounded)))
    steps[max(order, key=steps.__getitem__)] += total - sum(steps)
    shares = {part: step for block, step in zip(blocks, steps, strict=True) for part in block}
    return [Fraction(shares[part], total) for part in range(len(bounded.parts))]


def roots_of(bounded: Bounded, *, concentrated: bool) -> list[float]:
    """How much each part or family that is measured matters, as its share grows with it."""
    bounded = without_left_out(bounded)
    squares = [0.0] * len(bounded.parts)
    for measure in bounded.measures:
        weights = AGGREGATES[measure.measure.aggregate].squares
        for each, square in zip(measure.vectors, weights, strict=True):
            squares[each.terms[0][0]] += square * variance_of(each, bounded, concentrated=concentrated)
    if bounded.selector is not None and not squares[bounded.selector]:
        squares[bounded.selector] = 1.0
    together = [sum(squares[part] for part in block) for block in bounded.blocks]
    return [(square or 1.0) ** (1 / 2 if concentrated else 1 / 3) for square in together]


def variance_of(each: MeasuredVector, bounded: Bounded, *, concentrated: bool) -> float:
    """Of a vector that is computed from a family, relative to its own at the same price; 1 of any other."""
    parts = [(bounded.parts[part], weight) for part, weight in each.terms]
    if not isinstance(parts[0][0], JointSum):
        return 1.0
    vector = known(WeightedSum, each.vector)
    variance = sum(
        noise_of(known(JointSum, part), bounded.neighbours, gaussian=concentrated)
        * float(weight / vector.bound) ** 2
        for part, weight in parts
    )
    return variance / noise_of(vector, bounded.neighbours, gaussian=concentrated)
