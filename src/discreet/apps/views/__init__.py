"""What commands show: tables, pictures and files."""
