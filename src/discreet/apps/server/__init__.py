"""The curator over HTTP: a JSON API for several people, with tokens, and what it takes to run it.

application    the ASGI application: routes, guards, the console if it is there
settings       how a server is run
api/           what can be asked for under /api/v1
calls          one request: who, what, in which thread
fields         what a body and an address may have, as read and as documented
problems       errors as RFC 9457 has them
openapi        the description of the API, from the same table as its routes
metrics        counts and durations, never values
access_log     one line for each request, without values
running        processes, signals, TLS
"""
