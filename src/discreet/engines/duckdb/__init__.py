"""DuckDB over files."""
