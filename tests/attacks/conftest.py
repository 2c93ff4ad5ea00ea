import pytest

from .ask import Clinic, watch


@pytest.fixture
def clinic(tmp_path, capfd):
    """A clinic whose secret must not have been seen by the end of the test: not in any answer, error, log
    record or print, nor in the ledger's files.
    """
    clinic = Clinic(tmp_path / "clinic")
    yield from watch(clinic, capfd)
    assert clinic.leaks() == []
