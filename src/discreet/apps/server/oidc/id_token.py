"""Whether an ID token is the provider's, for us, of this sign-in and of now (OpenID Connect Core 3.1.3.7)."""

import hmac
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.apps.server.oidc.refusals import SignInRefused, UnknownKey

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures by a key that only the provider has. “none” and shared secrets (HS256) are not among them."""
_LEEWAY_SECONDS = 60
"""How far two clocks may be apart."""
_OLDEST_SECONDS = 600
"""A token is made when the code is exchanged, so it is new."""
_LONGEST = 50_000


def checked_claims(
    token: object, keys: "KeySet", *, issuer: str, client_id: str, nonce: str
) -> Mapping[str, Any]:
    """What the token says; SignInRefused if any check fails."""
    claims = _signed_claims(token, keys)
    if claims.get("iss") != issuer:
        raise SignInRefused("the ID token is of another issuer")
    _check_audience(claims, client_id)
    _check_times(claims)
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(errors="replace"), nonce.encode()):
        raise SignInRefused("the ID token is of another sign-in (nonce)")
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise SignInRefused("the ID token names nobody")
    return claims


def read_keys(facts: Mapping[str, Any]) -> "KeySet":
    """Those of a JSON Web Key Set that we understand; others are left out."""
    from joserfc.errors import JoseError
    from joserfc.jwk import JWKRegistry, KeySet

    found, given = [], facts.get("keys")
    for each in given if isinstance(given, list) else []:
        try:
            found.append(JWKRegistry.import_key(each))
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue
    return KeySet(found)


def _signed_claims(token: object, keys: "KeySet") -> Mapping[str, Any]:
    from joserfc import jwt
    from joserfc.errors import InvalidKeyIdError, JoseError

    if not isinstance(token, str) or not token.isascii() or len(token) > _LONGEST:
        raise SignInRefused("there is no ID token")
    try:
        return jwt.decode(token, keys, algorithms=ALGORITHMS).claims
    except InvalidKeyIdError:
        raise UnknownKey("the ID token is signed with an unknown key") from None
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SignInRefused("the ID token's signature does not hold") from None


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    given, party = claims.get("aud"), claims.get("azp")
    audience = given if isinstance(given, list) else [given]
    if client_id not in audience:
        raise SignInRefused("the ID token is for another client")
    if party != client_id and (party is not None or len(audience) > 1):
        raise SignInRefused("the ID token was given to another client (azp)")


def _check_times(claims: Mapping[str, Any]) -> None:
    now = time.time()
    if _seconds(claims, "exp") <= now - _LEEWAY_SECONDS:
        raise SignInRefused("the ID token has expired")
    made = _seconds(claims, "iat")
    if not now - _OLDEST_SECONDS <= made <= now + _LEEWAY_SECONDS:
        raise SignInRefused("the ID token was not made now")
    if "nbf" in claims and _seconds(claims, "nbf") > now + _LEEWAY_SECONDS:
        raise SignInRefused("the ID token does not hold yet")


def _seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SignInRefused(f"the ID token has no time “{name}”")
    return float(value)
