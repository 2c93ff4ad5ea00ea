"""One ε, one fit: all clones of a model together can be fitted once.

The searches and ensembles of scikit-learn clone a model and fit each clone, or fit one clone many times. Each
of these fits would spend ε again, and nothing would say so. So `clone` hands on the right to be fitted, and
does not multiply it: the first fit of a clone uses it up. A model that somebody made themselves has no such
limit: whoever calls `fit` on it twice sees that it is fitted twice.

A clone that is sent to another process may be fitted there. So when it is sent, no other clone can be fitted.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

from sklearn.base import BaseEstimator, clone

from discreet.errors import InvalidInput

Model = TypeVar("Model")


class OneFit:
    """The right to be fitted once that all clones of a model share. Each clone has a ticket of its own."""

    def __init__(self) -> None:
        self._holder: dict[str, str] = {}
        self._used = False

    def check(self, ticket: str) -> None:
        """Refused if the right is used up, or is reserved for another clone."""
        if self._used or self._holder.get("ticket", ticket) != ticket:
            raise InvalidInput(
                "A clone of this model was fitted, and another fit would spend its epsilon again.",
                remedy="Use discreet.learn.PrivateSearch, which picks one of several models for one price;"
                " or make a new model for each fit, if you mean to pay for each.",
            )

    def reserve(self, ticket: str) -> None:
        """For the clone with this ticket. Of two threads one succeeds, as setdefault is one operation."""
        self._holder.setdefault("ticket", ticket)
        self.check(ticket)

    def use(self, ticket: str) -> None:
        self.reserve(ticket)
        self._used = True


class FittedOnce(BaseEstimator):  # type: ignore[misc]
    """An estimator whose clones can together be fitted once."""

    _one_fit: OneFit
    _ticket: str

    def __sklearn_clone__(self) -> Self:
        made: Self = super().__sklearn_clone__()
        made._one_fit = self.__dict__.setdefault("_one_fit", OneFit())
        made._ticket = secrets.token_hex(8)
        return made

    @contextmanager
    def only_fit(self) -> Iterator[None]:
        """Around a fit that spends the estimator's own epsilon. A fit that fails does not count."""
        if not hasattr(self, "_ticket"):
            yield
            return
        self._one_fit.check(self._ticket)
        yield
        self._one_fit.use(self._ticket)  # refused where another clone was fitted in the meantime

    def __getstate__(self) -> dict[str, object]:
        if hasattr(self, "_ticket") and not hasattr(self, "loss_"):
            self._one_fit.reserve(self._ticket)
        state: dict[str, object] = super().__getstate__()
        return state


def separate_copy(model: Model) -> Model:
    """A clone that shares no right to be fitted: for whoever says themselves what all fits cost."""
    made: Model = clone(model)
    for name in ("_one_fit", "_ticket"):
        made.__dict__.pop(name, None)
    return made
