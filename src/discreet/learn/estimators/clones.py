"""One ε, one fit: all clones of a model together can be fitted once.

The searches and ensembles of scikit-learn clone a model and fit each clone, or fit one clone many times. Each
of these fits would spend ε again, and nothing would say so. So `clone` hands on the right to be fitted, and
does not multiply it: the first fit of a clone uses it up. A model that somebody made themselves has no such
limit: whoever calls `fit` on it twice sees that it is fitted twice.

The right stays in the process where it was made. What is copied there shares it. What is sent to another
process, or read from a file, has none to hand on: many workers would each fit a clone of their own. So a
clone that was sent cannot be fitted, nor can clones of a model that was sent. The model itself can.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

from sklearn.base import BaseEstimator, clone

from discreet.errors import InvalidInput

Model = TypeVar("Model")


class OneFit:
    """The right to be fitted once that all clones of a model share. Each clone has a ticket of its own."""

    def __init__(self, *, sent: bool = False) -> None:
        self._holder: dict[str, str] = {}
        self._used = False
        self._process = None if sent else os.getpid()

    def __copy__(self) -> "OneFit":
        return self

    def __deepcopy__(self, _: object) -> "OneFit":
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _sent, ()

    def check(self, ticket: str) -> None:
        """Refuse if the right is used up, is reserved for another clone, or is not of this process."""
        if self._process != os.getpid():
            raise InvalidInput(
                "A clone of this model was sent from another process, or read from a file. Each such clone"
                " could be fitted, and would spend the model's epsilon again.",
                remedy="Use discreet.learn.PrivateSearch, which picks one of several models for one price;"
                " or make a new model for each fit, if you mean to pay for each. Leave n_jobs out.",
            )
        if self._used or self._holder.get("ticket", ticket) != ticket:
            raise InvalidInput(
                "A clone of this model was fitted, and another fit would spend its epsilon again.",
                remedy="Use discreet.learn.PrivateSearch, which picks one of several models for one price;"
                " or make a new model for each fit, if you mean to pay for each.",
            )

    def reserve(self, ticket: str) -> None:
        """Reserve the right for this ticket. Of two threads only one succeeds, as setdefault is atomic."""
        self._holder.setdefault("ticket", ticket)
        self.check(ticket)

    def free(self, ticket: str) -> None:
        """Give up a right that was reserved for this ticket and not used."""
        if self._holder.get("ticket") == ticket:
            del self._holder["ticket"]

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
        self._one_fit.reserve(self._ticket)  # before anything is drawn: others are refused now
        try:
            yield
        except BaseException:
            self._one_fit.free(self._ticket)
            raise
        self._one_fit.use(self._ticket)

    def __getstate__(self) -> dict[str, object]:
        self.__dict__.setdefault("_one_fit", OneFit())  # so that copies share it, and what is sent has none
        state: dict[str, object] = super().__getstate__()
        return state


def _sent() -> OneFit:
    return OneFit(sent=True)


def separate_copy(model: Model) -> Model:
    """A clone that can be fitted without limit, for callers that account for all fits themselves."""
    made: Model = clone(model)
    for name in ("_one_fit", "_ticket"):
        made.__dict__.pop(name, None)
    return made
