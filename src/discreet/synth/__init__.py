"""Synthetic data: a table of records nobody is, that answers counting questions as the real one would.

domain        which records there can be, from declarations alone; marginals, and coarser views of them
measurement   marginals with exact noise
records       what stands for the data: weights on all records of a small domain, or on a sample of a wide one
fit           weights that agree with the measurements and say as little else as possible
synthesis     the whole loop

Counting questions one after the other, for the price of few:

question      a set of cells
readings      noisy counts that were paid for, and their price
levels        tables at several resolutions, in one basis
tables        the best estimate from all tables
buying        how a sum is divided between tables
online        from the cache, paid, or bought
stored        readings as text
pmw           private multiplicative weights, for comparison
"""
