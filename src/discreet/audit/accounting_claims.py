"""What releases cost together, checked against the laws of the releases themselves.

Composition, groups, conversions between currencies and filters are theorems; here the code that applies them
is checked where the law of everything that was released is known exactly.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.audit.claims import ADD_REMOVE, Claim, additive_claim
from discreet.audit.laws import exponential_law, product_law, response_law
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.selection import ExponentialMechanism

_MOST = 8  # a filter that wrongly admits everything is asked so often


def accounting_claims() -> Iterator[Claim]:
    yield from _composition_claims()
    yield from _conversion_claims()
    yield from _filter_claims()


def _composition_claims() -> Iterator[Claim]:
    response = RandomizedResponse.for_loss(Fraction(1, 3))
    total: Loss = response.loss()
    for _ in range(2):
        total = total.compose(response.loss())
    yield Claim(
        name="Composition: 3 randomized responses",
        claimed=PureLoss(epsilon=Fraction(1)),
        stated=total,
        law=lambda side: product_law(*[response_law(float(response.keep), 2, side)] * 3),
        draw=lambda side, n: response.release(np.full((n, 3), side)) @ np.array([4, 2, 1]),
        samples=2**18,
    )
    count, group = Sensitivity.scalar(1, ADD_REMOVE), Sensitivity.scalar(3, ADD_REMOVE)
    laplace = DiscreteLaplace.for_loss(Fraction(1, 3), count)
    claimed: Loss = laplace.loss(count).for_group(3)
    yield additive_claim("Group of 3: Laplace count", laplace, group, claimed, [0], [3])
    gaussian = DiscreteGaussian.for_loss(Fraction(1, 18), count)
    claimed = gaussian.loss(count).for_group(3)
    yield additive_claim("Group of 3: Gaussian count", gaussian, group, claimed, [0], [3])


def _conversion_claims() -> Iterator[Claim]:
    count = Sensitivity.scalar(1, ADD_REMOVE)
    response = RandomizedResponse.for_loss(Fraction(1, 2))
    yield _responses("Conversion: ε to ρ", response, 1, PureLoss(epsilon=Fraction(1, 2)).concentrated())
    gaussian = DiscreteGaussian(sigma_squared=Fraction(4))
    delta = Fraction(1, 10**4)
    stated = gaussian.loss(count).approximate(delta)
    yield additive_claim("Conversion: ρ to ε at δ", gaussian, count, stated, [0], [1], stated=stated)
    budget = ApproximateLoss(epsilon=Fraction(1), delta=delta)
    rho = ConcentratedFilter.for_budget(1, delta, threshold_share=0).rho
    all_of_it = DiscreteGaussian.for_loss(rho, count)
    yield additive_claim("Conversion: (ε, δ) to ρ", all_of_it, count, budget, [0], [1], stated=budget)
    selection = ExponentialMechanism.for_loss(Fraction(1, 2), ScoreSensitivity.counts(ADD_REMOVE))
    scores = [[0, 1], [1, 1]]
    yield Claim(
        name="Conversion: selection to ρ",
        claimed=ConcentratedLoss(rho=Fraction(1, 32), delta=Fraction(0)),
        stated=selection.concentrated_loss(ScoreSensitivity.counts(ADD_REMOVE)),
        law=lambda side: exponential_law(scores[side], float(selection.temperature)),
        draw=lambda side, n: np.array([selection.release(scores[side]) for _ in range(n)]),
        samples=2**11,
    )


def _filter_claims() -> Iterator[Claim]:
    """Ask a filter until it refuses: all that it admitted is within the budget."""
    response = RandomizedResponse.for_loss(Fraction(3, 10))
    pure, admitted = PureFilter(epsilon=Fraction(1)), 0
    while admitted < _MOST and pure.fits(response.loss()):
        pure, admitted = pure.spend(response.loss()), admitted + 1
    yield _responses("Filter: pure ε", response, admitted, PureLoss(epsilon=Fraction(1)))
    budget = ConcentratedLoss(rho=Fraction(1, 10), delta=Fraction(0))
    concentrated, admitted = ConcentratedFilter(rho=budget.rho, delta=budget.delta), 0
    while admitted < _MOST and concentrated.fits(response.loss()):
        concentrated, admitted = concentrated.spend(response.loss()), admitted + 1
    yield _responses("Filter: ρ", response, admitted, budget)


def _responses(name: str, response: RandomizedResponse, times: int, claimed: Loss) -> Claim:
    """The same person's answer, `times` times."""
    powers = 2 ** np.arange(times)[::-1]
    return Claim(
        name=name,
        claimed=claimed,
        stated=claimed,
        law=lambda side: product_law(*[response_law(float(response.keep), 2, side)] * times),
        draw=lambda side, n: response.release(np.full((n, times), side)) @ powers,
        samples=2**17,
    )
