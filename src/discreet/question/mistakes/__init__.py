"""What is said of a question that cannot be read, or names what is not there: where, and what works."""
