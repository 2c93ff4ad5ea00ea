"""Models that are trained privately, from noisy gradients and noisy sums.

core            what one fit may spend, rows as integers, declared bounds, noisy means and variances
descent         noisy gradient descent, of linear models and of a loss of your own
least_squares   linear regression from noisy sums of products
objective       logistic regression by objective perturbation
networks        a torch network of your own
estimators      models for scikit-learn, and a search among them for one price
forecast        how good a model will be, before anything is spent
plan            from the policy and a SELECT to a fitted model
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
