"""Checks claims in layers, cheapest first, and reports what was found."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from discreet.audit.accounting_claims import accounting_claims
from discreet.audit.canaries import Canary, registered_canaries
from discreet.audit.claims import Claim, Side, registered_claims
from discreet.audit.decisions import (
    DecisionCheck,
    StratifiedCheck,
    registered_decisions,
    registered_strata,
)
from discreet.audit.divergence import concentration, hockey_stick, max_divergence
from discreet.audit.laws import Probabilities
from discreet.audit.learn_claims import FitCheck, fit_checks, release_claims
from discreet.audit.local_claims import local_claims, local_decisions
from discreet.audit.objective_claims import objective_claims
from discreet.audit.sensitivities import SensitivityCheck, registered_sensitivities
from discreet.audit.sparse_claims import sparse_claims
from discreet.audit.statistics import FIT_ALARM, epsilon_lower_bound, fit_probability, telling_event
from discreet.audit.table_claims import TableCheck, table_checks, table_claims
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss, Spend, amount_of

Layer: TypeAlias = Literal["sensitivity", "sampler", "law", "fit", "black box"]

_ROUNDING = 1e-9  # what floats may lose in a sum over a law
_BLACK_BOX_DELTA = 1e-4  # the δ at which a concentrated claim is read as (ε, δ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check of one claim."""

    subject: str
    layer: Layer
    claimed: str
    found: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something to check, by name."""

    name: str
    run: Callable[[], list[Finding]]


def planned_checks(*, thorough: bool = False, only: str = "") -> list[Check]:
    """Every registered check whose name contains `only`, cheapest first."""
    checks = [
        *(Check(name=c.name, run=partial(_check_sensitivity, c)) for c in registered_sensitivities()),
        *(Check(name=c.name, run=partial(_check_decision, c)) for c in registered_decisions()),
        *(Check(name=c.name, run=partial(_check_decision, c)) for c in local_decisions()),
        *(Check(name=c.name, run=partial(_check_strata, c)) for c in registered_strata()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in registered_claims()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in sparse_claims()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in accounting_claims()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in local_claims()),
        *(Check(name=c.name, run=partial(_check_fit, c)) for c in fit_checks()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in release_claims()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in objective_claims()),
        *(Check(name=c.name, run=partial(_check_table, c)) for c in table_checks()),
        *(Check(name=c.name, run=partial(_check_claim, c, thorough)) for c in table_claims()),
        *(Check(name=c.name, run=partial(_check_canary, c, thorough)) for c in registered_canaries()),
    ]
    return [check for check in checks if only.lower() in check.name.lower()]


def _check_sensitivity(check: SensitivityCheck) -> list[Finding]:
    """No norm of an actual move exceeds the claimed one."""
    found = check.worst()
    return [_moves_finding(check.name, check.claims(found), found)]


def _moves_finding(name: str, claimed: dict[str, int], found: dict[str, int]) -> Finding:
    return Finding(
        subject=name,
        layer="sensitivity",
        claimed=_show_norms(claimed),
        found=_show_norms(found),
        holds=all(found[norm] <= claimed[norm] for norm in found),
    )


def _show_norms(norms: dict[str, int]) -> str:
    names = {"l0": "ℓ₀", "linf": "ℓ∞", "l1": "ℓ₁", "l2_squared": "ℓ₂²", "range": "range "}
    return " ".join(f"{names[norm]}{value}" for norm, value in norms.items())


def _check_decision(check: DecisionCheck) -> list[Finding]:
    """The decision flips at the word that the law names."""
    return [_deviation_finding(check.name, float(check.deviation()), check.allowed, "words of 2⁶⁴")]


def _check_strata(check: StratifiedCheck) -> list[Finding]:
    return [_deviation_finding(check.name, check.deviation(), 0.5 + 1e-6, "strata of 2¹⁴")]


def _deviation_finding(name: str, deviation: float, allowed: float, unit: str) -> Finding:
    return Finding(
        subject=name,
        layer="sampler",
        claimed=f"at most {allowed:.3g} {unit} off",
        found=f"{deviation:.3g}",
        holds=deviation <= allowed,
    )


def _check_claim(claim: Claim, thorough: bool) -> list[Finding]:
    """Layers 3, 4 and 5: the law, the fit of the draws to it, and the draws alone."""
    return [_check_law(claim), *_check_draws(claim, claim.samples * (10 if thorough else 1))]


def show_loss(loss: Loss) -> str:
    """A loss as people write it."""
    match loss:
        case PureLoss():
            return f"ε {float(loss.epsilon):.4g}"
        case ApproximateLoss():
            return f"ε {float(loss.epsilon):.4g}, δ {float(loss.delta):.2g}"
        case ConcentratedLoss():
            return f"ρ {float(loss.rho):.4g}" + (f", δ {float(loss.delta):.2g}" if loss.delta else "")


def _check_law(claim: Claim) -> Finding:
    """The exact divergence of the two laws is within what is stated, and that within what was asked."""
    p, q = claim.law(0), claim.law(1)
    found, holds = _divergence_within(claim.stated, p, q)
    if not _covers(claim.claimed, claim.stated):
        found, holds = f"{found}, but it states {show_loss(claim.stated)}", False
    return Finding(
        subject=claim.name, layer="law", claimed=show_loss(claim.claimed), found=found, holds=holds
    )


def _check_fit(check: FitCheck) -> list[Finding]:
    """What all releases of a fit lose together, and what it says that it spent, are within the claim."""
    return [_loss_finding(check.name, check.claimed, check.stated(), check.worst())]


def _check_table(check: TableCheck) -> list[Finding]:
    """The same of a profile or a question, and that people are in one bin of each histogram."""
    release = check.release()
    moves = check.worst_moves(release)
    claimed = {norm: getattr(release.of_one_person, norm) for norm in moves}
    return [
        _moves_finding(check.name, claimed, moves),
        _loss_finding(check.name, check.claimed, release.stated, check.worst_loss(release)),
    ]


def _loss_finding(name: str, claimed: Spend, stated: Loss, worst: Fraction) -> Finding:
    found = f"{_symbol(claimed)} {float(worst):.3f}"
    covered = _covers(claimed, stated)
    return Finding(
        subject=name,
        layer="law",
        claimed=show_loss(claimed),
        found=found if covered else f"{found}, but it states {show_loss(stated)}",
        holds=covered and worst <= amount_of(claimed),
    )


def _check_canary(canary: Canary, thorough: bool) -> list[Finding]:
    """The fits alone do not prove more loss than is claimed."""
    found, amount = canary.at_least(10 if thorough else 1), amount_of(canary.claimed)
    return [
        Finding(
            subject=canary.name,
            layer="black box",
            claimed=show_loss(canary.claimed),
            found=f"≥ {max(0.0, found):.2f} of {float(amount):.3g}",
            holds=found <= amount,
        )
    ]


def _symbol(loss: Spend) -> str:
    return "ε" if isinstance(loss, PureLoss) else "ρ"


def _divergence_within(loss: Loss, p: Probabilities, q: Probabilities) -> tuple[str, bool]:
    match loss:
        case PureLoss(epsilon=epsilon):
            exact = max_divergence(p, q)
            return f"ε {exact:.4g}", exact <= epsilon + _ROUNDING
        case ApproximateLoss(epsilon=epsilon, delta=delta):
            exact = hockey_stick(p, q, float(epsilon))
            return f"δ {exact:.2g}", exact <= delta + _ROUNDING**2
        case ConcentratedLoss(rho=rho, delta=delta):
            exact, missed = _approximate_concentration(p, q)
            shown = f"ρ {max(0.0, exact):.3f}" + (f", δ {missed:.1g}" if missed else "")
            return shown, exact <= rho + _ROUNDING and missed <= delta + _ROUNDING**2


def _approximate_concentration(p: Probabilities, q: Probabilities) -> tuple[float, float]:
    """ρ on the outcomes that both can have, and the probability of those that only one can have."""
    shared = (p > 0) & (q > 0)
    missed = float(max(p[~shared].sum(), q[~shared].sum()))
    left, right = p[shared], q[shared]
    return concentration(left / left.sum(), right / right.sum()), missed


def _covers(claimed: Loss, stated: Loss) -> bool:
    match claimed, stated:
        case ConcentratedLoss(), ConcentratedLoss():
            return stated.rho <= claimed.rho and stated.delta <= claimed.delta
        case ((PureLoss() | ApproximateLoss()), (PureLoss() | ApproximateLoss())):
            return stated.epsilon <= claimed.epsilon and stated.delta <= claimed.delta
        case _:
            return False


def _check_draws(claim: Claim, samples: int) -> Iterator[Finding]:
    laws = claim.law(0), claim.law(1)
    sides: tuple[Side, Side] = (0, 1)
    counts = [np.bincount(claim.draw(side, samples), minlength=len(laws[side])) for side in sides]
    worst = min(fit_probability(counts[side], laws[side]) for side in sides)
    yield Finding(
        subject=claim.name,
        layer="fit",
        claimed=f"p at least {FIT_ALARM:g}",
        found=f"{worst:.1g}",
        holds=worst >= FIT_ALARM,
    )
    epsilon, delta = _as_approximate(claim.claimed)
    bounds = []
    for first, second in ((0, 1), (1, 0)):
        event = telling_event(laws[first], laws[second], samples, delta)
        there, here = int(counts[first][event].sum()), int(counts[second][event].sum())
        bounds.append(epsilon_lower_bound(there, here, samples, delta))
    measured = max(bounds)
    yield Finding(
        subject=claim.name,
        layer="black box",
        claimed=f"ε {epsilon:.4g}" + (f", δ {delta:.2g}" if delta else ""),
        found=f"≥ {max(0.0, measured):.2f} of {epsilon:.3g}",
        holds=measured <= epsilon,
    )


def _as_approximate(loss: Loss) -> tuple[float, float]:
    if isinstance(loss, ConcentratedLoss):
        delta = float(loss.delta) + _BLACK_BOX_DELTA
        return float(loss.epsilon_at(delta)), delta
    return float(loss.epsilon), float(loss.delta)
