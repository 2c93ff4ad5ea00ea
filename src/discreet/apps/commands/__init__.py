"""The `discreet` command and its subcommands."""
