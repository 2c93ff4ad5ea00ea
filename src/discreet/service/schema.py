"""The tables of a service. Times are ISO texts in UTC, exact numbers are texts of fractions."""

MARK = 1
"""The version of these tables."""

TABLES = (
    """
    CREATE TABLE accounts (
        name TEXT PRIMARY KEY, role TEXT NOT NULL, datasets TEXT NOT NULL, project TEXT NOT NULL,
        most_epsilon TEXT, default_epsilon TEXT, approval_above TEXT, subject TEXT NOT NULL,
        created TEXT NOT NULL, revoked TEXT
    )
    """,
    """
    CREATE TABLE projects (name TEXT PRIMARY KEY, most_epsilon TEXT NOT NULL)
    """,
    """
    CREATE TABLE members (project TEXT NOT NULL, account TEXT NOT NULL, PRIMARY KEY (project, account))
    """,
    """
    CREATE TABLE tokens (
        digest TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name), kind TEXT NOT NULL,
        created TEXT NOT NULL, expires TEXT NOT NULL, revoked TEXT
    )
    """,
    """
    CREATE TABLE approvals (
        id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name), dataset TEXT NOT NULL,
        question TEXT NOT NULL, terms TEXT NOT NULL, purpose TEXT NOT NULL, epsilon TEXT NOT NULL,
        status TEXT NOT NULL, asked TEXT NOT NULL, decided TEXT, decided_by TEXT
    )
    """,
    """
    CREATE TABLE questions (
        id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name), dataset TEXT NOT NULL,
        question TEXT NOT NULL, terms TEXT NOT NULL, asked TEXT NOT NULL, receipt {number}, answer {bytes}
    )
    """,
    """
    CREATE INDEX questions_of_account ON questions (account, asked)
    """,
    """
    CREATE INDEX questions_of_receipt ON questions (dataset, receipt)
    """,
    """
    CREATE TABLE events (
        number {number} PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL,
        dataset TEXT NOT NULL, details TEXT, details_digest TEXT NOT NULL, digest TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX events_of_account ON events (who, number)
    """,
)
