"""What is believed of a provider, and what is not."""

import base64
import hmac
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from discreet.apps.server.oidc import kept
from discreet.service.service import open_service
from tests.apps.server.console.wanderer import Wanderer
from tests.apps.server.console.wrong.wrong_provider import SESSION, console_of, reasons, refused

PENDING = "discreet-sign-in"
HOUR = 3600


def test_a_good_one_is_believed(console, provider):
    ana = Wanderer()
    assert "signed in as ana" in ana.open(f"{console}/sign-in/provider").text
    (sent,) = [request for request in provider.requests if request[0] == "/token"]
    assert sent[1]["grant_type"] == "authorization_code"
    assert sent[1]["redirect_uri"] == f"{console}/sign-in/callback"
    assert len(sent[1]["code_verifier"]) == 43
    assert "client_secret" not in sent[1]
    assert sent[2]["Authorization"] == "Basic ZGlzY3JlZXQ6cytlJTNBYyUyRnIlMjZ0"


def test_the_secret_is_in_the_form_where_the_provider_wants_it(console, provider):
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text
    (sent,) = [request for request in provider.requests if request[0] == "/token"]
    assert (sent[1]["client_id"], sent[1]["client_secret"]) == ("discreet", "s e:c/r&t")
    assert "Authorization" not in sent[2]


GOOD = {
    "one audience in a list": {"aud": ["discreet"]},
    "several audiences, given to us": {"aud": ["other", "discreet"], "azp": "discreet"},
    "given to us": {"azp": "discreet"},
    "a clock that is a bit late": {"exp": -30, "iat": -300},
    "a clock that is a bit early": {"iat": 30, "nbf": 30},
}
BAD = {
    "another issuer": ({"iss": "https://evil.example"}, "is of another issuer"),
    "no issuer": ({"iss": None}, "is of another issuer"),
    "another client": ({"aud": "other"}, "is for another client"),
    "other clients": ({"aud": ["other", "others"]}, "is for another client"),
    "no audience": ({"aud": None}, "is for another client"),
    "part of our name": ({"aud": "discreet-too"}, "is for another client"),
    "given to another": ({"azp": "other"}, "was given to another client (azp)"),
    "several, given to nobody": ({"aud": ["discreet", "other"]}, "was given to another client (azp)"),
    "expired": ({"exp": -90}, "has expired"),
    "no end": ({"exp": None}, "has no time “exp”"),
    "an end that is no number": ({"exp": "later"}, "has no time “exp”"),
    "an end that is no time": ({"exp": True}, "has no time “exp”"),
    "old": ({"iat": -HOUR}, "was not made now"),
    "of tomorrow": ({"iat": 24 * HOUR}, "was not made now"),
    "no beginning": ({"iat": None}, "has no time “iat”"),
    "not yet": ({"nbf": HOUR}, "does not hold yet"),
    "another nonce": ({"nonce": "x" * 43}, "is of another sign-in (nonce)"),
    "no nonce": ({"nonce": None}, "is of another sign-in (nonce)"),
    "a nonce that is no text": ({"nonce": 1}, "is of another sign-in (nonce)"),
    "nobody": ({"sub": None}, "names nobody"),
    "an empty somebody": ({"sub": ""}, "names nobody"),
    "somebody who is no text": ({"sub": 7}, "names nobody"),
}
TIMES = ("exp", "iat", "nbf")


def with_times(claims):
    """Seconds from now as the time then."""
    return {
        name: time.time() + value if name in TIMES and type(value) is int else value
        for name, value in claims.items()
    }


@pytest.mark.parametrize("claims", GOOD.values(), ids=GOOD)
def test_claims_that_are_allowed(console, provider, claims):
    provider.id_token = lambda _: provider.signed(provider.claims(**with_times(claims)))
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text


@pytest.mark.parametrize(("claims", "reason"), BAD.values(), ids=BAD)
def test_claims_that_are_not(service, console, provider, claims, reason):
    provider.id_token = lambda _: provider.signed(provider.claims(**with_times(claims)))
    refused(service, console, f"the ID token {reason}")


KEYS = {
    "PS512": lambda facts: RSAKey.generate_key(2048, facts),
    "ES256": lambda facts: ECKey.generate_key("P-256", facts),
    "EdDSA": lambda facts: OKPKey.generate_key("Ed25519", facts),
    "Ed25519": lambda facts: OKPKey.generate_key("Ed25519", facts),
}


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # a new name, Ed25519, is for the same
@pytest.mark.parametrize("algorithm", KEYS)
def test_signatures_that_are_allowed(console, provider, algorithm):
    provider.key = KEYS[algorithm]({"kid": "second"})
    provider.known.append(provider.key)
    provider.id_token = lambda claims: provider.signed(claims, alg=algorithm)
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text


def by_another_key(provider, claims):
    return provider.signed(claims, RSAKey.generate_key(2048, {"kid": "first"}))


def by_an_unknown_key(provider, claims):
    return provider.signed(claims, RSAKey.generate_key(2048, {"kid": "unknown"}))


def by_the_public_key_as_a_secret(provider, claims):
    signed = provider.unsigned(claims, "HS256").removesuffix(".")
    secret = hmac.digest(provider.key.as_pem(private=False), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(secret).rstrip(b'=').decode()}"


def by_our_secret(provider, claims):
    return provider.signed(claims, OctKey.import_key("s e:c/r&t", {"kid": "first"}), alg="HS256")


def unsigned(provider, claims):
    return provider.unsigned(claims)


def unsigned_in_capitals(provider, claims):
    return provider.unsigned(claims, "NONE")


def without_its_signature(provider, claims):
    return provider.signed(claims).rpartition(".")[0] + "."


def with_other_claims(provider, claims):
    head, _, end = provider.signed(claims).split(".")
    return ".".join([head, provider.signed({**claims, "sub": "olga"}).split(".")[1], end])


BROKEN = "the ID token's signature does not hold"
FORGED = {
    by_another_key: BROKEN,
    by_an_unknown_key: "the ID token is signed with an unknown key",
    by_the_public_key_as_a_secret: BROKEN,
    by_our_secret: BROKEN,
    unsigned: BROKEN,
    unsigned_in_capitals: BROKEN,
    without_its_signature: BROKEN,
    with_other_claims: BROKEN,
}


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(("forged", "reason"), FORGED.items(), ids=[each.__name__ for each in FORGED])
def test_what_the_provider_did_not_sign(service, console, provider, forged, reason):
    provider.id_token = lambda claims: forged(provider, claims)
    refused(service, console, reason)


@pytest.mark.parametrize("token", [None, 1, "", "a.b", "a.b.c", "é", "x" * 60_000, ["a.b.c"]])
def test_what_is_no_token(service, console, provider, token):
    provider.id_token = lambda _: token
    page = Wanderer().open(f"{console}/sign-in/provider")
    assert page.status == 401
    assert reasons(service)[0] in ("there is no ID token", BROKEN)


def test_a_key_set_with_a_shared_secret_signs_nothing(service, console, provider):
    shared = OctKey.generate_key(256, {"kid": "shared"})
    provider.replies["/jwks"] = 200, {}, {"keys": [shared.as_dict(private=True)]}
    provider.id_token = lambda claims: provider.signed(claims, shared, alg="HS256")
    refused(service, console, BROKEN)


def test_keys_that_nobody_understands_do_no_harm(console, provider):
    own = provider.key.as_dict(private=False)
    strange = [
        None,
        1,
        {},
        {"kty": "new"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "none"},
        {**own, "kid": "x", "n": "!"},
    ]
    provider.replies["/jwks"] = 200, {}, {"keys": [*strange, own]}
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text


def test_new_keys_are_fetched_but_not_all_the_time(service, console, provider, monkeypatch):
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text
    provider.key = RSAKey.generate_key(2048, {"kid": "second"})
    provider.known = [provider.key]
    assert Wanderer().open(f"{console}/sign-in/provider").status == 401
    monkeypatch.setattr(kept, "_AGAIN_SECONDS", 0.0)
    assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text
    assert [path for path, *_ in provider.requests].count("/jwks") == 2
    assert [path for path, *_ in provider.requests].count("/.well-known/openid-configuration") == 1
    assert reasons(service) == ["the ID token is signed with an unknown key"]


def test_one_sign_in_opens_one_session_whatever_the_provider_says(clinic, service, provider, add):
    """Of two processes that share the service's database, each takes up what the other began, once."""
    add("ana", identity=f"{provider.issuer}#sub=ana")
    with ExitStack() as stack:
        first = stack.enter_context(console_of(service, provider.issuer))
        other_service = open_service([clinic.policy], announce=False)
        stack.callback(other_service.close)
        second = stack.enter_context(console_of(other_service, provider.issuer, url=first))
        ana = Wanderer()
        back = ana.until(f"{first}/sign-in/provider", "/sign-in/callback")
        pending = ana.cookies["127.0.0.1"][PENDING]
        there = urlsplit(back)._replace(netloc=urlsplit(second).netloc).geturl()
        assert "signed in as ana" in ana.open(there).text
        for url in (back, there):
            again = Wanderer()
            again.cookies["127.0.0.1"][PENDING] = pending
            assert again.open(url).status == 401
            assert SESSION not in again.cookies["127.0.0.1"]
    assert reasons(service) == ["it was used before"] * 2


def test_a_sign_in_that_took_too_long_is_refused(service, console, provider, monkeypatch):
    ana = Wanderer()
    back = ana.until(f"{console}/sign-in/provider", "/sign-in/callback")
    later = time.time() + 601
    monkeypatch.setattr(time, "time", lambda: later)
    assert ana.open(back).status == 401
    assert reasons(service) == ["no sign-in was begun in this browser, or more than ten minutes ago"]
    assert [path for path, *_ in provider.requests].count("/token") == 0


def test_userinfo_is_asked_for_what_the_token_lacks(service, provider, add):
    add("ana", identity=f"{provider.issuer}#employee=7")
    provider.metadata = {"userinfo_endpoint": f"{provider.issuer}/userinfo"}
    with console_of(service, provider.issuer, claim="employee") as console:
        provider.userinfo = {"sub": "ana", "employee": "7"}
        assert "signed in as ana" in Wanderer().open(f"{console}/sign-in/provider").text
        assert provider.requests[-1][2]["Authorization"] == "Bearer secret"
        provider.userinfo = {"sub": "olga", "employee": "7"}
        assert Wanderer().open(f"{console}/sign-in/provider").status == 401
        for value in (7, "", "a\nb", "x" * 300, None, " 7"):
            provider.userinfo = {"sub": "ana", "employee": value}
            assert Wanderer().open(f"{console}/sign-in/provider").status == 401
    assert set(reasons(service)) == {
        "UserInfo speaks of somebody else",
        "their employee cannot name an account",
    }


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_email_counts_if_the_provider_verified_it(service, provider, add, verified):
    add("ana", identity=f"{provider.issuer}#email=ana@clinic.example")
    claims = {"email": "ana@clinic.example"} | ({} if verified is None else {"email_verified": verified})
    provider.id_token = lambda usual: provider.signed({**usual, **claims})
    with console_of(service, provider.issuer, claim="email") as console:
        refused(service, console, "their email is not verified")
