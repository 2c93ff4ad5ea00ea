"""The functions that a question may use on a row: one registry, one meaning on every engine."""
