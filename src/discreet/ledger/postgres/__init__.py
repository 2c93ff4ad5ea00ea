"""A ledger in a schema of PostgreSQL."""
