"""A profile of a table: how many rows, groups and odd values people have. One release, paid once.

profile_plan    what is counted of a table, at which price; its SQL, its noise, what is stored
table_profile   what was found: people by rows, by keys and by values out of bounds
limits          what a limit would leave out and what its noise would cost, and the best one for a question
"""
