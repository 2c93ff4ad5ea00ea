"""Models that forget the individual: noisy gradient descent and noisy statistics for generalised linear models.

account      what one fit may spend, and the one door to the noise
encoding     rows as integers; what one person may add
losses       residuals as functions of the margin
gradient     the exact sum of clipped gradients
moments      noisy means and variances, by which features are scaled
descent      noisy gradient descent
statistics   noisy sums of products, for linear regression
"""

from typing import Any

_WHERE = {
    "LinearRegression": "regressors",
    "LinearSVC": "classifiers",
    "LogisticRegression": "classifiers",
    "PoissonRegression": "regressors",
    "Ridge": "regressors",
}
__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Estimators are imported when they are first used: scikit-learn takes a second."""
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(name)
    return getattr(import_module(f"discreet.learn.{_WHERE[name]}"), name)
