"""The curator over HTTP: a JSON API for several people, with tokens, and what it takes to run it.

application    the ASGI application: routes and guards
settings       how a server is run
api/           what can be asked for under /api/v1
agents/        tools for agents, at /mcp
console/       pages for people in a browser
oidc/          sign-in with the account of an organisation
calls          one request: who, what, in which threads
sign_in        whose token it is
pools          threads for what is synchronous
problems       errors as RFC 9457 has them
openapi        the description of the API, from the same table as its routes
metrics        counts and durations, never values
access_log     one line for each request, without values
running        processes, signals, TLS
"""
