"""The ε of a schedule that is fixed in advance, such as a training run or a nightly report.

Two accountants. *Rényi* (Mironov 2017) sums divergences in closed form. *Privacy loss distributions*
convolve what is known of each release and are tight up to rounding; they are Google's dp-accounting
(the extra ``accounting``), always with pessimistic rounding. Neither may decide when an analyst has to
stop: for that see `filters`. A schedule's ε is then charged as one loss.

The calls avoid known traps of dp-accounting. Distributions are built and composed here, because its
PLDAccountant ignores how often a randomized response is repeated. Discrete noise uses the discrete laws,
because the continuous ones under-count it. Its neighbour relation is never used, because it would double a
Gaussian's sensitivity: an event already says how far apart neighbours are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from discreet.accounting.convolution import Losses, LossStep, summed
from discreet.accounting.laws import (
    AnyPure,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Orders,
    RandomizedResponseLaw,
    ReleaseLaw,
)
from discreet.errors import InvalidInput, MissingExtra, NotComposable
from discreet.model.exact import (
    Number,
    positive_count,
    positive_delta,
    positive_epsilon,
    round_up,
    within,
)

_LAWS = (
    LaplaceNoise,
    GaussianNoise,
    DiscreteLaplaceNoise,
    DiscreteGaussianNoise,
    RandomizedResponseLaw,
    AnyPure,
)
_ORDERS: Orders = 1 + np.geomspace(1e-2, 1e7, 1801)
_SAMPLED_ORDERS: Orders = np.concatenate(
    [1 + np.arange(1, 100) / 10, np.arange(11.0, 64), 2.0 ** np.arange(6, 11)]
)  # whole orders and few fractions: a sampled Gaussian's divergence costs a sum for each
_FINEST_GRID = 1e-4
_MOST_LOSS = 500.0
_MOST_TIMES = 10**6
_STEP_ERROR = 5e-16
"""How much floats may lower any δ of one release. Not proved: the worst that was found is 1.2·10⁻¹⁶."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`times` releases of this law, each on a Poisson sample if the probability is below 1.

    Poisson sampling takes each person independently with this probability, anew each time, and keeps the
    sample secret. That it amplifies privacy is a statement about adding or removing a person, so the
    law's sensitivity must be the one under add/remove.
    """

    law: ReleaseLaw
    times: int = 1
    sampling_probability: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not isinstance(self.law, _LAWS):
            raise InvalidInput(
                f"A law of noise is expected, not a {type(self.law).__name__}.",
                remedy=f"Give one of {', '.join(law.__name__ for law in _LAWS)}.",
            )
        object.__setattr__(self, "times", positive_count(self.times, "times"))
        sampled = within(self.sampling_probability, "sampling_probability", Fraction(1, 10**9), Fraction(1))
        object.__setattr__(self, "sampling_probability", sampled)
        if self.sampled and isinstance(self.law, RandomizedResponseLaw | AnyPure):
            raise NotComposable(
                f"No accountant here covers {type(self.law).__name__} on a sample.",
                remedy="Leave out the sampling: the loss without it is an upper bound.",
            )

    @property
    def sampled(self) -> bool:
        return self.sampling_probability < 1


def rdp_epsilon(events: Sequence[Event], delta: Number) -> Fraction:
    """The ε (rounded up) at δ of all events together, by Rényi divergences.

    Divergences of one order add up under adaptive composition (Mironov 2017, arXiv 1702.07476v3,
    Proposition 1); the best order is converted by Canonne, Kamath, Steinke (arXiv 2004.00010v4),
    Proposition 12. The orders are a fixed grid: any order gives a true ε.
    """
    log_delta = math.log(positive_delta(delta))
    given = _checked(events)
    orders = _SAMPLED_ORDERS if any(event.sampled for event in given) else _ORDERS
    total = sum((event.times * _renyi(event, orders) for event in given), np.zeros_like(orders))
    epsilons = total + np.log1p(-1 / orders) - (log_delta + np.log(orders)) / (orders - 1)
    return round_up(max(0.0, float(epsilons.min())))


def pld_epsilon(events: Sequence[Event], delta: Number, *, grid: float | None = None) -> Fraction:
    """The ε (rounded up) at δ of all events together, by privacy loss distributions.

    Losses are rounded up onto a grid; `grid` makes it coarser. Any grid gives a valid ε. A coarse one is
    faster and gives a larger ε.
    """
    exact, composed = float(positive_delta(delta)), _composed(_checked(events), grid)
    error = max(each.error + each.infinite for each in composed)
    if exact < 10 * error:
        raise InvalidInput(
            f"Distributions of this many events cannot tell a delta below {10 * error:.2g} from 0.",
            remedy="Use rdp_epsilon, or a larger delta.",
        )
    return round_up(max(each.epsilon(exact) for each in composed))


def pld_delta(events: Sequence[Event], epsilon: Number) -> Fraction:
    """The δ (rounded up) at ε of all events together, by privacy loss distributions.

    It includes what Fourier transforms may have lost: see `convolution`.
    """
    at, composed = float(positive_epsilon(epsilon)), _composed(_checked(events))
    return min(Fraction(1), round_up(max(each.delta(at) for each in composed)))


def _renyi(event: Event, orders: Orders) -> Orders:
    if not event.sampled:
        return event.law.renyi(orders)
    if not isinstance(event.law, GaussianNoise):
        raise NotComposable(
            f"The Rényi divergence of {type(event.law).__name__} on a sample has no formula here.",
            remedy="Use pld_epsilon, or leave out the sampling: the loss without it is an upper bound.",
        )
    accounting = _dp_accounting()
    accountant = accounting.rdp.RdpAccountant(orders)
    noise = accounting.GaussianDpEvent(float(event.law.sigma))
    accountant.compose(accounting.PoissonSampledDpEvent(float(event.sampling_probability), noise))
    divergences: Orders = accountant.rdp
    return divergences


def _composed(events: Sequence[Event], grid: float | None = None) -> list[Losses]:
    """The losses of all events together: of removing a person, and of adding one."""
    grid = max(_grid(events), grid or 0.0)
    found = [(_distribution(event, grid), event.times) for event in events]
    removed = [_step(each._pmf_remove, times) for each, times in found]
    if all(each._symmetric for each, _ in found):
        return [summed(removed, grid)]
    return [summed(removed, grid), summed([_step(each._pmf_add, times) for each, times in found], grid)]


def _step(pmf: Any, times: int) -> LossStep:
    dense = pmf.to_dense_pmf()
    probabilities = np.asarray(dense._probs, dtype=float)
    lowest, infinite = int(dense._lower_loss), float(dense._infinity_mass)
    return LossStep(
        lowest=lowest, probabilities=probabilities, infinite=infinite, times=times, error=_STEP_ERROR
    )


def _distribution(event: Event, grid: float) -> Any:
    """One release, rounded onto the grid by "connect the dots" (Doroshenko et al. 2022, arXiv 2207.04380)."""
    pld = _dp_accounting().pld.privacy_loss_distribution
    sampled = float(event.sampling_probability)
    options = {
        "value_discretization_interval": grid,
        "sampling_prob": sampled,
        "pessimistic_estimate": True,
        "use_connect_dots": True,
    }
    match event.law:
        case LaplaceNoise(scale=scale):
            return pld.from_laplace_mechanism(float(scale), **options)
        case GaussianNoise(sigma=sigma):
            return pld.from_gaussian_mechanism(float(sigma), **options)
        case DiscreteLaplaceNoise(scale=scale, change=change):
            return pld.from_discrete_laplace_mechanism(float(1 / scale), change, **options)
        case DiscreteGaussianNoise(sigma_squared=variance, change=change):
            return pld.from_discrete_gaussian_mechanism(math.sqrt(variance), change, **options)
        case RandomizedResponseLaw() | AnyPure() as law:
            return _response(law.probabilities, grid)
    raise AssertionError(event.law)


def _response(probabilities: tuple[float, float, float], grid: float) -> Any:
    """Randomized response: three losses ε, 0 and −ε, each rounded onto the grid on both sides."""
    module = _dp_accounting().pld
    keep, other, rest = probabilities
    place = math.log(keep / other) / grid
    places = sorted({-math.ceil(place), -math.floor(place), 0, math.floor(place), math.ceil(place)})
    factors = [math.exp(at * grid) for at in places]
    deltas = [
        max(0.0, keep - other * factor) + max(0.0, other - keep * factor) + rest * max(0.0, 1 - factor)
        for factor in factors
    ]
    return module.privacy_loss_distribution.PrivacyLossDistribution(
        module.pld_pmf.create_pmf_pessimistic_connect_dots(grid, places, deltas)
    )


def _grid(events: Sequence[Event]) -> float:
    """The distance of grid points: small beside the losses of each event, but two million points at most.

    Any grid gives a valid ε; a coarse one gives a larger ε.
    """
    if sum(event.times for event in events) > _MOST_TIMES:
        raise InvalidInput(
            "Privacy loss distributions are composed at most a million times.", remedy="Use rdp_epsilon."
        )
    second_order = np.array([2.0])
    spreads = [
        (math.sqrt(float(event.law.renyi(second_order)[0])), float(event.sampling_probability), event.times)
        for event in events
    ]
    total = sum(times * spread**2 * min(1.0, sampled * 2) for spread, sampled, times in spreads)
    if total > _MOST_LOSS:
        raise InvalidInput(
            "This schedule loses too much for privacy loss distributions: an ε in the hundreds.",
            remedy="Add noise or leave out events; for the number itself, use rdp_epsilon.",
        )
    finest = min((sampled * spread / 20 for spread, sampled, _ in spreads), default=_FINEST_GRID)
    return max(min(_FINEST_GRID, finest), (total + 20 * math.sqrt(total)) / 2e6)


def _checked(events: Sequence[Event]) -> list[Event]:
    given = list(events)
    for event in given:
        if not isinstance(event, Event):
            raise InvalidInput(
                f"An event is expected, not a {type(event).__name__}.",
                remedy="Give Event(law=…, times=…).",
            )
    return given


def _dp_accounting() -> ModuleType:
    try:
        import dp_accounting
    except ImportError as missing:
        raise MissingExtra(
            "This needs dp-accounting, which is not installed.",
            remedy="pip install 'discreet[accounting]'",
        ) from missing
    module: ModuleType = dp_accounting
    return module
