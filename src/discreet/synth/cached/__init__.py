"""Counting questions one after the other, for the price of few.

counting_question    a counting question, as cells of a table
resolutions          a table at several resolutions
readings             what was paid for
least_squares        the best estimate from all tables
split_price          how a price is divided over resolutions
strategy             from the cache, paid by itself, or a table is bought
reading_text         readings as text
table                the cached columns of a policy
cache                readings as the ledger keeps them
reading_release      a reading that is charged and drawn
"""
