"""Where the ledger under test is kept. Another database joins the suite by adding its place here."""

import itertools
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.interface import Account
from discreet.ledger.postgres.ledger import PostgresLedger
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.privacy import PureLoss
from discreet.postgres.address import is_postgres, read_ledger_address
from tests.servers.postgres import run_program

TENTH = PureLoss(epsilon=Fraction(1, 10))
ONE = PureLoss(epsilon=1)
KINDS = ("sqlite", "postgres")


@dataclass(frozen=True)
class SqlitePlace:
    """Names one ledger, also for other processes; each `open` is another handle on it."""

    address: str
    anchor: Path

    def open(self):
        return SqliteLedger(self.address)

    def other(self, name):
        """Another place of the same kind."""
        return sqlite_place(Path(f"{self.address} {name}"))

    def backup(self):
        """What `restore` brings back, after all handles were closed."""
        return shutil.copy(self.address, f"{self.address}.backup")

    def restore(self, backup):
        shutil.copy(backup, self.address)

    def lose(self):
        Path(self.address).unlink()


@dataclass(frozen=True)
class PostgresPlace:
    """The same in a schema of a server."""

    address: str
    anchor: Path

    def open(self):
        return PostgresLedger(self.address, anchor=self.anchor)

    def on_another_machine(self, name):
        """The same ledger, with an anchor that was copied once."""
        anchor = self.anchor.with_name(f"{self.anchor.name} {name}")
        shutil.copy(self.anchor, anchor)
        return replace(self, anchor=anchor)

    def other(self, name):
        anchor = self.anchor.with_name(f"{self.anchor.name} {name}")
        return PostgresPlace(address=f"{self.address}_{name}", anchor=anchor)

    @property
    def server(self):
        return read_ledger_address(self.address).database.url

    @property
    def schema(self):
        return read_ledger_address(self.address).schema

    def run(self, *statements):
        """What a careless or malicious hand does with a database tool; it is the superuser's."""
        with psycopg.connect(self.server) as connection:
            connection.execute(f"SET search_path TO {self.schema}")
            for statement in statements:
                connection.execute(statement)

    def backup(self):
        return run_program("pg_dump", "--schema", self.schema, self.server)

    def restore(self, backup):
        self.lose()
        run_program("psql", "--quiet", "--set", "ON_ERROR_STOP=1", self.server, input=backup)

    def lose(self):
        self.run(f"DROP SCHEMA {self.schema} CASCADE")


def place_at(address, anchor):
    kind = PostgresPlace if is_postgres(address) else SqlitePlace
    return kind(address=address, anchor=Path(anchor))


def sqlite_place(path):
    return SqlitePlace(address=str(path), anchor=Path(f"{path}.anchor"))


@contextmanager
def new_places(server=None):
    """Files in memory where the system has it, because these tests write through to the disk so often."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        if server is None:
            yield lambda: sqlite_place(Path(directory) / "ledger.db")
        else:
            yield lambda: postgres_place(server, Path(directory))


_NUMBERS = itertools.count()


def postgres_place(server, folder):
    return PostgresPlace(address=f"{server.url}#ledger_{next(_NUMBERS)}", anchor=folder / "ledger.anchor")


def account(dataset="staff", *, budget=ONE, cap=None, fingerprint=None):
    return Account(
        dataset=dataset, budget=budget, analyst_cap=cap or budget, fingerprint=fingerprint or f"of {dataset}"
    )


def charge(ledger, key, *, dataset="staff", analyst="ana", loss=TENTH, caps=()):
    return ledger.charge(dataset, analyst=analyst, question=f"SELECT {key}", key=key, loss=loss, caps=caps)


def closed_at_every_call(place, match):
    """No call gets through, whichever is first."""
    for call in (
        lambda ledger: ledger.open_account(account()),
        lambda ledger: charge(ledger, "new"),
        lambda ledger: ledger.stored_answer("staff", "k"),
        lambda ledger: ledger.balance("staff"),
        lambda ledger: list(ledger.entries("staff")),
        lambda ledger: ledger.refresh("staff"),
        lambda ledger: ledger.verify(),
    ):
        with place.open() as ledger, pytest.raises(LedgerClosed, match=match) as refused:
            call(ledger)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__ or refused.value.__context__ is None
