"""SQL as people write it, read as functions and clauses that exist. Nothing here is new to a database."""
