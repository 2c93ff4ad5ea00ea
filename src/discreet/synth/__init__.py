"""Multiplicative weights: synthetic tables, and counting questions that share what they paid for.

core      from noisy marginals to weighted records
mwem      weights that pick, privately, which questions of a workload to measure
cached    counting questions one after the other, for the price of few
plan      from the policy and a SELECT to a synthetic table
report    how good a synthetic table is
"""
