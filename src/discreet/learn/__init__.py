"""Models that forget the individual: linear models from noisy gradients and noisy sums.

account      what one fit may spend, and the one door to the noise
sampled      the same where steps see a sample of the people
encoding     rows as integers; what one person may add
losses       residuals as functions of the margin
gradient     the exact sum of clipped gradients
moments      noisy means and variances, by which features are scaled
descent      noisy gradient descent
statistics   noisy sums of products, for linear regression
linear       linear regression from these
fitting      a model from declared bounds to coefficients
base, classifiers, regressors    estimators for scikit-learn
search       one of several models, for one price
own          descent with a gradient of your own
networks     a torch network of your own; network_rows, network_checks, network_data are its parts
outlooks     how large the noise will be, from public numbers
expected     how good a model will be, on public data; expected_picture draws it
"""

from importlib import import_module
from typing import Any

from discreet.errors import MissingExtra

_WHERE = {
    "Curve": "forecast.learning_curve",
    "Expected": "forecast.learning_curve",
    "LinearRegression": "estimators.regressors",
    "LinearSVC": "estimators.classifiers",
    "LogisticRegression": "estimators.classifiers",
    "Outlook": "forecast.outlook",
    "PoissonRegression": "estimators.regressors",
    "PrivateDescent": "descent.own_loss",
    "PrivateNetwork": "networks.network",
    "PrivateSearch": "estimators.search",
    "Ridge": "estimators.regressors",
    "curve": "forecast.learning_curve",
    "outlook": "forecast.outlook",
    "privatize": "networks.network",
}
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    """Imported when first used: scikit-learn takes a second."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"discreet.learn.{_WHERE[name]}")
    except ImportError as missing:
        needs, extra = ("torch", "torch") if _WHERE[name] == "networks.network" else ("scikit-learn", "learn")
        raise MissingExtra(
            f"This needs {needs}, which is not installed.", remedy=f"pip install 'discreet[{extra}]'"
        ) from missing
    return getattr(module, name)
