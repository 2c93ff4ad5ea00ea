"""How the price of a question is split over its parts: so that the errors of its measures are least.

Let part i get noise of standard deviation sᵢ relative to its own bound. To first order, and for values spread
evenly over their bounds, the error of a measure is a sum of cᵢ·sᵢ. Its aggregate says the c² (`squares`).
What is least is Σ aᵢ·sᵢ², with aᵢ the sum of the c² of the measures that use part i. Gaussian noise has
s² ∝ 1/ρ, so ρᵢ ∝ √aᵢ; Laplace noise s² ∝ 1/ε², so εᵢ ∝ ∛aᵢ. Shares are whole 1024ths, or finer if there are
many, that add up to 1: what is asked for is what is spent.
"""

from fractions import Fraction

from discreet.aggregates.registry import AGGREGATES
from discreet.bounds.bound import Bounded
from discreet.bounds.facts import parts_in_order

_STEPS = 1024


def split(bounded: Bounded, *, concentrated: bool, in_order_asked: bool = False) -> list[Fraction]:
    """The share of each part, in the order of the parts.

    What is left over by rounding goes to the first of the largest, in an order that does not depend on what
    was named first; `in_order_asked` is how it was done at first.
    """
    squares = [0.0] * len(bounded.parts)
    for measure in bounded.measures:
        known = AGGREGATES[measure.measure.aggregate].squares
        for part, square in zip(measure.parts, known, strict=True):
            squares[part] += square
    if bounded.selector is not None and not squares[bounded.selector]:
        squares[bounded.selector] = 1.0
    roots = [(square or 1.0) ** (1 / 2 if concentrated else 1 / 3) for square in squares]
    total = _STEPS * max(1, len(roots) // 16)
    steps = [max(1, int(total * root / sum(roots))) for root in roots]
    order = range(len(steps)) if in_order_asked else parts_in_order(bounded)
    steps[max(order, key=steps.__getitem__)] += total - sum(steps)
    return [Fraction(step, total) for step in steps]
