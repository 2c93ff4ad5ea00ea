"""What was fetched from a provider, for a while; and that it failed, for a moment."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from discreet.apps.server.oidc.refusals import ProviderFailed

T = TypeVar("T")
_KEPT_SECONDS = 3_600.0
_AGAIN_SECONDS = 5.0
"""So long what failed is not tried again, and what was fetched is not fetched anew."""


class KeptFacts(Generic[T]):
    """Fetched when it is needed, by one thread at a time. A provider that is down does not hold up many."""

    def __init__(self, fetched: Callable[[], T]) -> None:
        self._fetched = fetched
        self._lock = threading.Lock()
        self._facts: T | None = None
        self._failed = ""
        self._tried = float("-inf")

    def facts(self, *, anew: bool = False) -> T:
        """ProviderFailed if they cannot be had. `anew` fetches what is older than a moment."""
        with self._lock:
            age = monotonic() - self._tried
            if self._failed and age < _AGAIN_SECONDS:
                raise ProviderFailed(self._failed)
            if self._facts is None or self._failed or age >= (_AGAIN_SECONDS if anew else _KEPT_SECONDS):
                self._facts = self._fetch()
            return self._facts

    def _fetch(self) -> T:
        try:
            found = self._fetched()
        except ProviderFailed as error:
            self._failed = error.reason
            raise
        else:
            self._failed = ""
            return found
        finally:
            self._tried = monotonic()
