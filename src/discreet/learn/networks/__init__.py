"""Networks of torch."""
