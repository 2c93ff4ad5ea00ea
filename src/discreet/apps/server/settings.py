"""How a server is run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.apps.server.oidc.settings import OidcSettings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What an application needs to know besides its service."""

    allowed_hosts: tuple[str, ...] = LOOPBACK_NAMES
    """Names by which browsers may call it: any other may be that of an attacker's page (DNS rebinding)."""
    access_log: bool = True
    tls: bool = False
    """Whether clients speak HTTPS, with us or with a proxy before us."""
    public_url: str = ""
    """Where clients find it, without a slash at its end; as they call it, if empty."""
    oidc: "OidcSettings | None" = None
    """The provider that people may sign in at, besides with a token."""
    public_pages: bool = False
    """Whether /public/DATASET tells everybody what is protected, and how much was spent."""
    largest_body: int = 1_000_000
    body_seconds: float = 15.0
    """How long a body may take to arrive."""
    ask_threads: int = 64
    """Questions that are answered at the same time. Most of them wait for their answer time."""
    asks_of_one: int = 32
    """… of one account. Its others wait, so that nobody takes all threads."""
    explain_threads: int = 4
    quick_threads: int = 8
    """For all else: who is it, what is there."""
    most_waiting: int = 1_000
    """Requests that wait for a thread. Those beyond are told to come back later."""
