"""What is computed from the noisy answers of several private questions, or from several rows of one.

noisy_release   such a question as a release
answer          the answer, from what was drawn
sql             how tables of noisy numbers are written for the database of outputs
shape           how columns turn with the noise
intervals       where the truth of each column lies
draw_sql        the SQL that computes parts of an answer for many draws of the noise
leaf_draws      the noise of a leaf, drawn again
explain_noisy   price and error, before anything is spent
"""
