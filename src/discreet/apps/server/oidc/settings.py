"""Which provider signs people in, as a small TOML file says it."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import InvalidInput, MissingExtra
from discreet.service.identity import check_claim
from discreet.web.urls import LONGEST_URL, checked_url

SECRET_VARIABLE = "DISCREET_OIDC_SECRET"  # noqa: S105
CALLBACK_PATH = "/sign-in/callback"
OIDC_SETTINGS = ("issuer", "client_id", "client_secret_file", "url", "name", "claim", "scopes")


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """One provider, and who we are to it. It is sent to other processes, so it holds plain values."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    url: str
    """Where browsers find this service, without a slash at its end."""
    name: str
    """What people call their account there."""
    claim: str = "sub"
    """What of a person names their account here."""
    scopes: tuple[str, ...] = ()
    """What is asked for besides openid, and email if that is the claim."""

    @property
    def redirect_uri(self) -> str:
        return self.url + CALLBACK_PATH

    @property
    def scope(self) -> str:
        wanted = ("openid", *(("email",) if self.claim == "email" else ()), *self.scopes)
        return " ".join(dict.fromkeys(wanted))


def read_oidc_settings(path: Path, environment: Mapping[str, str] | None = None) -> OidcSettings:
    """From a file. The secret is in a file of its own, or in the environment."""
    load_oidc()
    given = _read(path)
    unknown = sorted(set(given) - set(OIDC_SETTINGS))
    if unknown:
        raise _wrong(path, f"has an unknown setting “{unknown[0]}”", f"Use: {', '.join(OIDC_SETTINGS)}.")
    issuer = checked_url(_text(path, given, "issuer"), f"The issuer in {path.name}")
    url = checked_url(_text(path, given, "url"), f"The url in {path.name}")
    parts = urlsplit(url)
    if parts.path.strip("/"):
        raise _wrong(path, "has a url with a path", f"Write {parts.scheme}://{parts.netloc}.")
    claim = str(given.get("claim", "sub"))
    check_claim(claim)
    return OidcSettings(
        issuer=issuer,
        client_id=_text(path, given, "client_id"),
        client_secret=_secret(path, given, os.environ if environment is None else environment),
        url=f"{parts.scheme}://{parts.netloc}".lower(),
        name=_text(path, given, "name") if "name" in given else urlsplit(issuer).netloc,
        claim=claim,
        scopes=_scopes(path, given.get("scopes", [])),
    )


def load_oidc() -> None:
    try:
        import joserfc  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "The parts for OpenID Connect are not installed.", remedy='Run: pip install "discreet[server]"'
        ) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidInput(
            f"“{path}” cannot be read.", remedy="Give a file that this account can read: --oidc oidc.toml"
        ) from None
    except ValueError as error:
        raise _wrong(path, f"is not TOML: {error}", 'Write lines such as: client_id = "discreet"') from None


def _text(path: Path, given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > LONGEST_URL:
        raise _wrong(path, f"needs a text “{name}”", f'Add a line such as: {name} = "…"')
    return value.strip()


def _scopes(path: Path, given: object) -> tuple[str, ...]:
    fine = isinstance(given, list) and all(
        isinstance(each, str) and each.isascii() and each.isprintable() and each and " " not in each
        for each in given
    )
    if not fine or not isinstance(given, list):
        raise _wrong(path, "has scopes that are none", 'Write: scopes = ["profile"]')
    return tuple(given)


def _secret(path: Path, given: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    named, set_there = "client_secret_file" in given, bool(environment.get(SECRET_VARIABLE))
    if named == set_there:
        problem = "names a file for the client's secret, and the environment has one too"
        raise _wrong(
            path,
            problem if named else "does not say where the client's secret is",
            f"Give one: client_secret_file in this file, or {SECRET_VARIABLE} in the environment.",
        )
    if set_there:
        return environment[SECRET_VARIABLE].strip()
    file = path.parent / _text(path, given, "client_secret_file")
    try:
        found = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        found = ""
    if not found:
        raise InvalidInput(
            f"“{file}” does not hold the client's secret.",
            remedy="Write the secret that the provider gave you into it, readable by this account only.",
        )
    return found


def _wrong(path: Path, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"“{path.name}” {problem}.", remedy=remedy)
