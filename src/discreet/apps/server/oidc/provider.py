"""A provider of identities: where it is, which keys it signs with, and who it says that somebody is."""

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

from discreet.apps.server.oidc.fetching import ProviderReply, fetch
from discreet.apps.server.oidc.id_token import checked_claims, read_keys
from discreet.apps.server.oidc.kept import KeptFacts
from discreet.apps.server.oidc.pending import PendingSignIn
from discreet.apps.server.oidc.refusals import ProviderFailed, SignInRefused, UnknownKey
from discreet.apps.server.oidc.settings import OidcSettings
from discreet.errors import InvalidInput
from discreet.service.identity import Identity, checked_identity
from discreet.web.urls import split_url

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

_WELL_KNOWN = "/.well-known/openid-configuration"
_ASK_THE_OWNER = "Ask the owner of the data: the log of this service says why."
_VERIFY = "Verify your email address at your organisation, then sign in again."


class IdentityProvider:
    """The one provider of a service. May be called by several threads; each call may take some seconds."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._metadata = KeptFacts(self._fetched_metadata)
        self._keys = KeptFacts(self._fetched_keys)

    def sign_in_url(self, pending: PendingSignIn) -> str:
        """Where to send a browser."""
        settings, address = self.settings, self._address("authorization_endpoint")
        query = {
            "response_type": "code",
            "client_id": settings.client_id,
            "redirect_uri": settings.redirect_uri,
            "scope": settings.scope,
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": pending.challenge,
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    def check_issuer(self, given: str | None) -> None:
        """Who sent somebody back, if the provider says so (RFC 9207)."""
        says_so = self._metadata.facts().get("authorization_response_iss_parameter_supported") is True
        if given != self.settings.issuer and (says_so or given is not None):
            raise SignInRefused("another issuer sent them back")

    def identity(self, code: str, pending: PendingSignIn) -> Identity:
        """Who came back with this code."""
        found = self._exchanged(code, pending)
        claims = self._checked(found.get("id_token"), pending)
        name = self.settings.claim
        if name not in claims:
            claims = self._told_apart(claims, found.get("access_token"))
        if name not in claims:
            raise SignInRefused(f"the provider does not say their {name}", remedy=_ASK_THE_OWNER)
        if name == "email" and claims.get("email_verified") is not True:
            raise SignInRefused("their email is not verified", remedy=_VERIFY)
        try:
            return checked_identity(self.settings.issuer, name, claims[name])
        except InvalidInput:
            raise SignInRefused(f"their {name} cannot name an account", remedy=_ASK_THE_OWNER) from None

    def _exchanged(self, code: str, pending: PendingSignIn) -> Mapping[str, Any]:
        """What the provider gives for a code."""
        settings = self.settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.redirect_uri,
            "code_verifier": pending.verifier,
        }
        ways = self._metadata.facts().get("token_endpoint_auth_methods_supported")
        headers: dict[str, str] = {}
        if isinstance(ways, list) and "client_secret_basic" not in ways:
            form |= {"client_id": settings.client_id, "client_secret": settings.client_secret}
        else:
            pair = f"{quote_plus(settings.client_id)}:{quote_plus(settings.client_secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode('ascii')}"
        reply = fetch(self._address("token_endpoint"), form=form, headers=headers)
        if reply.status == 200:
            return reply.facts
        if reply.status == 400 and reply.facts.get("error") == "invalid_grant":
            raise SignInRefused("the provider does not know the code")
        if reply.facts.get("error") == "invalid_client" or reply.status == 401:
            raise ProviderFailed("it does not accept the client_id with its secret")
        raise ProviderFailed(f"its token endpoint answers with status {reply.status}")

    def _checked(self, token: object, pending: PendingSignIn) -> Mapping[str, Any]:
        """What an ID token says. For a key that is unknown, the keys are fetched anew, once in a while."""

        def checked(keys: "KeySet") -> Mapping[str, Any]:
            us = self.settings
            return checked_claims(token, keys, issuer=us.issuer, client_id=us.client_id, nonce=pending.nonce)

        try:
            return checked(self._keys.facts())
        except UnknownKey:
            return checked(self._keys.facts(anew=True))

    def _told_apart(self, claims: Mapping[str, Any], access_token: object) -> Mapping[str, Any]:
        """What the provider says of the same person at an address of its own, UserInfo."""
        if not isinstance(access_token, str) or not access_token.isascii() or not access_token.isprintable():
            return claims
        if "userinfo_endpoint" not in self._metadata.facts():
            return claims
        headers = {"Authorization": f"Bearer {access_token}"}
        more = _facts_of(fetch(self._address("userinfo_endpoint"), headers=headers), "UserInfo")
        if more.get("sub") != claims["sub"]:
            raise SignInRefused("UserInfo speaks of somebody else")
        return more

    def _address(self, name: str) -> str:
        """One of the provider's addresses. If its issuer has https, all of them must."""
        found = self._metadata.facts().get(name)
        parts = split_url(found) if isinstance(found, str) else None
        if parts is None or not isinstance(found, str):
            raise ProviderFailed(f"it has no {name}")
        if parts.scheme != "https" and self.settings.issuer.startswith("https:"):
            raise ProviderFailed(f"its {name} is not encrypted")
        return found

    def _fetched_metadata(self) -> Mapping[str, Any]:
        issuer = self.settings.issuer
        found = _facts_of(fetch(issuer.rstrip("/") + _WELL_KNOWN), "description")
        if found.get("issuer") != issuer:
            raise ProviderFailed("it calls itself otherwise: write the issuer exactly as the provider does")
        return found

    def _fetched_keys(self) -> "KeySet":
        return read_keys(_facts_of(fetch(self._address("jwks_uri")), "key set"))


def _facts_of(reply: ProviderReply, what: str) -> Mapping[str, Any]:
    if reply.status != 200 or not reply.facts:
        raise ProviderFailed(f"its {what} cannot be read (status {reply.status})")
    return reply.facts
