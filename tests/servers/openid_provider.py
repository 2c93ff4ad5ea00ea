"""A real OpenID provider for the tests: oidc-provider, which is certified, on Node.

It is installed once, by the lock file beside it, into a folder of the user's cache.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.local import node
from tests.servers import missing

HERE = Path(__file__).parent / "openid"
INSTALL = "apt-get install --yes npm"


@dataclass(frozen=True)
class OpenIdProvider:
    """One that runs."""

    issuer: str
    process: subprocess.Popen

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def register(self, url, **metadata):
        """A client of this provider, for a service at an address: its id and its secret."""
        wanted = {"redirect_uris": [f"{url}/sign-in/callback"], **metadata}
        request = urllib.request.Request(  # noqa: S310
            f"{self.issuer}/reg", json.dumps(wanted).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            found = json.load(reply)
        return found["client_id"], found["client_secret"]


@contextmanager
def running_provider():
    """Start a provider, and stop it at the end. It ends with its tests, however they end."""
    command = [node.executable(), "--no-warnings", HERE / "provider.mjs", _installed()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            issuer = process.stdout.readline().strip()
            assert issuer, "the provider does not start"
            yield OpenIdProvider(issuer, process)
        finally:
            process.stdin.close()


def _installed():
    """Where it is. Tests that install it at the same time all do so, and the first one's stays."""
    npm = shutil.which("npm") or missing("npm", INSTALL)
    lock = (HERE / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discreet-tests"
    folder = cache / f"openid-{hashlib.sha256(lock).hexdigest()[:12]}"
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as made:
        new = Path(made) / "openid"
        new.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, new)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run([npm, "ci", *options], cwd=new, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with suppress(OSError):  # another was faster
            new.rename(folder)
    return folder
