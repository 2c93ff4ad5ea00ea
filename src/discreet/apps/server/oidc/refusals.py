"""Why somebody is not signed in: by a refusal, or because the provider does not work."""

from discreet.errors import DiscreetError, NotSignedIn


class SignInRefused(NotSignedIn):
    """What came back does not say, beyond doubt, who somebody is."""

    def __init__(
        self, reason: str, *, remedy: str = "Start again. If it fails again, ask the owner."
    ) -> None:
        super().__init__("This sign-in did not work.", remedy=remedy)
        self.reason = reason
        """For the log. Whoever signs in is not told: it would help to try."""


class UnknownKey(SignInRefused):
    """Signed with a key that we do not have. The provider may have a new one."""


class ProviderFailed(DiscreetError):
    """The provider cannot be reached, or does not answer as it should."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "The sign-in of your organisation does not work at the moment.",
            remedy="Try again in a minute, or sign in with a token.",
        )
        self.reason = reason
        """For the operator of the service."""
