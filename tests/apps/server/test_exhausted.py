"""Questions that run out of time or memory: they are stopped, their charge stays, and the service goes on."""

import pytest

from discreet import EngineFailed, TookTooLong
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.service.service import open_service
from tests.apps.server.console.served_console import served
from tests.apps.server.killed_service import charges
from tests.apps.server.running_service import COUNT, Client, add_account
from tests.attacks.ask import Clinic

MARK = 12345
GREEDY = f"{COUNT} WHERE cost < {MARK}"
FAILURES = {
    "time": (TookTooLong("It took too long.", remedy="Ask for less."), 504),
    "memory of the database": (EngineFailed("It failed.", remedy="Try again."), 500),
    "memory of the process": (MemoryError("a canary"), 500),
}


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path / "clinic", epsilon=10, dataset="answer_times = []")


@pytest.fixture
def port(clinic):
    service = open_service([clinic.policy])
    with served(service) as port:
        yield port
    service.close()


@pytest.mark.parametrize("kind", FAILURES)
def test_the_charge_stays_and_the_service_goes_on(clinic, port, monkeypatch, kind):
    failure, status = FAILURES[kind]
    run = DuckDBEngine.run

    def runs(self, sql, *rest, **options):
        if str(MARK) in sql:
            raise failure
        return run(self, sql, *rest, **options)

    monkeypatch.setattr(DuckDBEngine, "run", runs)
    with Client(port, add_account(clinic.policy, "ana")) as ana:
        told = ana.ask(GREEDY)
        assert told.status == status
        assert told.json["remedy"]
        assert b"canary" not in told.body
        assert len(charges(clinic.policy)) == 1
        assert ana.get("/healthz").status == 200
        assert ana.ask(COUNT).status == 200
        assert ana.get("datasets/clinic/budget").json["spent"] == {"epsilon": 2}
