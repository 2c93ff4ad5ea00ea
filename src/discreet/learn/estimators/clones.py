"""One ε, one fit: of all clones of a model, one can be fitted.

The searches and ensembles of scikit-learn clone a model and fit each clone. Each of these fits would spend ε
again, and nothing would say so. So `clone` hands on the right to be fitted, and does not multiply it. The
first clone that is fitted takes the right; all others refuse. A model that somebody made themselves has no
such limit: whoever calls `fit` on it twice sees that it is fitted twice.

A clone that is sent to another process may be fitted there, so that it takes the right when it is sent.
"""

import secrets
from typing import Self, TypeVar

from sklearn.base import BaseEstimator, clone

from discreet.errors import InvalidInput

Model = TypeVar("Model")


class OneFit:
    """The right to be fitted that all clones of a model share."""

    def __init__(self) -> None:
        self._holder: dict[str, str] = {}

    def take(self, ticket: str) -> None:
        """Refused if the clone with another ticket has it."""
        if self._holder.setdefault("ticket", ticket) != ticket:
            raise InvalidInput(
                "Another clone of this model was fitted, and a second fit would spend its epsilon again.",
                remedy="Use discreet.learn.PrivateSearch, which picks one of several models for one price;"
                " or make a new model for each fit, if you mean to pay for each.",
            )


class FittedOnce(BaseEstimator):  # type: ignore[misc]
    """An estimator of whose clones one can be fitted."""

    _one_fit: OneFit
    _ticket: str

    def __sklearn_clone__(self) -> Self:
        made: Self = super().__sklearn_clone__()
        made._one_fit = self.__dict__.setdefault("_one_fit", OneFit())
        made._ticket = secrets.token_hex(8)
        return made

    def take_right_to_fit(self) -> None:
        """Before a fit that spends the estimator's own epsilon; refused if another clone was fitted."""
        if hasattr(self, "_ticket"):
            self._one_fit.take(self._ticket)

    def __getstate__(self) -> dict[str, object]:
        if not hasattr(self, "loss_"):
            self.take_right_to_fit()
        state: dict[str, object] = super().__getstate__()
        return state


def separate_copy(model: Model) -> Model:
    """A clone that shares no right to be fitted: for whoever says themselves what all fits cost."""
    made: Model = clone(model)
    for name in ("_one_fit", "_ticket"):
        made.__dict__.pop(name, None)
    return made
