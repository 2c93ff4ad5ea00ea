"""Ask a service, from a machine that has neither the data nor a database.

remote_curator     what `discreet.connect` returns
requests           one request and its reply, over HTTPS
address            where a service is, and whether a token may go there
problems           what a service refuses, as the errors that a local curator raises
facts              what a service says of its tables, budgets and past questions
stored_login       the address and the token that `discreet login` stored
agent_bridge       a service's tools for agents that start a program
dbapi              a connection and cursors as in PEP 249, for `pandas.read_sql` and others
literals           Python values as SQL
"""
