"""Which graph version is next, whether it is complete, and what it changed.

In: an open store and the committed version. Out: a `Reading`. Small notes are kept through the
protocol `Notes`, which the state implements. May import: graph, queries, common, errors.
"""
