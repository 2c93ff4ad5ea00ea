"""Several questions that are paid together.

statements   the questions of a text, and their titles
together     which private questions they share
"""
