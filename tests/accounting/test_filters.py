"""Budgets hold whatever is asked, in whatever order, at whatever price."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.errors import BudgetExceeded, InvalidInput, NotComposable
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss

NOT_NUMBERS = [math.nan, math.inf, 0, -1, True, "1", None, 1e-320, 1e300]
fractions = st.fractions(min_value=0, max_value=2, max_denominator=10**6)
small = st.fractions(min_value=0, max_value=Fraction(1, 10**6), max_denominator=10**9)
pure = st.builds(lambda e: PureLoss(epsilon=e), fractions)
any_loss = st.one_of(
    pure,
    st.builds(lambda e, d: ApproximateLoss(epsilon=e, delta=d), fractions, small),
    st.builds(lambda r, d: ConcentratedLoss(rho=r / 10, delta=d), fractions, small),
)


def spend_what_fits(budget, losses):
    """An analyst who tries everything; what was admitted, and the filter after it."""
    admitted = []
    for loss in losses:
        try:
            budget = budget.spend(loss)
            admitted.append(loss)
        except BudgetExceeded:
            assert not budget.fits(loss)
    return admitted, budget


def test_ten_times_a_tenth_fit_one_exactly_and_an_eleventh_does_not():
    budget = PureFilter(epsilon=1)
    for _ in range(10):
        budget = budget.spend(PureLoss(epsilon=0.1))
    assert budget.left == PureLoss(epsilon=0)
    assert budget.spent == PureLoss(epsilon=1)
    with pytest.raises(BudgetExceeded, match="used up"):
        budget.spend(PureLoss(epsilon=Fraction(1, 10**30)))


@given(st.lists(pure, max_size=30))
def test_all_that_a_pure_filter_admits_is_within_its_budget(losses):
    admitted, budget = spend_what_fits(PureFilter(epsilon=3), losses)
    assert sum(loss.epsilon for loss in admitted) == budget.spent.epsilon <= 3
    assert budget.left.epsilon == 3 - budget.spent.epsilon


@given(st.lists(any_loss, max_size=30), st.sampled_from([0, Fraction(1, 10), Fraction(1, 2)]))
def test_all_that_a_concentrated_filter_admits_is_within_epsilon_and_delta(losses, share):
    budget = ConcentratedFilter.for_budget(2, 1e-6, threshold_share=share)
    admitted, budget = spend_what_fits(budget, losses)
    total = ConcentratedLoss(rho=0, delta=0)
    for loss in admitted:
        total = total.compose(loss)
    assert total == budget.spent
    assert total.epsilon_at(1e-6) <= 2


def test_a_concentrated_budget_is_used_to_the_full():
    budget = ConcentratedFilter.for_budget(1, 1e-9, threshold_share=Fraction(1, 10))
    budget = budget.spend(ConcentratedLoss(rho=budget.rho, delta=budget.delta))
    assert float(budget.spent.epsilon_at(1e-9)) == pytest.approx(1, rel=1e-9)
    assert not budget.fits(PureLoss(epsilon=Fraction(1, 10**12)))


def test_a_refusal_spends_nothing_and_says_what_is_asked_left_and_possible():
    budget = PureFilter(epsilon=1).spend(PureLoss(epsilon=Fraction(2, 3)))
    with pytest.raises(BudgetExceeded) as refused:
        budget.spend(PureLoss(epsilon=Fraction(1, 2)))
    assert refused.value.problem == "This costs ε = 0.5, and 0.333333 of 1 is left."
    assert "epsilon=0.333333" in refused.value.remedy
    assert budget.spent == PureLoss(epsilon=Fraction(2, 3))
    assert budget.fits(PureLoss(epsilon=Fraction(1, 3)))


def test_what_barely_does_not_fit_never_looks_as_if_it_did():
    with pytest.raises(BudgetExceeded, match=r"ε = 1\.00001, and 1 of 1"):
        PureFilter(epsilon=1).spend(PureLoss(epsilon=1 + Fraction(1, 10**15)))


def test_a_pure_budget_pays_no_delta():
    for loss in (
        ApproximateLoss(epsilon=0.1, delta=1e-9),
        ConcentratedLoss(rho=Fraction(1, 100), delta=0),
    ):
        assert not PureFilter(epsilon=1).fits(loss)
        with pytest.raises(NotComposable, match="Give the dataset a delta"):
            PureFilter(epsilon=1).spend(loss)


def test_thresholds_are_paid_from_their_own_share_of_delta():
    none = ConcentratedFilter.for_budget(1, 1e-6, threshold_share=0)
    some = ConcentratedFilter.for_budget(1, 1e-6, threshold_share=Fraction(1, 2))
    threshold = ConcentratedLoss(rho=0, delta=Fraction(1, 10**7))
    assert some.delta == Fraction(1, 2 * 10**6)
    assert some.rho < none.rho
    assert some.spend(threshold).left.delta == Fraction(4, 10**7)
    with pytest.raises(BudgetExceeded, match="public keys need no δ"):
        none.spend(threshold)


def hockey_stick(upper, lower, epsilon):
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(upper, lower, strict=True))


def test_stopping_when_the_composed_loss_distribution_crosses_the_budget_would_overspend():
    """Why filters sum: each of two continuations keeps (ε, δ), the choice between them does not."""
    keep, epsilon = 0.75, 1.5
    coin = ((keep, 1 - keep), (1 - keep, keep))
    delta = hockey_stick(*then(coin, [coin, coin]), epsilon)
    reveal = ((1 - delta, delta, 0), (1 - delta, 0, delta))  # says which neighbour it is, rarely
    assert hockey_stick(*then(coin, [reveal, reveal]), epsilon) <= delta * (1 + 1e-12)
    assert hockey_stick(*then(coin, [coin, reveal]), epsilon) > delta * 1.2


def then(first, continuations):
    """The joint distributions of `first` and, by its outcome, one of the continuations."""
    return tuple(
        [p * q for p, after in zip(first[side], continuations, strict=True) for q in after[side]]
        for side in (0, 1)
    )


def test_a_filter_that_is_restored_overspent_is_refused():
    with pytest.raises(InvalidInput):
        PureFilter(epsilon=1, spent=PureLoss(epsilon=2))
    with pytest.raises(InvalidInput):
        ConcentratedFilter(rho=1, delta=0, spent=ConcentratedLoss(rho=0, delta=Fraction(1, 10**9)))
    with pytest.raises(InvalidInput):
        PureFilter(epsilon=1, spent=0)


@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_bad_numbers_are_refused(bad):
    for call in (
        lambda: PureFilter(epsilon=bad),
        lambda: ConcentratedFilter(rho=bad, delta=0),
        lambda: ConcentratedFilter.for_budget(bad, 1e-6, threshold_share=0),
        lambda: ConcentratedFilter.for_budget(1, bad, threshold_share=0),
        lambda: PureFilter(epsilon=1).spend(bad),
        lambda: ConcentratedFilter(rho=1, delta=0).spend(bad),
        lambda: ConcentratedFilter(rho=1, delta=0).fits(bad),
    ):
        with pytest.raises(InvalidInput):
            call()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, 1, True, "1", None, 1e300])
def test_a_share_outside_zero_to_one_is_refused(bad):
    with pytest.raises(InvalidInput):
        ConcentratedFilter.for_budget(1, 1e-6, threshold_share=bad)
