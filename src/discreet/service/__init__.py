"""The curator for several people: who they are, what each may do and spend, and a log of what happened."""
