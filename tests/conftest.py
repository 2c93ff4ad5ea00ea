"""Settings for all tests: timings are never a reason to fail. And servers, one for each worker of pytest."""

import pytest
from hypothesis import settings

from tests.servers.postgres import running_postgres

settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of our own; without one, the tests that need it are skipped."""
    with running_postgres() as server:
        yield server
