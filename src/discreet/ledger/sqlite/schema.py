"""The tables of a ledger in SQLite, and what they refuse by themselves.

The code checks a budget before it spends; these constraints and triggers are the second wall, which holds
against a mistake in the code and against a careless hand with a database tool.
"""

import sqlite3
from contextlib import closing
from functools import cache

from discreet.errors import LedgerClosed
from discreet.ledger.chain import RESTORE
from discreet.ledger.units import LARGEST

APPLICATION_ID = 0x64697363  # "disc"
SCHEMA_VERSION = 2


def _units(*columns: str) -> str:
    """Whole numbers from 0 to the largest budget."""
    return ", ".join(
        f"{column} INTEGER NOT NULL CHECK (typeof({column}) = 'integer' AND {column} BETWEEN 0 AND {LARGEST})"
        for column in columns
    )


def _refuse(name: str, when: str, because: str, condition: str = "1") -> str:
    return (
        f"CREATE TRIGGER {name} BEFORE {when} WHEN {condition} BEGIN SELECT RAISE(ABORT, '{because}'); END;\n"
    )


_TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    version INTEGER NOT NULL,
    analyst TEXT NOT NULL,
    question TEXT NOT NULL,
    key TEXT NOT NULL,
    currency TEXT NOT NULL CHECK (currency IN ('pure', 'concentrated')),
    {_units("amount", "delta", "spent", "spent_delta")},
    note TEXT NOT NULL,
    at TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE
);
CREATE INDEX entries_of_dataset ON entries (dataset, number);
CREATE UNIQUE INDEX answered_once ON entries (dataset, version, key) WHERE kind = 'answered';
CREATE TABLE accounts (
    dataset TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    currency TEXT NOT NULL CHECK (currency IN ('pure', 'concentrated')),
    version INTEGER NOT NULL CHECK (version >= 1),
    {_units("budget", "budget_delta", "cap", "cap_delta", "spent", "spent_delta")},
    CHECK (spent <= budget AND spent_delta <= budget_delta),
    CHECK (cap <= budget AND cap_delta <= budget_delta)
);
CREATE TABLE analysts (
    dataset TEXT NOT NULL REFERENCES accounts (dataset),
    analyst TEXT NOT NULL,
    {_units("spent", "spent_delta")},
    PRIMARY KEY (dataset, analyst)
);
CREATE TABLE answers (
    number INTEGER PRIMARY KEY REFERENCES entries (number),
    answer BLOB NOT NULL
);
"""

_SINCE_2 = (
    "CREATE INDEX entries_of_key ON entries (dataset, version, key, number);\n",
    "CREATE INDEX written_off ON entries (dataset, number) WHERE kind = 'written off';\n",
    "CREATE INDEX lost ON entries (dataset, number) WHERE kind = 'lost';\n",
    "CREATE TABLE people (person TEXT PRIMARY KEY, dataset TEXT NOT NULL REFERENCES accounts (dataset));\n",
    "CREATE INDEX people_of_dataset ON people (dataset);\n",
    _refuse("people_stay", "UPDATE ON people", "people keep their account"),
    _refuse("people_are_kept", "DELETE ON people", "people keep their account"),
)

UPGRADES = {
    1: (
        "DROP INDEX charged_once",
        "DROP INDEX entries_of_kind",
        *_SINCE_2,
        "INSERT INTO people SELECT fingerprint, dataset FROM accounts",
        "PRAGMA user_version = 2",
    )
}
"""From each older version to the next, one statement each.

Since 2 a key may be charged again, and the people of an account are known one by one: before, its fingerprint
stood for them.
"""

_TRIGGERS = [
    _refuse(
        "entries_have_no_gaps",
        "INSERT ON entries",
        "entries are numbered without gaps",
        "NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entries)",
    ),
    _refuse("entries_stay", "UPDATE ON entries", "entries are never changed"),
    _refuse("entries_are_kept", "DELETE ON entries", "entries are never removed"),
    _refuse("answers_stay", "UPDATE ON answers", "answers are never changed"),
    _refuse("answers_are_kept", "DELETE ON answers", "answers are never removed"),
    _refuse("accounts_are_kept", "DELETE ON accounts", "accounts are never removed"),
    _refuse(
        "accounts_only_spend",
        "UPDATE ON accounts",
        "what is spent stays spent",
        "NEW.spent < OLD.spent OR NEW.spent_delta < OLD.spent_delta OR NEW.version < OLD.version",
    ),
    _refuse("analysts_are_kept", "DELETE ON analysts", "what is spent stays spent"),
    _refuse(
        "analysts_only_spend",
        "UPDATE ON analysts",
        "what is spent stays spent",
        "NEW.spent < OLD.spent OR NEW.spent_delta < OLD.spent_delta",
    ),
]

SCHEMA = _TABLES + "".join((*_SINCE_2, *_TRIGGERS))


def check_schema(connection: sqlite3.Connection) -> None:
    """The tables, constraints and triggers must be the ones that were made."""
    if _schema(connection) != _expected():
        raise LedgerClosed("The ledger's tables or triggers were changed.", remedy=RESTORE)


@cache
def _expected() -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(SCHEMA)
        return _schema(fresh)


def _schema(connection: sqlite3.Connection) -> frozenset[tuple[str, ...]]:
    with closing(connection.execute("SELECT type, name, sql FROM sqlite_master")) as cursor:
        return frozenset(tuple(row) for row in cursor)
