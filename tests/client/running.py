"""A service on a free port of loopback, in a thread of this process."""

import socket
import threading
import time
from contextlib import contextmanager

import duckdb
import uvicorn

from discreet.apps.server.application import application
from discreet.apps.server.calls import Workshop
from discreet.apps.server.settings import ServerSettings
from discreet.service.accounts import new_account
from discreet.service.service import open_service
from discreet.service.user_account import Role

POLICY = """
[dataset]
name = "{name}"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}
answer_times = []

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 2

[tables.visits.columns.ward]
keys = ["north", "south", "attic"]

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.visits.columns.day]
keys = [2026-01-01, 2026-01-02, 2026-01-03]
"""
VISITS = (
    "SELECT range % 400 AS patient, ['north', 'south', NULL][1 + range % 3] AS ward,"
    " (range % 100)::DOUBLE AS cost, DATE '2026-01-01' + (range % 3)::INTEGER AS day,"
    " ['flu', 'cold'][1 + range % 2] AS diagnosis FROM range(1000)"
)
COUNT = "SELECT count(*) AS n FROM visits"


class RunningService:
    """Its address, and the service behind it."""

    def __init__(self, service, url):
        self.service = service
        self.url = url

    def add(self, name, role=Role.ANALYST, datasets=("clinic",), **settings):
        """A new account; its token."""
        account = new_account(name, role, datasets, **settings)
        return self.service.accounts.add(account, by="the owner")

    def account(self, name):
        return self.service.accounts.find(name)

    def local(self, name, dataset="clinic"):
        """The curator that answers this analyst, without HTTP."""
        return self.service.datasets[dataset].curator_of(self.account(name))


def make_policy(folder, name="clinic", *, epsilon=20, delta=0):
    duckdb.sql(f"COPY ({VISITS}) TO '{folder}/visits.parquet'")
    policy = folder / f"{name}.toml"
    policy.write_text(POLICY.format(name=name, epsilon=epsilon, delta=delta))
    return policy


@contextmanager
def running_service(*policies):
    service = open_service(policies)
    settings = ServerSettings(access_log=False)
    workshop = Workshop(service, settings)
    sock = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(application(service, settings, workshop), log_config=None, lifespan="off", ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield RunningService(service, f"http://127.0.0.1:{sock.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()
        sock.close()
        workshop.close(seconds=5.0)
        service.close()
