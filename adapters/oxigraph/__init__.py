"""The adapter for embedded Oxigraph stores.

In: a directory or a `pyoxigraph.Store`. Out: a `GraphStore`. May import: graph, queries, common,
errors.
"""
