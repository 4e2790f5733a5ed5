"""Metadata and vectors written into stores.

In comes a transaction; what goes out, readers of the store see at once, when the head moves.
May import: graph, state, queries, common.
"""
