"""Metadata and vectors written into stores.

In: a transaction with a new version. Out: RDF in a store; its readers see the whole version at
once, when the head moves. May import: graph, state, queries, common, errors.
"""
