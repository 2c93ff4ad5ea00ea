"""Settings for all tests: timings are never a reason to fail. And servers, one for each worker of pytest."""

import pytest
from hypothesis import settings

from tests.servers.postgres import running_postgres

settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Tests of one `xdist_group` stay on one worker, so that Spark is started once.

    xdist 3.8 adds the group to `_nodeid`, which pytest 9.2 no longer reads (pytest-xdist issue 1386).
    """
    for item in items:
        grouped = getattr(item, "_nodeid", item.nodeid)
        if grouped != item.nodeid:
            item._id = type(item._id).parse(grouped)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of our own; without one, the tests that need it are skipped."""
    with running_postgres() as server:
        yield server
