"""The adapter for SPARQL endpoints.

In: a URL or an `Endpoint`. Out: a `GraphStore` whose results are checked against a COUNT. May
import: graph, queries, common, errors.
"""
