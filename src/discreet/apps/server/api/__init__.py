"""What can be asked for under /api/v1: one table of routes, and a function for each.

route        what a route is
fields       what a body and an address may have, as read and as documented
schemas      what its answers look like
questions    ask, explain, synthetic rows, history
datasets     facts, budgets, receipts, checks of the ledger
people       accounts, approvals, the log
projects     budgets that several accounts share
table        all of them
"""
