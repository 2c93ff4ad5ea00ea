"""From noisy marginals to weighted records: what is measured, and how it is fitted.

domain             which records there can be, from declarations alone; marginals, and coarser views of them
measurement        marginals with exact noise
records            what stands for the data: records with weights, among them a sample of a wide domain
cells              all records of a small domain
weight_array       sums and products over all records of a domain
compiled_update    both in one pass, by numba where that is installed and pays
fit                weights that agree with the measurements and say as little else as possible
what_to_measure    what is measured, and how finely
pair_selection     which pairs of a wide table are measured
spanning_forest    where the fit of a wide table begins
synthesis          the whole loop
synthetic          what was learnt: it draws rows, and is stored
"""
