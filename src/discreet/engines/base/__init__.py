"""What all engines share: the interface, how statements are run, which files and types there are."""
