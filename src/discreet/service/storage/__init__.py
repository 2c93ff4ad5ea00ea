"""What a service writes down: its database on SQLite or PostgreSQL, and the log with its chain of hashes."""
