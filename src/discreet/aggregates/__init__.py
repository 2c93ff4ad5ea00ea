"""What can be released of a group: a registry, a file for each aggregate, the vectors they are made of."""
