"""The tables of a service. Times are ISO texts in UTC, exact numbers are texts of fractions.

An account's `subject` is its identity at a provider.
"""

MARK = 2
"""The version of these tables. Those that an earlier version lacks are added."""

TABLES = (
    """
    CREATE TABLE IF NOT EXISTS accounts (
        name TEXT PRIMARY KEY, role TEXT NOT NULL, datasets TEXT NOT NULL, project TEXT NOT NULL,
        most_epsilon TEXT, default_epsilon TEXT, approval_above TEXT, subject TEXT NOT NULL,
        created TEXT NOT NULL, revoked TEXT
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS projects (name TEXT PRIMARY KEY, most_epsilon TEXT NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS members (
        project TEXT NOT NULL, account TEXT NOT NULL, PRIMARY KEY (project, account)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS tokens (
        digest TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name), kind TEXT NOT NULL,
        created TEXT NOT NULL, expires TEXT NOT NULL, revoked TEXT
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS approvals (
        id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name), dataset TEXT NOT NULL,
        question TEXT NOT NULL, terms TEXT NOT NULL, purpose TEXT NOT NULL, epsilon TEXT NOT NULL,
        status TEXT NOT NULL, asked TEXT NOT NULL, decided TEXT, decided_by TEXT
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS questions (
        id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name), dataset TEXT NOT NULL,
        question TEXT NOT NULL, terms TEXT NOT NULL, asked TEXT NOT NULL, receipt {number}, answer {bytes}
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS questions_of_account ON questions (account, asked)
    """,
    """
    CREATE INDEX IF NOT EXISTS questions_of_receipt ON questions (dataset, receipt)
    """,
    """
    CREATE TABLE IF NOT EXISTS events (
        number {number} PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL,
        dataset TEXT NOT NULL, details TEXT, details_digest TEXT NOT NULL, digest TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS events_of_account ON events (who, number)
    """,
    """
    CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS used_sign_ins (state TEXT PRIMARY KEY, expires TEXT NOT NULL)
    """,
)
NEWEST_TABLE = "used_sign_ins"
"""Where this table is, all are."""
