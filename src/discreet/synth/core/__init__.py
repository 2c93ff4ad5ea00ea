"""From noisy marginals to weighted records: what is measured, and how it is fitted."""
