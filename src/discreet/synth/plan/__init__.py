"""From the policy and a SELECT to a synthetic table, and to what is said about it.

attributes    the columns: which values each can have
counting      the counts that are needed, in SQL
masks         which cells a condition holds in
asked         a workload in words
plan          what will be made, and its price
explain       what can be said before anything is spent
table         a synthetic table in an analyst's hands
"""
