"""Counting questions one after the other, for the price of few.

question   a counting question, as cells of a table
levels     a table at several resolutions
readings   what was paid for
tables     the best estimate from all tables
buying     how a price is divided over resolutions
online     from the cache, paid by itself, or a table is bought
histogram  a guess at every count, from all readings
tested     whether a guess is good enough, by sparse vector
stored     readings as text
passed     guesses that passed, as text
cached     the cached columns of a policy
cache      readings as the ledger keeps them
pmw        private multiplicative weights, by sparse vector
"""
