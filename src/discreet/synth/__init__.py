"""Synthetic data: a table of records nobody is, that answers counting questions as the real one would.

domain        which records there can be, from declarations alone; marginals, and coarser views of them
measurement   marginals with exact noise
records       what stands for the data: weights on all records of a small domain, or on a sample of a wide one
fit           weights that agree with the measurements and say as little else as possible
synthesis     the whole loop

mwem          the same for any workload of counting questions, picked privately one by one (003 §29.4.2)
workload      which questions: tables, cells, ranges, prefixes, any sets of records
price         what a round costs, and how rounds are paced
learner       how weights learn, one measurement at a time
explicit      weights on all records, as an array

report        how good a synthetic table is: distances, noise floors
relations     which columns have to do with each other
limits        what is not preserved, in words
report_html   the report as a page, with report_plots and report_style
"""
