"""Which vectors of a question are measured together.

`wanted` tells what each vector adds up, `exclusive` which conditions can be true together, and `families`
chooses the families that they are computed from.
"""
