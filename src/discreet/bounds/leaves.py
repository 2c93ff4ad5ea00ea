"""One price for all leaves of a question or report, split so that the errors of all their measures are least.

Within a leaf the price is split over its parts by the square roots of how much they matter, or the cube roots
(`split_price`). Over all leaves the same rule gives a leaf the sum of the roots of its parts. Shares are
whole 1024ths, or finer if there are many, that add up to 1.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, fsum

from discreet.bounds.bound import Bounded
from discreet.bounds.calibrate import Plan, calibrate, charge_of
from discreet.bounds.facts import bounded_facts, parts_in_order
from discreet.bounds.split_price import roots_of
from discreet.bounds.work_limits import check_together
from discreet.model.noisy_table import AfterNoise
from discreet.model.policy import Dataset
from discreet.model.privacy import AMOUNT_UNITS, ConcentratedLoss, PureLoss, Spend, amount_of
from discreet.model.request import ByEpsilon, ByRho, Price, Request, Within

_STEPS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavesPlan:
    """What will be run for several private questions that have one price: a plan for each of them."""

    leaves: tuple[Plan, ...]
    request: Request
    _loss_found: list[Spend] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def loss(self) -> Spend:
        """All leaves are one release: their losses add up."""
        if not self._loss_found:
            self._loss_found.append(_total(self.leaves))
        return self._loss_found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyPlan(LeavesPlan):
    """What will be run for a question that is computed from noisy answers."""

    asked: AfterNoise


def calibrate_leaves(leaves: Sequence[Bounded], request: Request, dataset: Dataset) -> tuple[Plan, ...]:
    """A plan for each leaf. Their price together is what was asked for; it is checked later."""
    check_together([(leaf.query, leaf.pieces) for leaf in leaves])
    requests = [
        Request(price=price, confidence=request.confidence) for price in _prices(leaves, request, dataset)
    ]
    return tuple(
        calibrate(leaf, each, dataset, at_any_price=True) for leaf, each in zip(leaves, requests, strict=True)
    )


def _prices(leaves: Sequence[Bounded], request: Request, dataset: Dataset) -> list[Price]:
    if len(leaves) == 1 or isinstance(request.price, Within):
        return [request.price] * len(leaves)
    charge = charge_of(request.price, dataset)
    concentrated = isinstance(charge, ConcentratedLoss)
    shares = shares_of_leaves(leaves, concentrated=concentrated)
    if concentrated:
        return [ByRho(rho=amount_of(charge) * share) for share in shares]
    units = [floor(amount_of(charge) * AMOUNT_UNITS * share) for share in shares]  # as a price is rounded
    units[max(_in_order(leaves), key=shares.__getitem__)] += int(amount_of(charge) * AMOUNT_UNITS) - sum(
        units
    )
    return [ByEpsilon(epsilon=Fraction(each, AMOUNT_UNITS)) for each in units]


def shares_of_leaves(leaves: Sequence[Bounded], *, concentrated: bool) -> list[Fraction]:
    """The share of the price that each leaf gets: it does not depend on which of them is named first."""
    weights = [fsum(roots_of(leaf, concentrated=concentrated)) for leaf in leaves]
    total = _STEPS * max(1, len(weights) // 16)
    steps = [max(1, int(total * weight / fsum(weights))) for weight in weights]
    steps[max(_in_order(leaves), key=steps.__getitem__)] += total - sum(steps)
    return [Fraction(step, total) for step in steps]


def _in_order(leaves: Sequence[Bounded]) -> list[int]:
    """The places of leaves in an order that does not depend on which of them is named first."""
    texts = [json.dumps(bounded_facts(leaf, parts_in_order(leaf)), sort_keys=True) for leaf in leaves]
    return sorted(range(len(texts)), key=texts.__getitem__)


def _total(leaves: Sequence[Plan]) -> Spend:
    """What all of them tell of one person, drawn at once."""
    losses = [leaf.loss for leaf in leaves]
    if all(isinstance(loss, PureLoss) for loss in losses):
        return PureLoss(epsilon=sum((amount_of(loss) for loss in losses), Fraction(0)))
    return ConcentratedLoss(
        rho=sum((amount_of(loss) for loss in losses), Fraction(0)),
        delta=sum((loss.delta for loss in losses), Fraction(0)),
    )
