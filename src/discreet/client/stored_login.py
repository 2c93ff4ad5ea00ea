"""The service that `discreet login` stored: its address and your token, in a file that only you can read."""

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import InvalidInput

_FOLDER, _FILE = "discreet", "login.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLogin:
    """One service."""

    url: str
    token: str = field(repr=False)
    dataset: str | None
    """The one to ask about, if the account may use several."""
    insecure: bool


def login_file() -> Path:
    """In the user's folder for settings: $XDG_CONFIG_HOME, ~/.config, or %APPDATA%."""
    given = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    # A user without a home, as in some containers, has a folder “~” that does not exist.
    folder = Path(given) if given else Path(os.path.expanduser("~"), ".config")  # noqa: PTH111
    return folder / _FOLDER / _FILE


def store_login(login: StoredLogin) -> Path:
    """Written beside and moved into place, so that it is whole, and never readable by others."""
    path = login_file()
    facts = {"url": login.url, "token": login.token, "dataset": login.dataset, "insecure": login.insecure}
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(facts, file)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise InvalidInput(
            f"“{path}” cannot be written.", remedy="Check its folder, or set DISCREET_TOKEN instead."
        ) from None
    return path


def stored_login() -> StoredLogin | None:
    """None if nothing is stored."""
    path = login_file()
    try:
        shared = sys.platform != "win32" and path.stat().st_mode & 0o077
        found = json.loads(path.read_text(encoding="utf-8"))
        login = StoredLogin(
            url=found["url"],
            token=found["token"],
            dataset=found["dataset"],
            insecure=found["insecure"] is True,
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(f"“{path}” cannot be read.", remedy="Run: discreet login URL") from None
    if shared:
        raise InvalidInput(
            f"Others may read your token: “{path}” is open to them.",
            remedy=f"Run: chmod 600 {path}. If others may have read it, ask the owner for a new token.",
        )
    return login


def forget_login() -> bool:
    """Whether there was one."""
    try:
        login_file().unlink()
    except FileNotFoundError:
        return False
    except OSError:
        raise InvalidInput(f"“{login_file()}” cannot be removed.", remedy="Remove it yourself.") from None
    return True
