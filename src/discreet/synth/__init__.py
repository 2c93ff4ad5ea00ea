"""Synthetic data: a table of records nobody is, that answers counting questions as the real one would.

domain        which records there can be, from declarations alone; marginals, and coarser views of them
measurement   marginals with exact noise
records       what stands for the data: weights on all records of a small domain, or on a sample of a wide one
plan          what is measured, and how finely
fit           weights that agree with the measurements and say as little else as possible
synthetic     what was learnt: it draws rows, and is stored
synthesis     the whole loop
"""
