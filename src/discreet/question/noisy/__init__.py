"""Questions with more than one query: where people are put together, and what is computed from noisy answers.

read_question   a text that was parsed, as a leaf or as leaves with tables above them
boundary        which queries are private, and which are noisy
leaves          the private questions that are paid for
select          SELECT, QUALIFY, ORDER BY: expressions, windows, scalar subqueries
grouping        GROUP BY and aggregates over noisy rows
joins, unions   tables side by side, and one below the other
functions       the aggregates and windows that can be asked for
size            how large the answer can be
"""
