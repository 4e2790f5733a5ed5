"""The adapter for RDF files: dumps, changes and patches.

In: a file or a folder. Out: a read-only `GraphReader`. May import: graph, queries, common, errors.
"""
