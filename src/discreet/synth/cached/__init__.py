"""Counting questions one after the other, for the price of few.

question  a counting question, as cells of a table
levels    a table at several resolutions
readings  what was paid for
tables    the best estimate from all tables
buying    how a price is divided over resolutions
online    from the cache, paid by itself, or a table is bought
stored    readings as text
cached    the cached columns of a policy
cache     readings as the ledger keeps them
"""
