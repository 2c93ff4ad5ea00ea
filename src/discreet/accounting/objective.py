"""What objective perturbation costs, alone or after releases with Gaussian noise: certified upper bounds.

The mechanism
    θ is the minimum of Σ f(θ·x) + ½·θᵀΛθ + b·θ over the rows x, b normal with variance σ² in each coordinate,
    Λ diagonal and at least λ. Each row's f is convex with a derivative f′ of one sign, which its label
    decides; |f′|·‖x‖ ≤ L and f″·‖x‖² ≤ β, where f″ exists almost everywhere (f′ is Lipschitz). One person
    has one row, which is there or not.

The proof
    b ↦ θ is one to one, and the b that leads to θ on data D is b_D(θ) = −Σ f′·x − Λθ: Lipschitz, with a
    Lipschitz inverse, so that θ has the density φ_σ(b_D(θ))·det H_D(θ), H_D = Σ f″·xxᵀ + Λ. Let D′ be D with
    one more row, g = f′·x its gradient. Then b_D′ = b_D − g and det H_D′ = det H_D · (1 + f″·xᵀH_D⁻¹x), a
    factor between 1 and 1 + β/λ =: e^C. So the logarithm of the ratio of densities is at most
        from D′ to D:  (‖g‖² + 2·b_D′·g)/2σ² + C
        from D to D′:  (‖g‖² − 2·b_D·g)/2σ²
    In both, b is normal on the side where the probability is taken, and b·g = (f′·‖x‖)·(b·x/‖x‖): x is fixed
    and f′‖x‖ is between 0 and ±L, with a sign that is fixed. So with Δ = L/σ the loss is at most
        Y = C + Δ²/2 + Δ·max(0, N),  N standard normal.
    Let G(ε; Δ) = E[(1 − e^(ε − Δ²/2 − ΔN))⁺], the δ of Gaussian noise (Balle & Wang, arXiv 1805.06530v2):
        E[(1 − e^(ε − Y))⁺] ≤ G(ε − C; Δ) + ½·(1 − e^(ε − C − Δ²/2))⁺:
    where N ≥ 0 the two expectations are over the same numbers, and N < 0 adds at most the second term.

After other releases
    that are Gaussian with ρ₁ in all (chosen adaptively, each with a ρ that is fixed), the loss is the sum of
    two, of which the first has the law of Gaussian noise with Δ₁² = 2ρ₁ or is less (Smith & Thakurta, arXiv
    2210.17520: Gaussian privacy adds up as if nothing were adaptive). Averaging the line above over it:
        δ(ε) ≤ G(ε − C; √(Δ₁² + Δ²)) + ½·G(ε − C − Δ²/2; Δ₁).

Redberg, Koskela & Wang (arXiv 2401.00583v1) bound the same mechanism by privacy profiles too. Nothing of
theirs is needed here.
"""

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil

from discreet.errors import InvalidInput
from discreet.model.exact import decimal_context, exp_bounds

_DIGITS = 60
_WORK = decimal_context(_DIGITS)
_SLACK = Decimal("1e-45")  # a continued fraction of at most 10⁵ terms loses less than 1e-54 of itself
_ROOT_OF_TWO_PI = Fraction(25066282746310005024157652848, 10**28)  # rounded down
_LEAST_START = Fraction(1, 2)
_STEPS = 45


def objective_delta(epsilon: Fraction, *, determinant: Fraction, before: Fraction, rho: Fraction) -> Fraction:
    """The δ at ε, rounded up: C is `determinant`, ρ₁ is `before`, and `rho` is Δ²/2 of the objective."""
    left = epsilon - determinant
    together = gaussian_profile(left, _root_up(2 * (before + rho)))
    if not before:
        return min(Fraction(1), together + (Fraction(1, 2) if left < rho else 0))
    return min(Fraction(1), together + gaussian_profile(left - rho, _root_up(2 * before)) / 2)


def gaussian_profile(epsilon: Fraction, change: Fraction) -> Fraction:
    """G(ε; Δ), rounded up; 1 where ε < Δ²/2 + Δ/2, as only small δ are of use.

    With t = ε/Δ − Δ/2 it is P[N > t] − e^ε·P[N > t + Δ] = φ(t)·(M(t) − M(t + Δ)), M(t) = P[N > t]/φ(t), as
    e^ε·φ(t + Δ) = φ(t).
    """
    start = epsilon / change - change / 2
    if start < _LEAST_START:
        return Fraction(1)
    if start > 60:
        return exp_bounds(Fraction(-1800), 40)[1]
    above = _mills(start)[1] - _mills(start + change)[0]
    return min(Fraction(1), exp_bounds(-start * start / 2, 40)[1] / _ROOT_OF_TWO_PI * above)


@lru_cache(maxsize=1024)
def largest_objective_rho(
    epsilon: Fraction, delta: Fraction, *, determinant: Fraction, share_before: Fraction, inflated: Fraction
) -> Fraction:
    """The largest ρ in all (rounded down) for which `objective_delta` is at most δ; 0 if there is none.

    `share_before` of it goes to the releases before, and counts `inflated` times as much.
    """

    def fits(rho: Fraction) -> bool:
        before = rho * share_before * inflated
        return (
            objective_delta(epsilon, determinant=determinant, before=before, rho=rho * (1 - share_before))
            <= delta
        )

    low, high = Fraction(0), Fraction(epsilon)
    for _ in range(_STEPS):
        middle = (low + high) / 2 if low else high / 4
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def least_ridge(determinant: Fraction, curvature: Fraction) -> Fraction:
    """The least λ (rounded up) with ln(1 + β/λ) ≤ C, β the curvature of one row."""
    if determinant <= 0:
        raise InvalidInput("A determinant of nothing needs a ridge without end.", remedy="Give one above 0.")
    return curvature / (exp_bounds(determinant, 40)[0] - 1)


def _mills(t: Fraction) -> tuple[Fraction, Fraction]:
    """P[N > t]/φ(t) from below and from above.

    It is 1/(t + 1/(t + 2/(t + 3/(t + …)))), of which the values that stop at an even and at an odd place lie
    on different sides (Laplace); they are 10⁻²⁰ apart after 300/t² places or so.
    """
    places = ceil(300 / (t * t)) + 40
    with localcontext(_WORK):
        exact = Decimal(t.numerator) / Decimal(t.denominator)
        found = sorted(_stopped(exact, count) for count in (places, places + 1))
        # t itself is rounded; the value falls by less than itself/t for each 1 that t grows
        return Fraction(found[0] * (1 - _SLACK)), Fraction(found[1] * (1 + _SLACK))


def _stopped(t: Decimal, places: int) -> Decimal:
    tail = t
    for place in range(places, 0, -1):
        tail = t + place / tail
    return 1 / tail


def _root_up(x: Fraction) -> Fraction:
    """√x, rounded up."""
    context = decimal_context(40, ROUND_CEILING)
    root = context.sqrt(context.divide(Decimal(x.numerator), Decimal(x.denominator)))
    return Fraction(context.next_plus(root))
