"""Addresses that an owner names, of this server or of another."""

from urllib.parse import SplitResult, urlsplit

from discreet.errors import InvalidInput
from discreet.web.listening import is_loopback

LONGEST_URL = 500


def checked_url(url: str, what: str) -> str:
    """The same. Without TLS, others on the way could sign in as somebody else: only on this machine."""
    parts = split_url(url)
    if parts is None or parts.query:
        raise InvalidInput(
            f"{what} is not a URL.", remedy="Write it in full, such as https://discreet.clinic.example"
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InvalidInput(f"{what} is not encrypted.", remedy=f"Use https://{parts.netloc}")
    return url


def split_url(url: str) -> SplitResult | None:
    """The parts of a plain http or https URL; None if it is anything else."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    plain = url.isascii() and url.isprintable() and not any(bad in url for bad in ' "\\<>')
    if not fine or not plain or "#" in url or parts.username is not None or len(url) > LONGEST_URL:
        return None
    return parts
