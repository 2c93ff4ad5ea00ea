"""Splits the price of a question over its parts, so that the errors of its measures are least.

Let part i get noise of standard deviation sᵢ relative to its own bound. To first order, and for values spread
evenly over their bounds, the error of a measure is a sum of cᵢ·sᵢ. Its aggregate says the c² (`squares`).
What is least is Σ aᵢ·sᵢ², with aᵢ the sum of the c² of the measures that use part i. Gaussian noise has
s² ∝ 1/ρ, so ρᵢ ∝ √aᵢ; Laplace noise s² ∝ 1/ε², so εᵢ ∝ ∛aᵢ. Shares are whole 1024ths, or finer if there are
many, that add up to 1: what is asked for is what is spent.
The estimate of what is left out has a share of its own.
"""

from fractions import Fraction

from discreet.aggregates.registry import AGGREGATES
from discreet.bounds.bound import Bounded, without_left_out
from discreet.bounds.facts import parts_in_order

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
    roots = roots_of(bounded, concentrated=concentrated)
    total = _STEPS * max(1, len(roots) // 16)
    steps = [max(1, int(total * root / sum(roots))) for root in roots]
    order = range(len(steps)) if in_order_asked else parts_in_order(bounded)
    steps[max(order, key=steps.__getitem__)] += total - sum(steps)
    return [Fraction(step, total) for step in steps]


def roots_of(bounded: Bounded, *, concentrated: bool) -> list[float]:
    """How much each part that is measured matters, as its share grows with it."""
    bounded = without_left_out(bounded)
    squares = [0.0] * len(bounded.parts)
    for measure in bounded.measures:
        known = AGGREGATES[measure.measure.aggregate].squares
        for part, square in zip(measure.parts, known, strict=True):
            squares[part] += square
    if bounded.selector is not None and not squares[bounded.selector]:
        squares[bounded.selector] = 1.0
    return [(square or 1.0) ** (1 / 2 if concentrated else 1 / 3) for square in squares]
