"""Multiplicative weights with private selection, for a workload of counting questions.

workload   which questions there are
price      what a round costs, and how rounds are paced
learner    how weights learn from a measurement
mwem       the loop, and its theorem
"""
