"""From SQL, or Python, to a question in our own tree: parse, resolve, and what is refused on the way."""
