"""What is drawn for a question, and all that is computed from it: estimates, outputs, notes, explanations."""
