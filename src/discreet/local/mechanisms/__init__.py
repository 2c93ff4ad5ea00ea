"""How an answer becomes a report. `mechanism` says what all have in common, `choice` picks the best one."""
