"""Who calls: by a bearer token. Refusals are in the log, but a flood of them does not fill it."""

import threading
from time import monotonic

from discreet.errors import NotSignedIn
from discreet.service.service import CuratorService
from discreet.service.storage.event_log import Action
from discreet.service.user_account import UserAccount

_LONGEST_TOKEN = 200
_EVENTS_A_MINUTE = 20


class SignIn:
    """Looks tokens up. May be called by several threads."""

    def __init__(self, service: CuratorService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._minute = 0.0
        self._noted = 0
        self._left_out = 0

    def account(self, authorization: str | None, client: str) -> UserAccount:
        """Whose request this is; NotSignedIn in the same words for every token that does not work."""
        if authorization is None:
            raise NotSignedIn("This needs a token.", remedy="Send it as: Authorization: Bearer TOKEN")
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        try:
            if scheme.lower() != "bearer" or len(token) > _LONGEST_TOKEN:
                token = ""
            return self._service.accounts.with_token(token)
        except NotSignedIn:
            self.note_refused(client, way="token")
            raise

    def note_refused(self, client: str, *, way: str, **facts: str) -> None:
        """Record a refusal, unless there were many of late: then the next event says how many."""
        with self._lock:
            if monotonic() - self._minute >= 60:
                self._minute, self._noted = monotonic(), 0
            if self._noted >= _EVENTS_A_MINUTE:
                self._left_out += 1
                return
            self._noted += 1
            left_out, self._left_out = self._left_out, 0
        details = {"way": way, "from": client, **facts} | (
            {"others_not_listed": left_out} if left_out else {}
        )
        self._service.log.record(Action.SIGN_IN_REFUSED, who="", details=details)
