"""What was spent, by whom, on what: durable, append-only, and never more than the budget."""
