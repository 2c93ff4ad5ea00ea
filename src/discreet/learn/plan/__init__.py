"""From the policy and a SELECT to a fitted model, and to what is said about it.

columns    the columns of a SELECT as features: numbers between bounds, or a mark for each declared value
rows       what is asked of the database, and what its whole numbers mean
plan       what will be learnt, and its price
explain    what can be said before anything is spent
model      a fitted model in an analyst's hands
"""
