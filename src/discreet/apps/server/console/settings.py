"""What the owner of a service can choose about its console."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """How the console is reached, and what is shown to everybody."""

    https: bool = False
    """Whether people reach it by https, directly or through a proxy: then the cookie is for https only."""
    public_pages: bool = False
    """Whether /public/DATASET tells everybody what is protected, and how much was spent."""
