"""An answer as a page shows it.

shown_answer   the table and its numbers
shown_report   the same of each question of a report
what_happened  from the rows to a number, in plain words
combining      the sum, difference and ratio of numbers, with an interval
"""
