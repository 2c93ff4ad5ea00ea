"""What objective perturbation costs, alone or after releases with Gaussian noise: certified upper bounds.

The mechanism
    θ is the minimum of Σ f(θ·x) + ½·θᵀΛθ + b·θ over the rows x, b normal with variance σ² in each coordinate,
    Λ diagonal and at least λ. Each row's f is convex, with a Lipschitz derivative f′ of one sign, which its
    label decides. With u = |f′|·‖x‖, the length of the row's gradient, and almost everywhere,
        u ≤ L   and   f″·‖x‖² ≤ B·u·(1 − u/L) + c:
    the curvature falls as the gradient nears its largest length, as it does for logistic losses. One person
    has one row, present or absent.

The proof
    b ↦ θ is one to one, and the b that leads to θ on data D is b_D(θ) = −Σ f′·x − Λθ: Lipschitz, with a
    Lipschitz inverse, so that θ has the density φ_σ(b_D(θ))·det H_D(θ), H_D = Σ f″·xxᵀ + Λ. Let D′ be D with
    one more row, g = f′·x its gradient. Then b_D′ = b_D − g and det H_D′ = det H_D · (1 + f″·xᵀH_D⁻¹x), a
    factor between 1 and 1 + f″·‖x‖²/λ. So the logarithm of the ratio of densities is at most
        from D′ to D:  (‖g‖² + 2·b_D′·g)/2σ² + f″·‖x‖²/λ
        from D to D′:  (‖g‖² − 2·b_D·g)/2σ²
    In both, b is normal on the side where the probability is taken, and b·g = ±u·(b·x/‖x‖): x is fixed, and
    so is the sign. With v = u/L in [0, 1], Δ = L/σ, q = B·L/λ, C = c/λ and N standard normal both are at most
        q·v·(1 − v) + v²·Δ²/2 + v·Δ·N + C.
    Where q < Δ², take q = Δ². It is concave in v, and grows up to v = 1 if Δ·N ≥ q − Δ²: then it is Δ²/2 + ΔN
    + C at most. Else it is at most its value at Δ·N = q − Δ², as it grows with N. So the loss is at most
        Y = C + max(m, Δ²/2 + Δ·N),   m = max(q, Δ²) − Δ²/2:
    the determinant costs something only where the loss is small.
    Let G(ε; Δ) = E[(1 − e^(ε − Δ²/2 − ΔN))⁺], the δ of Gaussian noise (Balle & Wang, arXiv 1805.06530v2):
        E[(1 − e^(ε − Y))⁺] ≤ G(ε − C; Δ) + (1 − e^(ε − C − m))⁺.

After other releases
    that are Gaussian with ρ₁ in all (chosen adaptively, each with a fixed ρ), the loss is the sum of two. The
    first has the law of Gaussian noise with Δ₁² = 2ρ₁, or is less (Smith & Thakurta, arXiv 2210.17520:
    Gaussian privacy adds up as if nothing were adaptive). Averaging the line above over it:
        δ(ε) ≤ G(ε − C; √(Δ₁² + Δ²)) + G(ε − C − m; Δ₁).

Redberg, Koskela & Wang (arXiv 2401.00583v1) bound the same mechanism by privacy profiles too. Their result
is not used here.
"""

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil

from discreet.model.exact import decimal_context, exp_bounds

_DIGITS = 60
_WORK = decimal_context(_DIGITS)
_SLACK = Decimal("1e-45")  # a continued fraction of at most 10⁵ terms loses less than 1e-54 of itself
_ROOT_OF_TWO_PI = Fraction(25066282746310005024157652848, 10**28)  # rounded down
_LEAST_START = Fraction(1, 2)
_STEPS = 45


def objective_delta(
    epsilon: Fraction, *, constant: Fraction, middle: Fraction, before: Fraction, rho: Fraction
) -> Fraction:
    """The δ at ε, rounded up: C is `constant`, m is `middle`, ρ₁ is `before`, and `rho` is Δ²/2.

    It is 1 where m < Δ²/2: no ridge gives such an m.
    """
    left = epsilon - constant
    if middle < rho:
        return Fraction(1)
    together = gaussian_profile(left, _root_up(2 * (before + rho)))
    if before:
        return min(Fraction(1), together + gaussian_profile(left - middle, _root_up(2 * before)))
    return together if left >= middle else Fraction(1)


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
    epsilon: Fraction,
    delta: Fraction,
    *,
    constant: Fraction,
    middle: Fraction,
    share_before: Fraction,
    inflated: Fraction,
) -> Fraction:
    """The largest ρ in all (rounded down) for which `objective_delta` is at most δ; 0 if there is none.

    The share `share_before` of it goes to the earlier releases, where it counts `inflated` times.
    """

    def fits(rho: Fraction) -> bool:
        before, own = rho * share_before * inflated, rho * (1 - share_before)
        return objective_delta(epsilon, constant=constant, middle=middle, before=before, rho=own) <= delta

    low, high = Fraction(0), Fraction(epsilon)
    for _ in range(_STEPS):
        between = (low + high) / 2 if low else high / 4
        low, high = (between, high) if fits(between) else (low, between)
    return low


def least_ridge(*, middle: Fraction, rho: Fraction, steepness: Fraction, reach: Fraction) -> Fraction:
    """The least λ for which m is at most `middle`: B·L/λ ≤ m + Δ²/2, B the steepness and L the reach."""
    return steepness * reach / (middle + rho)


def _mills(t: Fraction) -> tuple[Fraction, Fraction]:
    """P[N > t]/φ(t) from below and from above.

    It is 1/(t + 1/(t + 2/(t + 3/(t + …)))). Cut off at an even and at an odd place, this continued fraction
    lies on different sides of it (Laplace); the two are 10⁻²⁰ apart after 300/t² places or so.
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
