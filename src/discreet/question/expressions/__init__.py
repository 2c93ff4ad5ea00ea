"""Names and expressions of a question, and what it groups by: from what was typed to the model."""
