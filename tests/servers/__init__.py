"""Real servers for the tests, each started by itself on a free port and removed at the end."""

import os

import pytest


def missing(what, install):
    """Skip the test, with the line that installs what it needs; where everything must be there, fail."""
    said = f"{what} is not installed. Run: {install}"
    if os.environ.get("CI") == "true":
        pytest.fail(said)
    pytest.skip(said)
