"""From the policy and a SELECT to a synthetic table, and to what is said about it.

attributes         the columns: which values each can have
count_tables       the counts that are needed, in SQL
masks              which cells a condition holds in
workload_text      a workload in words
stored_size        how many bytes it takes at most
synthesis_plan     what will be made, and its price
explain            what can be said before anything is spent
synthetic_table    a synthetic table in an analyst's hands
synthetic_check    how good it is, compared with the data
"""
