"""Reports: many questions that are paid, drawn and stored at once.

report_release   the leaves of all questions as one release, and the answers from what is stored
explain_report   price and errors, before anything is spent
"""
