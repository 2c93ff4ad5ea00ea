"""Multiplicative weights: synthetic tables, and counting questions that share what they paid for.

domain        which records there can be, from declarations alone; marginals, and coarser views of them
measurement   marginals with exact noise
records       what stands for the data: records with weights, among them a sample of a wide domain
cells         all records of a small domain
explicit      sums and products over all records of a domain
compiled      both in one pass, by numba where that is installed and pays
fit           weights that agree with the measurements and say as little else as possible
worth         what is measured, and how finely
pairs         which pairs of a wide table are measured
forest        where the fit of a wide table begins
synthesis     the whole loop
synthetic     what was learnt: it draws rows, and is stored

mwem/         weights that pick, privately, which questions of a workload to measure
online/       counting questions one after the other, for the price of few
report/       how good a synthetic table is
release/      from the policy and a SELECT to a synthetic table
"""
