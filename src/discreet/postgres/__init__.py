"""What a source and a ledger in PostgreSQL share: their addresses, how to connect, and why that fails."""
