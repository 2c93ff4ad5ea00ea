"""One service for each module of tests."""

import pytest

from .running import make_policy, running_service


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    with running_service(make_policy(folder)) as running:
        yield running
