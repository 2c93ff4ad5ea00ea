"""One fit spends what it may, with the noise that its claims need."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, InvalidInput
from discreet.learn.core import account as module
from discreet.learn.core.account import FitAccount, loss_of
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

PURE, CONCENTRATED = PureLoss(epsilon=Fraction(1, 3)), ConcentratedLoss(rho=Fraction(1, 7), delta=Fraction(0))


def mechanisms(patch):
    """What is released with, each time."""
    built = []

    class Laplace(DiscreteLaplace):
        def release(self, exact, **options):
            built.append(self.scale)
            return super().release(exact, **options)

    class Gaussian(DiscreteGaussian):
        def release(self, exact, **options):
            built.append(self.sigma_squared)
            return super().release(exact, **options)

    patch.setattr(module, "DiscreteLaplace", Laplace)
    patch.setattr(module, "DiscreteGaussian", Gaussian)
    return built


@pytest.mark.parametrize(("neighbours", "times"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_noise_is_for_the_reach_and_the_share(neighbours, times, size, monkeypatch):
    """Scale Δ/ε, variance Δ²/2ρ; replacing a person moves twice as far as adding one."""
    built = mechanisms(monkeypatch)
    share, reach = Fraction(2, 5), 77
    FitAccount(PURE, neighbours=neighbours).release(np.zeros(size, dtype=np.int64), reach=reach, share=share)
    other = FitAccount(CONCENTRATED, neighbours=neighbours)
    other.release(np.zeros(size, dtype=np.int64), reach=reach, share=share)
    assert built == [
        times * reach / (PURE.epsilon * share),
        (times * reach) ** 2 / (2 * CONCENTRATED.rho * share),
    ]
    assert other.spent() == ConcentratedLoss(rho=CONCENTRATED.rho * share, delta=Fraction(0))
    assert other.deviation(share, reach) == pytest.approx(float(built[1]) ** 0.5)


@pytest.mark.parametrize("total", [PURE, CONCENTRATED])
def test_no_release_without_budget(total):
    account = FitAccount(total, neighbours=Neighbours.ADD_REMOVE)
    vector = np.zeros(3, dtype=np.int64)
    account.release(vector, reach=1, share=Fraction(2, 3))
    for share in (Fraction(1, 2), Fraction(0), Fraction(-1, 2)):
        with pytest.raises(BudgetExceeded):
            account.release(vector, reach=1, share=share)
    account.release(vector, reach=1, share=Fraction(1, 3))
    assert account.spent() == total
    with pytest.raises(BudgetExceeded):
        account.release(vector, reach=1, share=Fraction(1, 10**9))


def test_a_loss_that_is_no_sum_is_refused():
    with pytest.raises(InvalidInput):
        FitAccount(
            ApproximateLoss(epsilon=Fraction(1), delta=Fraction(1, 10)), neighbours=Neighbours.ADD_REMOVE
        )
    with pytest.raises(InvalidInput):
        FitAccount(ConcentratedLoss(rho=Fraction(1), delta=Fraction(1, 10)), neighbours=Neighbours.ADD_REMOVE)


def test_delta_decides_the_noise():
    assert loss_of(1, 0, "auto") == PureLoss(epsilon=Fraction(1))
    assert loss_of(1, 1e-6, "laplace") == PureLoss(epsilon=Fraction(1))
    assert loss_of(1, 1e-6, "auto").epsilon_at(1e-6) <= 1
    for bad in ((0, 0, "auto"), (1, -1, "auto"), (1, 1, "auto"), (1, 0, "gaussian"), (1, 0, "none")):
        with pytest.raises(InvalidInput):
            loss_of(*bad)
