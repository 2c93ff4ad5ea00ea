"""Tables and views in PostgreSQL."""
