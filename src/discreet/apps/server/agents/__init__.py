"""Tools for agents, in the Model Context Protocol: each is a route of the API, in words for a model.

tools        all of them: which route, which fields, what a model is told about it
results      what a tool tells: every number with its interval and its receipt
protocol     the server of the package mcp; the one module that imports it
endpoint     POST /mcp: who calls, may they, and what they sent
"""
