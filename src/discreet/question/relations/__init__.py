"""FROM, and what it is made of: tables, joins, subqueries, conditions on the person, UNION ALL."""
