"""One service for many tests: two datasets, and people of every role."""

from fractions import Fraction

import pytest

from discreet.service.user_account import Role
from tests.apps.server.running_service import Client, add_account, running
from tests.attacks.ask import Clinic

NO_WAIT = "answer_times = []"


@pytest.fixture(scope="package")
def clinic(tmp_path_factory):
    return Clinic(tmp_path_factory.mktemp("clinic"), epsilon=900, dataset=NO_WAIT)


@pytest.fixture(scope="package")
def school(tmp_path_factory):
    """Another dataset on the same service."""
    found = Clinic(tmp_path_factory.mktemp("school"), epsilon=900, dataset=NO_WAIT)
    found.policy.write_text(found.policy.read_text().replace('name = "clinic"', 'name = "school"'))
    return found


@pytest.fixture(scope="package")
def tokens(clinic):
    """Of everybody, by name. zoe and otto have the school only, olga and audrey have both datasets."""
    both = ("clinic", "school")
    return {
        "ana": add_account(clinic.policy, "ana"),
        "bo": add_account(clinic.policy, "bo", approval_above=Fraction(1, 2)),
        "zoe": add_account(clinic.policy, "zoe", datasets=["school"]),
        "olga": add_account(clinic.policy, "olga", Role.OWNER, both),
        "otto": add_account(clinic.policy, "otto", Role.OWNER, ["school"]),
        "audrey": add_account(clinic.policy, "audrey", Role.AUDITOR, both),
    }


@pytest.fixture(scope="package")
def port(clinic, school, tokens):  # noqa: ARG001  accounts are there before it starts
    with running(clinic.policy, school.policy, options=["--no-access-log"]) as (_, port):
        yield port


@pytest.fixture
def client(port, tokens):
    """A client of somebody, or of nobody."""
    opened = []

    def client(name=None):
        opened.append(Client(port, None if name is None else tokens[name]))
        return opened[-1]

    yield client
    for each in opened:
        each.__exit__()
