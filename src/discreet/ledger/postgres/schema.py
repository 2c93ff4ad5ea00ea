"""The tables of a ledger in PostgreSQL, and what they refuse by themselves: as in SQLite, and TRUNCATE too.

Text is compared byte by byte (COLLATE "C"), so that no index depends on the locale of the system.
"""

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.errors import LedgerClosed
from discreet.ledger.chain import RESTORE, canonical
from discreet.ledger.units import LARGEST

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[dict[str, Any]]

SCHEMA_VERSION = 2
_MARK = "discreet ledger "
MARK = f"{_MARK}{SCHEMA_VERSION}"
"""The comment on the table of entries, by which a ledger is known."""

DIGEST = "63d55ea873f385519a8724e620cdbbcc43373db467b7e9c5db9cfc0eff4a47fd"
"""SHA-256 of what `described` finds in a fresh schema: seen on PostgreSQL 15, and meant for 14 and later.

What later versions print differently is left out or made equal. 18 lists NOT NULL among constraints; here it
is listed with the columns. 16 prints the columns of views without their tables; there are no views. Each
version breaks expressions into lines in its own way.
"""


def _texts(*columns: str) -> str:
    return ", ".join(f'{column} text COLLATE "C" NOT NULL' for column in columns)


def _units(*columns: str) -> str:
    """Whole numbers from 0 to the largest budget."""
    return ", ".join(
        f"{column} bigint NOT NULL CHECK ({column} BETWEEN 0 AND {LARGEST})" for column in columns
    )


def _refuse(name: str, when: str, because: str, *, each: str = "ROW", condition: str = "true") -> str:
    return (
        f"CREATE TRIGGER {name} BEFORE {when} FOR EACH {each} WHEN ({condition}) "
        f"EXECUTE FUNCTION refuse('{because}');\n"
    )


_TABLES = f"""
CREATE TABLE entries (
    number bigint PRIMARY KEY,
    {_texts("kind", "dataset")},
    version bigint NOT NULL,
    {_texts("analyst", "question", "key", "currency")},
    {_units("amount", "delta", "spent", "spent_delta")},
    {_texts("note", "at", "digest")},
    CHECK (currency IN ('pure', 'concentrated')),
    UNIQUE (digest)
);
CREATE INDEX entries_of_dataset ON entries (dataset, number);
CREATE UNIQUE INDEX answered_once ON entries (dataset, version, key) WHERE kind = 'answered';
CREATE TABLE accounts (
    {_texts("dataset", "fingerprint", "currency")},
    version bigint NOT NULL CHECK (version >= 1),
    {_units("budget", "budget_delta", "cap", "cap_delta", "spent", "spent_delta")},
    PRIMARY KEY (dataset),
    UNIQUE (fingerprint),
    CHECK (currency IN ('pure', 'concentrated')),
    CHECK (spent <= budget AND spent_delta <= budget_delta),
    CHECK (cap <= budget AND cap_delta <= budget_delta)
);
CREATE TABLE analysts (
    {_texts("dataset", "analyst")},
    {_units("spent", "spent_delta")},
    PRIMARY KEY (dataset, analyst),
    FOREIGN KEY (dataset) REFERENCES accounts (dataset)
);
CREATE TABLE answers (
    number bigint PRIMARY KEY REFERENCES entries (number),
    answer bytea NOT NULL
);
COMMENT ON TABLE entries IS '{MARK}';
"""

_SINCE_2 = """
CREATE INDEX entries_of_key ON entries (dataset, version, key, number);
CREATE INDEX written_off ON entries (dataset, number) WHERE kind = 'written off';
CREATE INDEX lost ON entries (dataset, number) WHERE kind = 'lost';
"""

_FUNCTIONS = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE FUNCTION refuse_gaps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    last bigint;
BEGIN
    EXECUTE pg_catalog.format('SELECT pg_catalog.max(number) FROM %I.entries', TG_TABLE_SCHEMA) INTO last;
    IF NEW.number = coalesce(last, 0) + 1 THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING MESSAGE = 'entries are numbered without gaps',
        ERRCODE = 'integrity_constraint_violation';
END
$$;
"""

_TRIGGERS = [
    "CREATE TRIGGER entries_have_no_gaps BEFORE INSERT ON entries "
    "FOR EACH ROW EXECUTE FUNCTION refuse_gaps();\n",
    _refuse("entries_stay", "UPDATE ON entries", "entries are never changed"),
    _refuse("entries_are_kept", "DELETE ON entries", "entries are never removed"),
    _refuse("answers_stay", "UPDATE ON answers", "answers are never changed"),
    _refuse("answers_are_kept", "DELETE ON answers", "answers are never removed"),
    _refuse("accounts_are_kept", "DELETE ON accounts", "accounts are never removed"),
    _refuse(
        "accounts_only_spend",
        "UPDATE ON accounts",
        "what is spent stays spent",
        condition="NEW.spent < OLD.spent OR NEW.spent_delta < OLD.spent_delta OR NEW.version < OLD.version",
    ),
    _refuse("analysts_are_kept", "DELETE ON analysts", "what is spent stays spent"),
    _refuse(
        "analysts_only_spend",
        "UPDATE ON analysts",
        "what is spent stays spent",
        condition="NEW.spent < OLD.spent OR NEW.spent_delta < OLD.spent_delta",
    ),
    *(
        _refuse(f"{table}_are_not_truncated", f"TRUNCATE ON {table}", "nothing is removed", each="STATEMENT")
        for table in ("entries", "answers", "accounts", "analysts")
    ),
]

_PEOPLE = f"""
CREATE TABLE people (
    {_texts("person", "dataset")},
    PRIMARY KEY (person),
    FOREIGN KEY (dataset) REFERENCES accounts (dataset)
);
CREATE INDEX people_of_dataset ON people (dataset);
""" + "".join(
    (
        _refuse("people_stay", "UPDATE ON people", "people keep their account"),
        _refuse("people_are_kept", "DELETE ON people", "people keep their account"),
        _refuse("people_are_not_truncated", "TRUNCATE ON people", "nothing is removed", each="STATEMENT"),
    )
)

UPGRADES = {
    "discreet ledger 1": "".join(
        (
            "DROP INDEX charged_once; DROP INDEX entries_of_kind;",
            _SINCE_2,
            _PEOPLE,
            "INSERT INTO people SELECT fingerprint, dataset FROM accounts;",
            "COMMENT ON TABLE entries IS 'discreet ledger 2';",
        )
    )
}
"""From the mark of each older version to the next.

Since 2 a key may be charged again, and the people of an account are known one by one: before, its fingerprint
stood for them.
"""

DEFINITION = _TABLES + _SINCE_2 + _FUNCTIONS + "".join(_TRIGGERS) + _PEOPLE

_DESCRIPTION = """
WITH home AS (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s),
tables AS (SELECT c.* FROM pg_class AS c JOIN home ON c.relnamespace = home.oid)
SELECT 'relation' AS kind, relname::text AS name, concat_ws(' ', relkind, relpersistence, relrowsecurity,
    relforcerowsecurity, relispartition, obj_description(oid, 'pg_class')) AS definition FROM tables
UNION ALL SELECT 'column', relname || '.' || attname, concat_ws(' ', attnum, format_type(atttypid, atttypmod),
    collname, attnotnull, atthasdef, attidentity, attgenerated)
    FROM pg_attribute JOIN tables ON attrelid = tables.oid LEFT JOIN pg_collation AS c ON c.oid = attcollation
    WHERE attnum > 0 AND NOT attisdropped AND relkind = 'r'
UNION ALL SELECT 'constraint', relname || '.' || conname,
    concat_ws(' ', contype, convalidated, pg_get_constraintdef(c.oid, true))
    FROM pg_constraint AS c JOIN tables ON conrelid = tables.oid WHERE contype IN ('c', 'f', 'p', 'u', 'x')
UNION ALL SELECT 'index', relname,
    concat_ws(' ', indisvalid, indisready, pg_get_indexdef(indexrelid, 0, true))
    FROM pg_index JOIN tables ON indexrelid = tables.oid
UNION ALL SELECT 'trigger', relname, concat_ws(' ', tgenabled,
    CASE WHEN tgisinternal THEN concat_ws(' ', proname, tgtype) ELSE pg_get_triggerdef(t.oid, true) END)
    FROM pg_trigger AS t JOIN tables ON tgrelid = tables.oid JOIN pg_proc AS p ON p.oid = tgfoid
UNION ALL SELECT 'function', proname, concat_ws(' ', lanname, prokind, prosecdef, pronargs, proconfig, prosrc)
    FROM pg_proc JOIN home ON pronamespace = home.oid JOIN pg_language AS l ON l.oid = prolang
UNION ALL SELECT 'rule', relname, rulename FROM pg_rewrite JOIN tables ON ev_class = tables.oid
UNION ALL SELECT 'policy', relname, polname FROM pg_policy JOIN tables ON polrelid = tables.oid
UNION ALL SELECT 'child', relname, inhrelid::regclass::text
    FROM pg_inherits JOIN tables ON inhparent = tables.oid
UNION ALL SELECT 'operator', oprname, '' FROM pg_operator JOIN home ON oprnamespace = home.oid
UNION ALL SELECT 'type', typname, typtype::text FROM pg_type JOIN home ON typnamespace = home.oid
"""

_PRINTED = ("constraint", "index", "trigger")

_MAY_ASK_FOR_SERVER = (
    "SELECT NOT pg_catalog.pg_is_in_recovery() AND "
    "pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS granted"
)
_SERVER = (
    "SELECT pg_catalog.format('%s/%s', system_identifier, pg_catalog.left("
    "pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)) AS server "
    "FROM pg_catalog.pg_control_system()"
)


class Found(NamedTuple):
    """What is in the place of a ledger."""

    schema: bool
    relations: int
    mark: str | None
    """The comment of its table of entries."""


def found_in(connection: "Connection", schema: str) -> Found:
    rows = connection.execute(
        "SELECT count(DISTINCT n.oid) > 0 AS schema, count(c.oid) AS relations, "
        "max(obj_description(c.oid, 'pg_class')) FILTER (WHERE relname = 'entries') AS mark "
        "FROM pg_catalog.pg_namespace AS n LEFT JOIN pg_catalog.pg_class AS c ON relnamespace = n.oid "
        "WHERE nspname = %s",
        [schema],
    ).fetchall()
    return Found(**rows[0])


def server_of(connection: "Connection") -> str:
    """The number that a server is given when it is made, and its timeline, which changes when it is restored
    to a moment and when a standby takes over; "" where the role may not ask.
    """
    may_ask = connection.execute(_MAY_ASK_FOR_SERVER).fetchone()
    if may_ask is None or not may_ask["granted"]:
        return ""
    found = connection.execute(_SERVER).fetchone()
    return "" if found is None else str(found["server"])


def is_usable(connection: "Connection", schema: str) -> bool:
    """Whether the role may use the schema. If not, PostgreSQL silently takes the next one on the path."""
    rows = connection.execute("SELECT current_schema() AS schema").fetchall()
    return bool(rows[0]["schema"] == schema)


def described(connection: "Connection", schema: str) -> list[tuple[str, str, str]]:
    """Everything in the schema that decides what its tables hold and refuse. It must be on the path."""
    rows = connection.execute(_DESCRIPTION, {"schema": schema}).fetchall()
    return sorted((row["kind"], row["name"], _alike(row["kind"], row["definition"])) for row in rows)


def _alike(kind: str, definition: str) -> str:
    """On one line, if PostgreSQL printed it. The text of a function is kept as it was given."""
    return " ".join(definition.split()) if kind in _PRINTED else definition


def digest_of_schema(connection: "Connection", schema: str) -> str:
    return hashlib.sha256(canonical(described(connection, schema)).encode()).hexdigest()


def check_schema(connection: "Connection", schema: str) -> None:
    """The tables, constraints, triggers and functions must be the ones that were made."""
    if digest_of_schema(connection, schema) != DIGEST:
        raise LedgerClosed("The ledger's tables or triggers were changed.", remedy=RESTORE)


def is_later(mark: str | None) -> bool:
    """Whether the tables were made by a version of discreet after this one."""
    version = (mark or "").removeprefix(_MARK)
    return version.isdigit() and int(version) > SCHEMA_VERSION
